//! Evaluates arguments and checks them against the parameters.

use super::evaluate::after_first;
use super::{Frame, ReflectValue, Result, State};
use crate::function::{Signature, Ty};
use crate::ir::{Node, OperandKind, Span, print};
use crate::value::{Element, List, Map, MapType, Value};

impl State<'_> {
    /// Pushes the arguments of a call and returns the index of the first. `last` is the piped value.
    pub(super) fn evaluate_arguments(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        name: &str,
        signature: Signature,
        operands: Span,
        last: Option<Value>,
    ) -> Result<usize> {
        let Signature { params, variadic } = signature;
        let count = operands.len() + usize::from(last.is_some());
        if variadic && count + 1 < params.len() {
            let (want, got) = (params.len() - 1, operands.len());
            let message =
                format!("wrong number of args for {name}: want at least {want} got {got}");
            return Err(frame.error(message));
        }
        if !variadic && count != params.len() {
            let want = params.len();
            let message = format!("wrong number of args for {name}: want {want} got {count}");
            return Err(frame.error(message));
        }
        let base = self.arguments.len();
        let param = |i: usize| {
            params
                .get(i)
                .or_else(|| params.last())
                .copied()
                .unwrap_or(Ty::Any)
        };
        for (i, operand) in operands.indexes().enumerate() {
            let value = self.argument(frame, dot, param(i), operand)?;
            self.arguments.push(value);
        }
        if let Some(last) = last {
            let value = frame.validate(ReflectValue::concrete(last), param(operands.len()))?;
            self.arguments.push(value);
        }
        Ok(base)
    }

    /// An argument for a parameter of type `ty`.
    fn argument(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        ty: Ty,
        operand: u32,
    ) -> Result<Value> {
        frame.at = Some(Node::Operand(operand));
        match frame.operand(operand) {
            OperandKind::Nil => match zero(ty) {
                Some(value) => Ok(value),
                None => Err(frame.error(format!("cannot assign nil to {}", ty.name()))),
            },
            kind @ (OperandKind::Bool(_) | OperandKind::Number(_) | OperandKind::Literal(_)) => {
                frame.constant_argument(ty, kind)
            }
            kind => {
                let value = self.operand(frame, dot, operand, kind)?;
                frame.validate(value, ty)
            }
        }
    }

    /// The value of an operand that is not a constant.
    pub(super) fn operand(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        operand: u32,
        kind: OperandKind,
    ) -> Result<ReflectValue> {
        match kind {
            OperandKind::Dot => Ok(dot.clone()),
            OperandKind::Field { names } => self.field_chain(frame, dot, dot, names, None, None),
            OperandKind::Variable { slot, names } => {
                let value = self.variable(frame, slot, names)?;
                if names.len() == 1 {
                    return Ok(value);
                }
                self.field_chain(frame, dot, &value, after_first(names), None, None)
            }
            OperandKind::Pipe(pipe) => self.pipeline(frame, dot, pipe).map(ReflectValue::concrete),
            OperandKind::Function(function) => {
                let none = Span::default();
                self.call(frame, dot, function, Node::Operand(operand), none, None)
            }
            OperandKind::Chain { inner, names } => {
                let receiver = self.chain_receiver(frame, dot, operand, inner)?;
                self.field_chain(frame, dot, &receiver, names, None, None)
            }
            OperandKind::Nil => Ok(ReflectValue::default()),
            constant => frame.constant(constant).map(ReflectValue::concrete),
        }
    }
}

impl Frame<'_> {
    /// A constant converts to the type of the parameter if possible.
    fn constant_argument(&self, ty: Ty, kind: OperandKind) -> Result<Value> {
        let number = match kind {
            OperandKind::Number(id) => self.tree().numbers.get(id as usize),
            _ => None,
        };
        let expected = match (ty, kind) {
            (Ty::Any | Ty::Reflect, _) => return self.constant(kind),
            (Ty::Bool, OperandKind::Bool(value)) => return Ok(Value::Bool(value)),
            (Ty::String, OperandKind::Literal(id)) => return Ok(self.file.literal(id)),
            (Ty::Int, _) if let Some(n) = number.and_then(|n| n.int) => return Ok(Value::Int(n)),
            (Ty::Int64, _) if let Some(n) = number.and_then(|n| n.int) => {
                return Ok(Value::Int64(n));
            }
            (Ty::Float64, _) if let Some(x) = number.and_then(|n| n.float) => {
                return Ok(Value::Float(x));
            }
            // `derivePassword` has the only unsigned parameter.
            (Ty::Named("uint32"), _)
                if let Some(n) = number.and_then(|n| n.int?.try_into().ok()) =>
            {
                return Ok(Value::Uint64(n));
            }
            (Ty::Named("uint32"), _) => "unsigned integer",
            (Ty::Bool, _) => "bool",
            (Ty::String, _) => "string",
            (Ty::Int | Ty::Int64, _) => "integer",
            (Ty::Float64, _) => "float",
            _ => "",
        };
        let found = match self.at {
            Some(node) => print::print(self.tree(), node),
            None => String::new(),
        };
        Err(self.error(if expected.is_empty() {
            format!("can't handle {found} for arg of type {}", ty.name())
        } else {
            format!("expected {expected}; found {found}")
        }))
    }

    /// `validateType`: the value, if it is assignable to `ty`.
    #[inline]
    pub(super) fn validate(&self, got: ReflectValue, ty: Ty) -> Result<Value> {
        match (&got.value, ty) {
            (_, Ty::Any | Ty::Reflect)
            | (Value::Str(_), Ty::String)
            | (Value::Bool(_), Ty::Bool)
            | (Value::Int(_), Ty::Int)
            | (Value::Int64(_), Ty::Int64)
            | (Value::Float(_), Ty::Float64) => Ok(got.value),
            (Value::Map(map), Ty::Map) => match map.ty() {
                MapType::Any => Ok(got.value),
                MapType::Named(_) => Ok(Value::Map(map.retyped(MapType::Any))),
                MapType::Strings => Err(self.wrong_type(&got, ty)),
            },
            (Value::List(list), Ty::List) if list.element() == Element::Any => Ok(got.value),
            (Value::List(list), Ty::Strings) if list.element() == Element::String => Ok(got.value),
            (Value::Object(object), Ty::Named(name)) if is_of_type(object.type_name(), name) => {
                Ok(got.value)
            }
            (Value::Nil, _) if !got.is_interface => zero(ty).ok_or_else(|| {
                let expected = ty.name();
                self.error(format!("invalid value; expected {expected}"))
            }),
            _ => Err(self.wrong_type(&got, ty)),
        }
    }

    #[cold]
    fn wrong_type(&self, got: &ReflectValue, ty: Ty) -> crate::ExecError {
        let found = if got.value.is_nil() {
            got.type_name()
        } else {
            got.value.type_name()
        };
        let expected = ty.name();
        self.error(format!(
            "wrong type for value; expected {expected}; got {found}"
        ))
    }
}

/// Whether the types are equal, or `found` is a pointer, which Go dereferences.
fn is_of_type(found: &str, expected: &str) -> bool {
    found == expected || found.strip_prefix('*') == Some(expected)
}

/// The nil value of a type that can be nil.
fn zero(ty: Ty) -> Option<Value> {
    match ty {
        Ty::Any | Ty::Reflect => Some(Value::Nil),
        Ty::Map => Some(Value::Map(Map::nil(MapType::Any))),
        Ty::List => Some(Value::List(List::nil(Element::Any))),
        Ty::Strings => Some(Value::List(List::nil(Element::String))),
        Ty::Named(name) => name.starts_with(['*', '[']).then_some(Value::Nil),
        Ty::Bool | Ty::Int | Ty::Int64 | Ty::Float64 | Ty::String => None,
    }
}

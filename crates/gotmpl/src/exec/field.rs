//! Field chains: `.a.b.c`, where each name is a field, a map key or a method.

use outrigger_gostd::strconv::quote_bytes;

use super::{Frame, ReflectValue, Result, State, values_type};
use crate::error::ExecError;
use crate::function::{CallError, Signature, Ty};
use crate::ir::{Node, Span};
use crate::value::{Contents, Map, MapType, Object, Str, StructField, Value};

/// The arguments of the last name of a chain: the operands after the first, and the piped value.
struct Arguments {
    operands: Span,
    last: Option<Value>,
}

impl State<'_> {
    /// `evalFieldChain`: evaluates the names in sequence. The last one may be a method, which gets the arguments.
    pub(super) fn field_chain(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        receiver: &ReflectValue,
        names: Span,
        operands: Option<Span>,
        last: Option<Value>,
    ) -> Result<ReflectValue> {
        let has_no_arguments = last.is_none() && operands.is_none_or(|span| span.len() == 1);
        if has_no_arguments
            && !self.engine.strict
            && let Some(found) = frame.plain_chain(&receiver.value, names)
        {
            return Ok(found);
        }
        let mut receiver = receiver.clone();
        let mut operands = operands.unwrap_or_default();
        if !operands.is_empty() {
            operands.start += 1;
        }
        let mut arguments = Some(Arguments { operands, last });
        for name in names.indexes() {
            let arguments = if name + 1 == names.end {
                arguments.take()
            } else {
                None
            };
            receiver = self.field(frame, dot, &receiver, name, arguments)?;
        }
        Ok(receiver)
    }

    fn field(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        receiver: &ReflectValue,
        name_id: u32,
        arguments: Option<Arguments>,
    ) -> Result<ReflectValue> {
        let has_arguments = arguments
            .as_ref()
            .is_some_and(|arguments| !arguments.operands.is_empty() || arguments.last.is_some());
        let name = frame.name(name_id);
        match &receiver.value {
            Value::Nil if !receiver.is_interface => {
                if self.engine.strict {
                    let name = quote_bytes(name.as_bytes());
                    return Err(frame.error(format!("nil data; no entry for key {name}")));
                }
                Ok(ReflectValue::default())
            }
            Value::Nil => Err(frame.error(format!("nil pointer evaluating interface {{}}.{name}"))),
            Value::Map(map) => {
                if matches!(map.ty(), MapType::Named(_))
                    && let Some(method) = values_type::method(name.as_bytes())
                {
                    let (map, node) = (map.clone(), frame.at);
                    let values =
                        self.method_arguments(frame, dot, name, Some(method.signature), arguments)?;
                    let result = (method.body)(&map, &values);
                    return frame.method_result(name, node, result);
                }
                if has_arguments {
                    let message = format!("{name} is not a method but has arguments");
                    return Err(frame.error(message));
                }
                self.entry(frame, map, name_id)
            }
            Value::Object(object) => {
                let object = std::rc::Rc::clone(object);
                let type_name = receiver.type_name();
                self.object_field(frame, dot, &*object, &type_name, name_id, arguments)
            }
            _ => Err(frame.no_field(name, &receiver.type_name())),
        }
    }

    /// The value of a map key, or the zero value of the map's element type.
    fn entry(&self, frame: &Frame<'_>, map: &Map, name_id: u32) -> Result<ReflectValue> {
        let is_strings = map.ty() == MapType::Strings;
        if let Some(value) = frame.find_key(map, name_id) {
            return Ok(ReflectValue {
                value,
                is_interface: !is_strings,
            });
        }
        if self.engine.strict {
            let name = quote_bytes(frame.name_bytes(name_id));
            return Err(frame.error(format!("map has no entry for key {name}")));
        }
        Ok(if is_strings {
            ReflectValue::concrete(Value::Str(Str::default()))
        } else {
            ReflectValue::interface(Value::Nil)
        })
    }

    fn object_field(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        object: &dyn Object,
        type_name: &str,
        name_id: u32,
        arguments: Option<Arguments>,
    ) -> Result<ReflectValue> {
        let name = frame.name(name_id);
        if object.has_method(name) {
            let (signature, node) = (object.signature(name), frame.at);
            let values = self.method_arguments(frame, dot, name, signature, arguments)?;
            let result = object.call_method(name, &values);
            return frame.method_result(name, node, result);
        }
        let has_arguments = arguments
            .as_ref()
            .is_some_and(|arguments| !arguments.operands.is_empty() || arguments.last.is_some());
        if let Some(value) = object.field(name) {
            if has_arguments {
                let message = format!("{name} has arguments but cannot be invoked as function");
                return Err(frame.error(message));
            }
            return Ok(ReflectValue::concrete(value));
        }
        if let Contents::Map(map) = object.contents() {
            if has_arguments {
                let message = format!("{name} is not a method but has arguments");
                return Err(frame.error(message));
            }
            return self.entry(frame, &map, name_id);
        }
        let is_unexported = |field: &StructField| field.name == name;
        if object
            .struct_fields()
            .unwrap_or_default()
            .iter()
            .any(is_unexported)
        {
            let message = format!("{name} is an unexported field of struct type {type_name}");
            return Err(frame.error(message));
        }
        Err(frame.no_field(name, type_name))
    }

    /// Evaluates the arguments of a method according to its signature, if it has one.
    fn method_arguments(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        name: &str,
        signature: Option<Signature>,
        arguments: Option<Arguments>,
    ) -> Result<Vec<Value>> {
        let signature = signature.unwrap_or(Signature {
            params: &[Ty::Any],
            variadic: true,
        });
        let (operands, last) = arguments.map_or((Span::default(), None), |arguments| {
            (arguments.operands, arguments.last)
        });
        let base = self.evaluate_arguments(frame, dot, name, signature, operands, last)?;
        Ok(self.arguments.drain(base..).collect())
    }
}

impl<'f> Frame<'f> {
    #[cold]
    fn no_field(&self, name: &str, type_name: &str) -> ExecError {
        self.error(format!("can't evaluate field {name} in type {type_name}"))
    }

    fn method_result(
        &mut self,
        name: &str,
        node: Option<Node>,
        result: std::result::Result<Value, CallError>,
    ) -> Result<ReflectValue> {
        let error = match result {
            Ok(value) => return Ok(ReflectValue::concrete(value)),
            Err(error) => error,
        };
        if error == CallError::NoSuchMethod {
            return Err(self.no_field(name, "interface {}"));
        }
        let node = node.unwrap_or(Node::Operand(0));
        Err(self.call_failed(name, node, ExecError::from_call(error)))
    }

    #[inline]
    fn name_bytes(&self, id: u32) -> &'f [u8] {
        let tree = self.tree();
        let span = tree.names.get(id as usize).copied().unwrap_or_default();
        tree.text(span)
    }

    /// A name as text. Names consist of letters and digits, so they are UTF-8.
    fn name(&self, id: u32) -> &'f str {
        std::str::from_utf8(self.name_bytes(id)).unwrap_or_default()
    }

    /// Looks up a key, first at the index of the last lookup.
    #[inline]
    fn find_key(&self, map: &Map, name: u32) -> Option<Value> {
        let key = self.name_bytes(name);
        let Some(hint) = self.file.hint(name) else {
            return map.get(key);
        };
        let mut index = hint.get();
        let found = map.get_near(key, &mut index);
        hint.set(index);
        found
    }

    /// The fast path: every name is a map key, and only the last may be missing.
    #[inline]
    fn plain_chain(&self, receiver: &Value, names: Span) -> Option<ReflectValue> {
        let Value::Map(map) = receiver else {
            return None;
        };
        let (mut holder, mut name) = (map.clone(), names.start);
        loop {
            match holder.ty() {
                MapType::Any => {}
                MapType::Named(_) if values_type::method(self.name_bytes(name)).is_none() => {}
                _ => return None,
            }
            let found = self.find_key(&holder, name);
            name += 1;
            match found {
                found if name == names.end => {
                    return Some(ReflectValue::interface(found.unwrap_or_default()));
                }
                Some(Value::Map(map)) => holder = map,
                _ => return None,
            }
        }
    }
}

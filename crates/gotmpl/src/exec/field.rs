//! Fields, map keys and methods: `.a.b.c` with or without arguments.

use super::{Frame, Got, Result, Run};
use crate::error::ExecError;
use crate::function::{CallError, Signature, Ty};
use crate::ir::{Node, Span};
use crate::quote::quoted;
use crate::value::{Contents, Map, MapType, Object, Str, Value};

/// What was given to the last name of a chain: operands after the first, and the value piped in.
struct Given {
    operands: Span,
    last: Option<Value>,
}

impl Run<'_> {
    /// Looks up the names one in the other; the last may be a method and gets the arguments.
    pub(super) fn field_chain(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &Got,
        mut receiver: Got,
        names: Span,
        operands: Option<Span>,
        last: Option<Value>,
    ) -> Result<Got> {
        let mut operands = operands.unwrap_or_default();
        if !operands.is_empty() {
            operands.start += 1;
        }
        let mut given = Some(Given { operands, last });
        for name in names.indexes() {
            let given = if name + 1 == names.end {
                given.take()
            } else {
                None
            };
            receiver = self.field(frame, dot, receiver, name, given)?;
        }
        Ok(receiver)
    }

    #[inline]
    fn field(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &Got,
        receiver: Got,
        name_id: u32,
        given: Option<Given>,
    ) -> Result<Got> {
        let has_arguments = given
            .as_ref()
            .is_some_and(|given| !given.operands.is_empty() || given.last.is_some());
        if let Value::Map(map) = &receiver.value
            && !has_arguments
            && !matches!(map.ty(), MapType::Named(_))
        {
            return self.entry(frame, map, name_id);
        }
        let name = name_of(frame, name_id);
        match &receiver.value {
            Value::Nil if !receiver.is_interface => {
                if self.engine.strict {
                    let name = quoted(name.as_bytes());
                    return Err(self.error(frame, format!("nil data; no entry for key {name}")));
                }
                Ok(Got::default())
            }
            Value::Nil => Err(self.error(
                frame,
                format!("nil pointer evaluating interface {{}}.{name}"),
            )),
            Value::Map(map) => {
                if matches!(map.ty(), MapType::Named(_))
                    && let Some(method) = super::values_type::method(name)
                {
                    let map = map.clone();
                    let arguments =
                        self.method_arguments(frame, dot, name, Some(method.signature), given)?;
                    let result = (method.body)(&map, &arguments);
                    return self.method_result(frame, name, result);
                }
                if has_arguments {
                    let message = format!("{name} is not a method but has arguments");
                    return Err(self.error(frame, message));
                }
                self.entry(frame, map, name_id)
            }
            Value::Object(object) => {
                let object = std::rc::Rc::clone(object);
                let type_name = receiver.type_name();
                self.object_field(frame, dot, &*object, &type_name, name_id, given)
            }
            _ => Err(self.no_field(frame, name, &receiver.type_name())),
        }
    }

    fn no_field(&self, frame: &Frame<'_>, name: &str, type_name: &str) -> Box<ExecError> {
        self.error(
            frame,
            format!("can't evaluate field {name} in type {type_name}"),
        )
    }

    /// A key of a map. A missing one is the zero of the map's element type.
    #[inline]
    fn entry(&self, frame: &Frame<'_>, map: &Map, name_id: u32) -> Result<Got> {
        let name = name_of(frame, name_id).as_bytes();
        let found = match frame.file.hint(name_id) {
            Some(hint) => {
                let mut place = hint.get();
                let found = map.get_near(name, &mut place);
                hint.set(place);
                found
            }
            None => map.get(name),
        };
        let is_strings = map.ty() == MapType::Strings;
        if let Some(value) = found {
            return Ok(Got {
                value,
                is_interface: !is_strings,
            });
        }
        if self.engine.strict {
            let name = quoted(name);
            return Err(self.error(frame, format!("map has no entry for key {name}")));
        }
        Ok(if is_strings {
            Got::concrete(Value::Str(Str::default()))
        } else {
            Got::interface(Value::Nil)
        })
    }

    fn object_field(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &Got,
        object: &dyn Object,
        type_name: &str,
        name_id: u32,
        given: Option<Given>,
    ) -> Result<Got> {
        let name = name_of(frame, name_id);
        if object.has_method(name) {
            let signature = object.signature(name);
            let arguments = self.method_arguments(frame, dot, name, signature, given)?;
            let result = object.call_method(name, &arguments);
            return self.method_result(frame, name, result);
        }
        let has_arguments = given
            .as_ref()
            .is_some_and(|given| !given.operands.is_empty() || given.last.is_some());
        if let Some(value) = object.field(name) {
            if has_arguments {
                let message = format!("{name} has arguments but cannot be invoked as function");
                return Err(self.error(frame, message));
            }
            return Ok(Got::concrete(value));
        }
        if let Contents::Map(map) = object.contents() {
            if has_arguments {
                let message = format!("{name} is not a method but has arguments");
                return Err(self.error(frame, message));
            }
            return self.entry(frame, &map, name_id);
        }
        Err(self.no_field(frame, name, type_name))
    }

    /// Evaluates a method's arguments, by its signature if it has one.
    fn method_arguments(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &Got,
        name: &str,
        signature: Option<Signature>,
        given: Option<Given>,
    ) -> Result<Vec<Value>> {
        let node = frame.at;
        let signature = signature.unwrap_or(Signature {
            params: &[Ty::Any],
            variadic: true,
        });
        let (operands, last) = given.map_or((Span::default(), None), |given| {
            (given.operands, given.last)
        });
        let base = self.evaluate_arguments(frame, dot, name, signature, operands, last)?;
        frame.at = node;
        Ok(self.arguments.drain(base..).collect())
    }

    fn method_result(
        &mut self,
        frame: &mut Frame<'_>,
        name: &str,
        result: std::result::Result<Value, CallError>,
    ) -> Result<Got> {
        let error = match result {
            Ok(value) => return Ok(Got::concrete(value)),
            Err(error) => error,
        };
        if error == CallError::NoSuchMethod {
            return Err(self.no_field(frame, name, "interface {}"));
        }
        let node = frame.at.unwrap_or(Node::Operand(0));
        Err(self.call_failed(frame, name, node, ExecError::from_call(error)))
    }
}

/// The text of a name. Names consist of letters and digits, so they are UTF-8.
#[inline]
fn name_of<'f>(frame: &Frame<'f>, id: u32) -> &'f str {
    let parsed = frame.parsed();
    let span = parsed.names.get(id as usize).copied().unwrap_or_default();
    std::str::from_utf8(parsed.text(span)).unwrap_or_default()
}

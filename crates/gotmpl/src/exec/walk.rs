//! Executes statements: text, actions, branches and loops.

use super::{Frame, ReflectValue, Result, State};
use crate::ir::{Branch, Node, Span, StatementKind};
use crate::traversal::MAX_TEXT;
use crate::value::memory::Charge;
use crate::value::{Contents, Element, List, Map, MapType, Str, Value};

/// How a list of statements ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Break,
    Continue,
}

impl State<'_> {
    pub(super) fn walk(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        body: Span,
    ) -> Result<Flow> {
        let tree = frame.tree();
        for (id, statement) in body.indexes().zip(body.of(&tree.statements)) {
            self.step(frame)?;
            let flow = match statement.kind {
                StatementKind::Text(span) => {
                    self.out.extend_from_slice(tree.text(span));
                    Flow::Next
                }
                StatementKind::Action { pipe } => {
                    frame.at = Some(Node::Statement(id));
                    self.action(frame, dot, id, pipe)?;
                    Flow::Next
                }
                StatementKind::If(branch) => self.if_or_with(frame, dot, branch, false)?,
                StatementKind::With(branch) => self.if_or_with(frame, dot, branch, true)?,
                StatementKind::Range(branch) => self.range(frame, dot, branch)?,
                StatementKind::Template { name, pipe } => {
                    frame.at = Some(Node::Statement(id));
                    self.template_statement(frame, dot, name, pipe)?;
                    Flow::Next
                }
                StatementKind::Break => Flow::Break,
                StatementKind::Continue => Flow::Continue,
            };
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn action(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        id: u32,
        pipe_id: u32,
    ) -> Result<()> {
        let Some(pipe) = frame.tree().pipes.get(pipe_id as usize) else {
            return Ok(());
        };
        if !pipe.variables.is_empty() {
            self.pipeline(frame, dot, pipe_id)?;
            return Ok(());
        }
        let start = self.out.len();
        if pipe.is_text_pipeline {
            frame.at = Some(Node::Pipe(pipe_id));
            self.text_pipeline(frame, dot, pipe.commands)?;
        } else {
            let value = self.pipeline(frame, dot, pipe_id)?;
            self.print(&value);
        }
        frame.at = Some(Node::Statement(id));
        // Printers stop at this length.
        if self.out.len() - start > MAX_TEXT {
            return Err(self.value_too_large(frame));
        }
        self.check_output(frame)
    }

    pub(super) fn print(&mut self, value: &Value) {
        match value {
            Value::Str(text) => self.out.extend_from_slice(text.as_bytes()),
            Value::Nil => self.out.extend_from_slice(b"<no value>"),
            Value::Object(object) if let Some(text) = object.printed() => {
                self.out.extend_from_slice(text.as_bytes());
            }
            other => crate::fmt::write_display(&mut self.out, other),
        }
    }

    fn if_or_with(
        &mut self,
        frame: &mut Frame<'_>,
        dot: &ReflectValue,
        branch: Branch,
        is_with: bool,
    ) -> Result<Flow> {
        let value = self.pipeline(frame, dot, branch.pipe)?;
        if !value.is_true() {
            return self.nested(frame, dot, branch.otherwise);
        }
        if is_with {
            self.nested(frame, &ReflectValue::concrete(value), branch.body)
        } else {
            self.nested(frame, dot, branch.body)
        }
    }

    fn nested(&mut self, frame: &mut Frame<'_>, dot: &ReflectValue, body: Span) -> Result<Flow> {
        self.check_depth(frame)?;
        self.walk(frame, dot, body)
    }

    fn range(&mut self, frame: &mut Frame<'_>, dot: &ReflectValue, branch: Branch) -> Result<Flow> {
        let value = self.pipeline(frame, dot, branch.pipe)?;
        let ran = match self.iterable(frame, value, branch)? {
            Iterable::List(list) => self.range_list(frame, &list, branch)?,
            Iterable::Map(map) => self.range_map(frame, &map, branch)?,
            Iterable::Count(count) => self.range_count(frame, &count, branch)?,
            Iterable::Nothing => false,
        };
        if ran {
            return Ok(Flow::Next);
        }
        // As in Go, `break` in the else part ends this range, and `continue` applies to the enclosing one.
        match self.nested(frame, dot, branch.otherwise)? {
            Flow::Break => Ok(Flow::Next),
            flow => Ok(flow),
        }
    }

    fn iterable(&self, frame: &Frame<'_>, value: Value, branch: Branch) -> Result<Iterable> {
        let value = match value {
            Value::Object(object) => match object.contents() {
                Contents::List(list) => Value::List(list),
                Contents::Map(map) => Value::Map(map),
                Contents::None => object.scalar().unwrap_or(Value::Object(object)),
            },
            other => other,
        };
        match value {
            Value::Nil => Ok(Iterable::Nothing),
            Value::List(list) => Ok(Iterable::List(list)),
            Value::Map(map) => Ok(Iterable::Map(map)),
            Value::Int(_) | Value::Int64(_) | Value::Uint8(_) | Value::Uint64(_)
                if self.engine.dialect.range_over_int =>
            {
                if frame.variables(branch.pipe).len() > 1 {
                    let message = format!(
                        "can't use {} to iterate over more than one variable",
                        display(&value)
                    );
                    return Err(frame.error(message));
                }
                Ok(Iterable::Count(value))
            }
            other => {
                let message = format!("range can't iterate over {}", display(&other));
                Err(frame.error(message))
            }
        }
    }

    fn range_list(&mut self, frame: &mut Frame<'_>, list: &List, branch: Branch) -> Result<bool> {
        let is_interface = list.element() == Element::Any;
        for (i, item) in list.items().iter().enumerate() {
            let item = ReflectValue {
                value: item.clone(),
                is_interface,
            };
            let at = i64::try_from(i).unwrap_or(i64::MAX);
            let key = || ReflectValue::concrete(Value::Int(at));
            if self.iteration(frame, key, &item, branch)? == Flow::Break {
                break;
            }
        }
        Ok(!list.items().is_empty())
    }

    /// Iterates over a copy of the entries, since the body may change the map.
    fn range_map(&mut self, frame: &mut Frame<'_>, map: &Map, branch: Branch) -> Result<bool> {
        let is_interface = map.ty() != MapType::Strings;
        let bytes = map.len() * size_of::<(Str, Value)>();
        self.check_memory(frame, bytes)?;
        let _charge = Charge::new(bytes);
        let entries = map.entries();
        let ran = !entries.is_empty();
        for (key, value) in entries {
            let item = ReflectValue {
                value,
                is_interface,
            };
            let key = || ReflectValue::concrete(Value::Str(key));
            if self.iteration(frame, key, &item, branch)? == Flow::Break {
                break;
            }
        }
        Ok(ran)
    }

    fn range_count(
        &mut self,
        frame: &mut Frame<'_>,
        count: &Value,
        branch: Branch,
    ) -> Result<bool> {
        let end = match count {
            Value::Int(n) | Value::Int64(n) => u64::try_from(*n).unwrap_or_default(),
            Value::Uint8(n) => u64::from(*n),
            Value::Uint64(n) => *n,
            _ => 0,
        };
        for n in 0..end {
            let signed = i64::try_from(n).unwrap_or(i64::MAX);
            let item = ReflectValue::concrete(match count {
                Value::Int64(_) => Value::Int64(signed),
                Value::Uint8(_) => Value::Uint8(u8::try_from(n).unwrap_or(u8::MAX)),
                Value::Uint64(_) => Value::Uint64(n),
                _ => Value::Int(signed),
            });
            if self.iteration(frame, ReflectValue::default, &item, branch)? == Flow::Break {
                break;
            }
        }
        Ok(end > 0)
    }

    fn iteration(
        &mut self,
        frame: &mut Frame<'_>,
        key: impl FnOnce() -> ReflectValue,
        item: &ReflectValue,
        branch: Branch,
    ) -> Result<Flow> {
        match frame.variables(branch.pipe) {
            [] => {}
            [one] => self.assign(frame, one, item.clone())?,
            [first, second, ..] => {
                let (first, second) = (*first, *second);
                self.assign(frame, &first, key())?;
                self.assign(frame, &second, item.clone())?;
            }
        }
        self.step(frame)?;
        self.nested(frame, item, branch.body)
    }
}

enum Iterable {
    Nothing,
    List(List),
    Map(Map),
    Count(Value),
}

/// `%v`
fn display(value: &Value) -> String {
    let mut out = Vec::new();
    crate::fmt::write_display(&mut out, value);
    String::from_utf8_lossy(&out).into_owned()
}

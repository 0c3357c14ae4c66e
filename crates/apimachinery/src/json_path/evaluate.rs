//! Evaluates templates.

use std::borrow::Cow;

use serde_json::Value;

use super::{End, Filter, MissingKeys, Node, Slice, compare, text};

/// The maximum number of values at the end of a step, so that repeated descents end.
const MAX_RESULTS: usize = 1_000_000;

/// Why a template does not apply to an object, with the message of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvaluateError {
    #[error("{0} is not found")]
    NotFound(String),
    #[error("{0} is not array or slice")]
    NotAnArray(&'static str),
    #[error("{0} is not array or slice and cannot be filtered")]
    NotFilterable(String),
    #[error("array index out of bounds: index {index}, length {length}")]
    OutOfBounds { index: i64, length: i64 },
    #[error("starting index {start} is greater than ending index {end}")]
    Reversed { start: i64, end: i64 },
    #[error("step must be > 0")]
    Step,
    #[error("unrecognized identifier {0}")]
    Identifier(String),
    #[error("not in range, nothing to end")]
    NotInRange,
    #[error("can only compare one element at a time")]
    SeveralElements,
    #[error("unrecognized filter operator {0}")]
    Operator(String),
    #[error("invalid type for comparison")]
    InvalidType,
    #[error("incompatible types for comparison")]
    Incompatible,
    #[error("more than {MAX_RESULTS} results")]
    TooMany,
}

type Values<'a> = Vec<Cow<'a, Value>>;
type Step<'a> = Result<Values<'a>, EvaluateError>;

/// The results of each node of a template.
pub(super) fn evaluate<'a>(
    nodes: &[Node],
    object: &'a Value,
    missing: MissingKeys,
) -> Result<Vec<Values<'a>>, EvaluateError> {
    let mut evaluation = Evaluation {
        missing,
        begins: 0,
        ends: 0,
        ranges: 0,
        total: 0,
    };
    let mut results = Vec::new();
    evaluation.block(nodes, &[Cow::Borrowed(object)], &mut results)?;
    Ok(results)
}

struct Evaluation {
    missing: MissingKeys,
    /// `range` and `end` that were evaluated, but not handled yet.
    begins: usize,
    ends: usize,
    /// The ranges that are open.
    ranges: usize,
    total: usize,
}

impl Evaluation {
    /// Evaluates nodes up to the end of the current range. Returns how many they are, or `None` without an end.
    fn block<'a>(
        &mut self,
        nodes: &[Node],
        object: &[Cow<'a, Value>],
        results: &mut Vec<Values<'a>>,
    ) -> Result<Option<usize>, EvaluateError> {
        let mut position = 0;
        while let Some(node) = nodes.get(position) {
            position += 1;
            let values = self.step(node, object.to_vec())?;
            self.total += values.len();
            if self.total > MAX_RESULTS {
                return Err(EvaluateError::TooMany);
            }
            if self.ends > 0 && self.ends <= self.ranges {
                self.ends -= 1;
                return Ok(Some(position));
            }
            if self.begins > 0 {
                self.begins -= 1;
                self.ranges += 1;
                position += self.range(&nodes[position..], values, results)?;
                self.ranges -= 1;
            } else {
                results.push(values);
            }
        }
        Ok(None)
    }

    /// Evaluates the nodes after `range` for each value. Returns how many belong to the range.
    fn range<'a>(
        &mut self,
        nodes: &[Node],
        values: Values<'a>,
        results: &mut Vec<Values<'a>>,
    ) -> Result<usize, EvaluateError> {
        let mut length = None;
        if values.is_empty() {
            // The nodes are evaluated to find the end.
            length = self.block(nodes, &[Cow::Owned(Value::Null)], &mut Vec::new())?;
        }
        for value in values {
            length = self.block(nodes, &[value], results)?;
        }
        Ok(length.unwrap_or(0))
    }

    fn list<'a>(&mut self, nodes: &[Node], mut values: Values<'a>) -> Step<'a> {
        for node in nodes {
            values = self.step(node, values)?;
            if values.len() > MAX_RESULTS {
                return Err(EvaluateError::TooMany);
            }
        }
        Ok(values)
    }

    fn step<'a>(&mut self, node: &Node, values: Values<'a>) -> Step<'a> {
        match node {
            Node::List(nodes) => self.list(nodes, values),
            Node::Text(text) => Ok(vec![Cow::Owned(Value::String(text.clone()))]),
            Node::Literal(literal) => {
                let literals = values.iter().map(|_| Cow::Owned(literal.clone()));
                Ok(literals.collect())
            }
            Node::Field(name) => self.field(name, values),
            Node::Slice(slice) => {
                let mut results = Vec::new();
                for value in values {
                    if !slice.apply(value, &mut results)? {
                        break;
                    }
                }
                Ok(results)
            }
            Node::Filter(filter) => self.filter(filter, values),
            Node::Wildcard => Ok(values.into_iter().flat_map(children).collect()),
            Node::Recursive => recursive(values),
            Node::Union(parts) => {
                let mut results = Vec::new();
                for part in parts {
                    results.extend(self.list(part, values.clone())?);
                }
                Ok(results)
            }
            Node::Identifier(name) => match name.as_str() {
                "range" => {
                    self.begins += 1;
                    Ok(values)
                }
                "end" if self.ranges > 0 => {
                    self.ends += 1;
                    Ok(Vec::new())
                }
                "end" => Err(EvaluateError::NotInRange),
                other => Err(EvaluateError::Identifier(other.to_owned())),
            },
        }
    }

    fn field<'a>(&self, name: &str, values: Values<'a>) -> Step<'a> {
        let is_empty = values.is_empty();
        let field = |value| match value {
            Cow::Borrowed(value) => Value::get(value, name).map(Cow::Borrowed),
            Cow::Owned(value) => value.get(name).cloned().map(Cow::Owned),
        };
        let results: Values<'a> = values.into_iter().filter_map(field).collect();
        if results.is_empty() && !is_empty && self.missing == MissingKeys::Reject {
            return Err(EvaluateError::NotFound(name.to_owned()));
        }
        Ok(results)
    }

    fn filter<'a>(&mut self, filter: &Filter, values: Values<'a>) -> Step<'a> {
        let mut results = Vec::new();
        for value in values {
            if !value.is_array() {
                return Err(EvaluateError::NotFilterable(text(&value)));
            }
            for item in children(value) {
                if self.matches(filter, &item)? {
                    results.push(item);
                }
            }
        }
        Ok(results)
    }

    fn matches(&mut self, filter: &Filter, item: &Value) -> Result<bool, EvaluateError> {
        let left = self.list(&filter.left, vec![Cow::Borrowed(item)]);
        let Some((operator, right)) = &filter.right else {
            return Ok(left.is_ok_and(|left| !left.is_empty()));
        };
        let Some(left) = single(left?)? else {
            return Ok(false);
        };
        match single(self.list(right, vec![Cow::Borrowed(item)])?)? {
            Some(right) => compare::holds(operator, &left, &right),
            None => Ok(false),
        }
    }
}

fn single(mut values: Values<'_>) -> Result<Option<Cow<'_, Value>>, EvaluateError> {
    if values.len() > 1 {
        return Err(EvaluateError::SeveralElements);
    }
    Ok(values.pop())
}

/// The members of a list or an object, or the bytes of a string.
fn children(value: Cow<'_, Value>) -> Values<'_> {
    match value {
        Cow::Borrowed(Value::Array(items)) => items.iter().map(Cow::Borrowed).collect(),
        Cow::Borrowed(Value::Object(map)) => map.values().map(Cow::Borrowed).collect(),
        Cow::Owned(Value::Array(items)) => items.into_iter().map(Cow::Owned).collect(),
        Cow::Owned(Value::Object(map)) => map.into_iter().map(|(_, v)| Cow::Owned(v)).collect(),
        Cow::Borrowed(Value::String(text)) => bytes(text),
        Cow::Owned(Value::String(text)) => bytes(&text),
        _ => Vec::new(),
    }
}

fn bytes<'a>(text: &str) -> Values<'a> {
    text.bytes().map(|byte| Cow::Owned(byte.into())).collect()
}

/// All values that have members, each before its members.
fn recursive(values: Values<'_>) -> Step<'_> {
    let mut results = Vec::new();
    let mut open: Values<'_> = values.into_iter().rev().collect();
    while let Some(value) = open.pop() {
        let members = children(value.clone());
        if members.is_empty() {
            continue;
        }
        results.push(value);
        open.extend(members.into_iter().rev());
        if results.len() + open.len() > MAX_RESULTS {
            return Err(EvaluateError::TooMany);
        }
    }
    Ok(results)
}

impl Slice {
    /// Appends the selected items. Returns false if the slice is empty, which ends the step.
    fn apply<'a>(
        &self,
        value: Cow<'a, Value>,
        results: &mut Values<'a>,
    ) -> Result<bool, EvaluateError> {
        if value.is_null() {
            return Ok(true);
        }
        if !value.is_array() {
            return Err(EvaluateError::NotAnArray(go_type(&value)));
        }
        let items = children(value);
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let from_end = |index: i64| if index < 0 { index + length } else { index };
        let start = from_end(self.start);
        let end = match self.end {
            // The index before the first from the end is the end itself.
            End::AfterStart if self.start == -1 => length,
            End::AfterStart => from_end(self.start.saturating_add(1)),
            End::Length => length,
            End::Index(end) => from_end(end),
        };
        if start == end {
            return Ok(false);
        }
        if start < 0 || start >= length {
            return Err(EvaluateError::OutOfBounds {
                index: start,
                length,
            });
        }
        if end < 0 || end > length {
            let index = end - 1;
            return Err(EvaluateError::OutOfBounds { index, length });
        }
        if start > end {
            return Err(EvaluateError::Reversed { start, end });
        }
        let step = self.step.unwrap_or(1);
        let step = usize::try_from(step).ok().filter(|step| *step > 0);
        let step = step.ok_or(EvaluateError::Step)?;
        let index = |index: i64| usize::try_from(index).unwrap_or_default();
        let items = items.into_iter().skip(index(start));
        results.extend(items.take(index(end - start)).step_by(step));
        Ok(true)
    }
}

/// The type of a decoded value in Go.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

//! JSON paths of printer columns: fields, indexes, slices, wildcards, recursive descent, unions and filters.

use serde_json::Value;

/// A parsed path.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    Slice(Slice),
    Wildcard,
    Recursive,
    Union(Vec<Self>),
    Filter(Filter),
}

/// A slice of a list; an index is a slice of one item.
#[derive(Debug, Clone, PartialEq)]
struct Slice {
    start: Option<i64>,
    end: Option<i64>,
    step: i64,
    is_index: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Filter {
    left: Operand,
    /// `None` if the left side only has to exist.
    right: Option<(Comparison, Operand)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Path(Vec<Step>),
    Literal(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

const MAX_DEPTH: usize = 32;
const MAX_RESULTS: usize = 10_000;

impl JsonPath {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parser = Parser {
            rest: text,
            depth: 0,
        };
        let steps = parser.steps()?;
        parser.rest.is_empty().then_some(Self { steps })
    }

    /// The first value at the path, if there is one.
    pub(super) fn first<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        walk(&self.steps, object)?.into_iter().next()
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn steps(&mut self) -> Option<Vec<Step>> {
        let mut steps = Vec::new();
        loop {
            if self.take("..") {
                steps.push(Step::Recursive);
                if !self.rest.starts_with('[') {
                    steps.push(self.field()?);
                }
            } else if self.take(".") {
                if !self.rest.starts_with('[') && !self.rest.is_empty() {
                    steps.push(self.field()?);
                }
            } else if self.take("[") {
                steps.push(self.bracket()?);
            } else {
                return Some(steps);
            }
        }
    }

    fn take(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn until(&mut self, is_end: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(is_end).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        text
    }

    /// A field name, in which a backslash escapes the next character.
    fn field(&mut self) -> Option<Step> {
        let mut name = String::new();
        let mut is_escaped = false;
        let mut end = self.rest.len();
        for (index, c) in self.rest.char_indices() {
            match c {
                _ if is_escaped => {
                    name.push(c);
                    is_escaped = false;
                }
                '\\' => is_escaped = true,
                '.' | '[' | ']' | ')' | ' ' | '=' | '!' | '<' | '>' | ',' => {
                    end = index;
                    break;
                }
                _ => name.push(c),
            }
        }
        self.rest = &self.rest[end..];
        match name.as_str() {
            "" => None,
            "*" => Some(Step::Wildcard),
            _ => Some(Step::Field(name)),
        }
    }

    fn bracket(&mut self) -> Option<Step> {
        if self.take("?(") {
            self.depth = self.depth.saturating_add(1);
            if self.depth > MAX_DEPTH {
                return None;
            }
            let filter = self.filter()?;
            self.spaces();
            return (self.take(")") && self.take("]")).then_some(Step::Filter(filter));
        }
        let mut steps = Vec::new();
        loop {
            self.spaces();
            steps.push(self.bracket_item()?);
            self.spaces();
            if self.take("]") {
                break;
            }
            if !self.take(",") {
                return None;
            }
        }
        match steps.len() {
            1 => steps.pop(),
            _ => Some(Step::Union(steps)),
        }
    }

    fn bracket_item(&mut self) -> Option<Step> {
        for mark in ['\'', '"'] {
            if let Some(rest) = self.rest.strip_prefix(mark) {
                self.rest = rest;
                let name = self.until(|c| c == mark).to_owned();
                self.rest = self.rest.get(1..)?;
                return Some(Step::Field(name));
            }
        }
        let text = self.until(|c| c == ']' || c == ',').trim();
        if text == "*" {
            return Some(Step::Wildcard);
        }
        let mut numbers = text.split(':').map(|number| match number.trim() {
            "" => Some(None),
            number => number.parse::<i64>().ok().map(Some),
        });
        let start = numbers.next()??;
        let Some(end) = numbers.next() else {
            return Some(Step::Slice(Slice {
                start: Some(start?),
                end: None,
                step: 1,
                is_index: true,
            }));
        };
        let step = numbers.next().unwrap_or(Some(None))?;
        Some(Step::Slice(Slice {
            start,
            end: end?,
            step: step.unwrap_or(1),
            is_index: false,
        }))
    }

    fn spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn filter(&mut self) -> Option<Filter> {
        let left = self.operand()?;
        self.spaces();
        let comparison = [
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ]
        .into_iter()
        .find(|(token, _)| self.take(token));
        let right = match comparison {
            Some((_, comparison)) => Some((comparison, self.operand()?)),
            None => None,
        };
        Some(Filter { left, right })
    }

    fn operand(&mut self) -> Option<Operand> {
        self.spaces();
        if self.take("@") {
            return self.steps().map(Operand::Path);
        }
        for mark in ['\'', '"'] {
            if let Some(rest) = self.rest.strip_prefix(mark) {
                self.rest = rest;
                let text = self.until(|c| c == mark).to_owned();
                self.rest = self.rest.get(1..)?;
                return Some(Operand::Literal(text.into()));
            }
        }
        let word = self.until(|c| matches!(c, ')' | ' ' | '=' | '!' | '<' | '>'));
        serde_json::from_str(word).ok().map(Operand::Literal)
    }
}

/// All values at the end of the steps. `None` if a step does not apply.
fn walk<'a>(steps: &[Step], object: &'a Value) -> Option<Vec<&'a Value>> {
    let mut values = vec![object];
    for step in steps {
        let mut next = Vec::new();
        for value in values {
            apply(step, value, &mut next)?;
            if next.len() > MAX_RESULTS {
                return None;
            }
        }
        values = next;
    }
    Some(values)
}

fn apply<'a>(step: &Step, value: &'a Value, next: &mut Vec<&'a Value>) -> Option<()> {
    match step {
        Step::Field(name) => next.extend(value.get(name)),
        Step::Wildcard => match value {
            Value::Array(items) => next.extend(items),
            Value::Object(map) => next.extend(map.values()),
            _ => {}
        },
        Step::Slice(slice) => slice.apply(value, next)?,
        Step::Recursive => descend(value, next, 0),
        Step::Union(steps) => {
            for step in steps {
                apply(step, value, next)?;
            }
        }
        Step::Filter(filter) => {
            for item in value.as_array()? {
                if filter.matches(item)? {
                    next.push(item);
                }
            }
        }
    }
    Some(())
}

fn descend<'a>(value: &'a Value, next: &mut Vec<&'a Value>, depth: usize) {
    next.push(value);
    if depth > MAX_DEPTH || next.len() > MAX_RESULTS {
        return;
    }
    match value {
        Value::Array(items) => {
            for item in items {
                descend(item, next, depth.saturating_add(1));
            }
        }
        Value::Object(map) => {
            for item in map.values() {
                descend(item, next, depth.saturating_add(1));
            }
        }
        _ => {}
    }
}

impl Slice {
    fn apply<'a>(&self, value: &'a Value, next: &mut Vec<&'a Value>) -> Option<()> {
        if value.is_null() {
            return Some(());
        }
        let items = value.as_array()?;
        let length = i64::try_from(items.len()).ok()?;
        let from_end = |index: i64| {
            if index < 0 {
                index.saturating_add(length)
            } else {
                index
            }
        };
        if self.is_index {
            let index = usize::try_from(from_end(self.start?)).ok()?;
            next.push(items.get(index)?);
            return Some(());
        }
        if self.step <= 0 {
            return None;
        }
        let start = usize::try_from(from_end(self.start.unwrap_or(0))).ok()?;
        let end = from_end(self.end.unwrap_or(length)).min(length);
        let end = usize::try_from(end).ok()?;
        let step = usize::try_from(self.step).ok()?;
        let part = items.get(start..end.max(start)).unwrap_or_default();
        next.extend(part.iter().step_by(step));
        Some(())
    }
}

impl Filter {
    /// `None` if the sides are not comparable.
    fn matches(&self, item: &Value) -> Option<bool> {
        let left = self.left.values(item)?;
        let Some((comparison, right)) = &self.right else {
            return Some(!left.is_empty());
        };
        let right = right.values(item)?;
        match (left.as_slice(), right.as_slice()) {
            ([], _) | (_, []) => Some(false),
            ([left], [right]) => comparison.holds(left, right),
            _ => None,
        }
    }
}

impl Operand {
    fn values<'a>(&'a self, item: &'a Value) -> Option<Vec<&'a Value>> {
        match self {
            Self::Path(steps) => walk(steps, item),
            Self::Literal(value) => Some(vec![value]),
        }
    }
}

impl Comparison {
    fn holds(self, left: &Value, right: &Value) -> Option<bool> {
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Number(left), Value::Number(right)) => {
                left.as_f64()?.partial_cmp(&right.as_f64()?)?
            }
            (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
            _ => return None,
        };
        Some(match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(path: &str, expected: impl Into<Option<Value>>) {
        let object = json!({
            "a": {"b.c": 1, "list": [{"n": "x", "v": 1}, {"n": "y", "v": 2}, {"n": "z"}]},
            "m": {"k": [10, 20, 30]},
        });
        let path = JsonPath::parse(path).unwrap();
        assert_eq!(path.first(&object).cloned(), expected.into());
    }

    #[test]
    fn evaluates_paths() {
        check(".a.list[0].n", json!("x"));
        check(".a.list[-1].n", json!("z"));
        check(".a.list[*].v", json!(1));
        check(".a['b.c']", json!(1));
        check(r".a.b\.c", json!(1));
        check(".a.list[?(@.n=='y')].v", json!(2));
        check(".a.list[?(@.n == \"y\")].v", json!(2));
        check(".a.list[?(@.v>1)].n", json!("y"));
        check(".a.list[?(@.v)].n", json!("x"));
        check(".m.k[1:]", json!(20));
        check("..k[0]", json!(10));
        check(".m.k[0,1]", json!(10));
        check(".missing.field", None);
        check(".a.list[7]", None);
        check(".a.list[?(@.n==1)].v", None);
    }

    #[test]
    fn rejects_invalid_paths() {
        assert_eq!(JsonPath::parse("a b"), None);
        assert_eq!(JsonPath::parse(".a["), None);
        assert_eq!(JsonPath::parse(".a[?(@.b==)]"), None);
    }

    proptest! {
        #[test]
        fn never_panics(text in "[.\\[\\]?()@=<>'\"a-c0-9:*, \\\\-]{0,24}") {
            if let Some(path) = JsonPath::parse(&text) {
                let _ = path.first(&json!({"a": [{"b": 1}, {"c": [1, 2]}]}));
            }
        }
    }
}

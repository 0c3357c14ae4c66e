//! `fieldpath.Path`: `.spec.containers[name="web"].image`.

use std::cmp::Ordering;
use std::fmt;

use outrigger_gostd::strconv::quote;
use serde_json::Value;

use crate::schema::value;

/// `fieldpath.PathElement`. Ordered as in serialized sets: fields, keys, values, indices.
#[derive(Debug, Clone)]
pub enum PathElement {
    /// A field of an object.
    Field(String),
    /// A list item with these key fields, sorted by name.
    Key(Vec<(String, Value)>),
    /// A list item that equals this scalar.
    Value(Value),
    /// A list item at this index.
    Index(i64),
}

impl PathElement {
    pub fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => compare_keys(a, b),
            (Self::Value(a), Self::Value(b)) => value::compare(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

fn compare_keys(a: &[(String, Value)], b: &[(String, Value)]) -> Ordering {
    for ((a_name, a_value), (b_name, b_value)) in a.iter().zip(b) {
        let order = a_name
            .cmp(b_name)
            .then_with(|| value::compare(a_value, b_value));
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                f.write_str("[")?;
                for (i, (name, value)) in fields.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(f, "{comma}{name}={}", format_value(value))?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={}]", format_value(value)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// Formats a value of a path element.
fn format_value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::String(text) => quote(text),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(format_value).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(map) => {
            let fields = map
                .iter()
                .map(|(name, value)| format!("{name}={}", format_value(value)));
            fields.collect()
        }
        Value::Bool(_) | Value::Number(_) => outrigger_gostd::fmt::sprint_json(value),
    }
}

/// A path from the root of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(pub Vec<PathElement>);

impl Path {
    /// A path of field names.
    pub fn of_fields<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self(names.into_iter().map(PathElement::field).collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn formats_paths_as_in_conflicts() {
        let path = Path(vec![
            PathElement::field("spec"),
            PathElement::Key(vec![
                ("port".into(), json!(80)),
                ("protocol".into(), json!("TCP")),
            ]),
            PathElement::Value(json!("a\"b")),
            PathElement::Index(3),
        ]);
        assert_eq!(
            path.to_string(),
            r#".spec[port=80,protocol="TCP"][="a\"b"][3]"#
        );
    }

    #[test]
    fn orders_numbers_in_keys_numerically() {
        let key = |port: i64| PathElement::Key(vec![("port".into(), json!(port))]);
        assert!(key(80) < key(443));
        assert!(key(80) > PathElement::field("z"));
    }
}

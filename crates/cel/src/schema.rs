//! The part of an OpenAPI schema that determines how JSON data appear in expressions, and how large they can be.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::identifier::is_reserved;

/// A schema of JSON data.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    pub kind: Kind,
    pub nullable: bool,
    /// `maxLength`, `maxItems` or `maxProperties`.
    pub max: Option<i64>,
    /// The length of the longest value of `enum`, if there are any.
    pub longest_enum: Option<i64>,
}

/// What a schema describes.
#[derive(Debug, Clone, Default)]
pub enum Kind {
    /// `x-kubernetes-int-or-string`
    IntOrString,
    /// An object with declared fields. Fields that expressions cannot read are omitted.
    Object(BTreeMap<String, Field>),
    /// `additionalProperties` with a schema.
    Map(Arc<Schema>),
    /// An object without declared fields.
    EmptyObject,
    Array(Option<Arc<Schema>>, ListType),
    String(Format),
    Number,
    Integer,
    Boolean,
    /// No type, but `x-kubernetes-preserve-unknown-fields`.
    Preserved,
    /// No type.
    #[default]
    Untyped,
}

/// A field of an object.
#[derive(Debug, Clone)]
pub struct Field {
    pub schema: Arc<Schema>,
    pub required: bool,
    pub has_default: bool,
}

/// `x-kubernetes-list-type`
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ListType {
    #[default]
    Atomic,
    Set,
    /// With its keys.
    Map(Vec<String>),
}

/// The formats of strings that have their own type in expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    #[default]
    Plain,
    Byte,
    Duration,
    Date,
    DateTime,
}

impl Schema {
    pub(crate) fn items(&self) -> Option<&Self> {
        match &self.kind {
            Kind::Array(items, _) => items.as_deref(),
            _ => None,
        }
    }

    pub(crate) fn list_type(&self) -> &ListType {
        match &self.kind {
            Kind::Array(_, list_type) => list_type,
            _ => &ListType::Atomic,
        }
    }

    pub(crate) fn has_properties(&self) -> bool {
        matches!(self.kind, Kind::Object(_))
    }

    /// The schema of a field or of the values of a map.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        match &self.kind {
            Kind::Object(fields) => fields.get(name).map(|field| &*field.schema),
            Kind::Map(values) => Some(values),
            _ => None,
        }
    }
}

/// The identifier of a field in expressions; `None` if the name cannot be written as one.
pub fn escape(name: &str) -> Option<Cow<'_, str>> {
    let starts_right = name.starts_with(|c: char| !c.is_ascii_digit());
    let is_escapable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/');
    if !starts_right || !name.chars().all(is_escapable) {
        return None;
    }
    if is_reserved(name) {
        return Some(format!("__{name}__").into());
    }
    if !name.contains("__") && !name.contains(['.', '-', '/']) {
        return Some(name.into());
    }
    let escaped = name
        .replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__");
    Some(escaped.into())
}

/// The name of the field of an identifier; `None` if the identifier is not the result of [`escape`].
pub(crate) fn unescape(identifier: &str) -> Option<Cow<'_, str>> {
    if !identifier.contains("__") {
        return Some(identifier.into());
    }
    let mut out = String::with_capacity(identifier.len());
    let mut rest = identifier;
    while let Some(character) = rest.chars().next() {
        let Some((word, after)) = escaped_word(rest) else {
            out.push(character);
            rest = rest.get(character.len_utf8()..).unwrap_or_default();
            continue;
        };
        let text = match word {
            "underscores" => "__",
            "dot" => ".",
            "dash" => "-",
            "slash" => "/",
            word if is_reserved(word) && out.is_empty() && after.is_empty() => word,
            _ => return None,
        };
        out.push_str(text);
        rest = after;
    }
    Some(out.into())
}

/// The word between two double underscores at the start of a text, and what follows.
fn escaped_word(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix("__")?;
    let end = text.find('_').filter(|end| *end > 0)?;
    let (word, after) = text.split_at(end);
    Some((word, after.strip_prefix("__")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_names_as_documented() {
        let cases = [
            ("namespace", "__namespace__"),
            ("x-prop", "x__dash__prop"),
            ("redact__d", "redact__underscores__d"),
            ("a_b", "a_b"),
            ("a.b/c", "a__dot__b__slash__c"),
        ];
        for (name, expected) in cases {
            assert_eq!(escape(name).as_deref(), Some(expected));
            assert_eq!(unescape(expected).as_deref(), Some(name));
        }
        assert_eq!(escape("1a"), None);
        assert_eq!(escape("a b"), None);
        assert_eq!(unescape("a__b").as_deref(), Some("a__b"));
        assert_eq!(unescape("a__foo__"), None);
    }
}

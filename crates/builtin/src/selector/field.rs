//! Field selectors.

use outrigger_apimachinery::status::field::quote;
use serde_json::Value;

use super::Error;
use crate::kinds::Kind;

/// A conjunction of terms. Without terms it matches everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    label: String,
    paths: Vec<String>,
    missing: &'static str,
    is_negated: bool,
    value: String,
}

impl FieldSelector {
    /// Parses a `fieldSelector` for a kind.
    pub fn parse(text: &str, kind: &Kind) -> Result<Self, Error> {
        let mut parts = split(text);
        parts.sort_unstable();
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        let parsed: Result<Vec<_>, _> = parts.map(|part| parse_term(text, part)).collect();
        let terms: Result<_, _> = parsed?.into_iter().map(|term| term.of_kind(kind)).collect();
        Ok(Self { terms: terms? })
    }

    /// The name that a `fieldSelector` for any kind requires, as authorization sees it.
    pub fn required_name(text: &str) -> Option<String> {
        let mut parts = split(text);
        parts.sort_unstable();
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        let terms: Result<Vec<_>, _> = parts.map(|part| parse_term(text, part)).collect();
        let is_name = |term: &ParsedTerm| term.label == "metadata.name" && !term.is_negated;
        let term = terms.ok()?.into_iter().find(is_name)?;
        let is_segment =
            !matches!(term.value.as_str(), "." | "..") && !term.value.contains(['/', '%']);
        is_segment.then_some(term.value)
    }

    /// Whether it matches everything.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether a stored object matches.
    pub fn matches(&self, object: &Value) -> bool {
        self.terms.iter().all(|term| term.matches(object))
    }

    /// Whether it only depends on name and namespace.
    pub fn selects_by_name_only(&self) -> bool {
        let is_name =
            |term: &Term| matches!(term.label.as_str(), "metadata.name" | "metadata.namespace");
        self.terms.iter().all(is_name)
    }

    /// Whether an object of this name matches, for a selector that only depends on name and namespace.
    pub fn matches_names(&self, namespace: &str, name: &str) -> bool {
        self.terms.iter().all(|term| {
            let found = match term.label.as_str() {
                "metadata.name" => name,
                _ => namespace,
            };
            (found == term.value) != term.is_negated
        })
    }

    /// Adds a term for `metadata.name`.
    #[must_use]
    pub fn with_name(mut self, name: &str) -> Self {
        self.terms.push(Term {
            label: "metadata.name".to_owned(),
            paths: vec!["metadata.name".to_owned()],
            missing: "",
            is_negated: false,
            value: name.to_owned(),
        });
        self
    }

    /// `RequiresExactMatch`: the value that a field must have, so that a list by name becomes a lookup.
    pub fn exact(&self, label: &str) -> Option<&str> {
        let mut terms = self.terms.iter();
        let term = terms.find(|term| term.label == label && !term.is_negated)?;
        Some(&term.value)
    }
}

/// Splits the terms at commas that are not escaped by a backslash.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut is_escaped = false;
    for (index, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            ',' => {
                parts.push(&text[start..index]);
                start = index.saturating_add(1);
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

struct ParsedTerm {
    label: String,
    is_negated: bool,
    value: String,
}

fn parse_term(text: &str, part: &str) -> Result<ParsedTerm, Error> {
    let start = part.find('=').map(|equals| {
        let before = part[..equals].ends_with('!');
        equals.saturating_sub(usize::from(before))
    });
    let Some(start) = start else {
        return Err(Error(format!(
            "invalid selector: '{text}'; can't understand '{part}'"
        )));
    };
    let (label, rest) = part.split_at(start);
    let (operator, value) = match rest {
        _ if rest.starts_with("!=") || rest.starts_with("==") => rest.split_at(2),
        _ => rest.split_at(1),
    };
    Ok(ParsedTerm {
        label: label.to_owned(),
        is_negated: operator == "!=",
        value: unescape(value)?,
    })
}

fn unescape(value: &str) -> Result<String, Error> {
    let invalid = |sequence: &str| {
        Error(format!(
            "invalid field selector: invalid escape sequence: {sequence}"
        ))
    };
    let mut plain = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => plain.push(escaped),
                Some(other) => return Err(invalid(&format!("\\{other}"))),
                None => return Err(invalid("\\")),
            },
            ',' | '=' => {
                return Err(Error(format!(
                    "invalid field selector: unescaped character in value: {}",
                    u32::from(c)
                )));
            }
            other => plain.push(other),
        }
    }
    Ok(plain)
}

impl ParsedTerm {
    fn of_kind(self, kind: &Kind) -> Result<Term, Error> {
        let field = kind.fields.iter().find(|field| field.label == self.label);
        let Some(field) = field else {
            return Err(Error(unknown(&self.label, kind)));
        };
        Ok(Term {
            label: self.label,
            paths: field.paths.clone(),
            missing: field.missing,
            is_negated: self.is_negated,
            value: self.value,
        })
    }
}

/// The message for an unsupported field label, which differs between kinds with own labels.
fn unknown(label: &str, kind: &Kind) -> String {
    let only_metadata = kind.custom.is_none()
        && kind
            .fields
            .iter()
            .all(|field| matches!(field.label.as_str(), "metadata.name" | "metadata.namespace"));
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("batch", "Job") => format!("field label {} not supported for Job", quote(label)),
        ("resource.k8s.io", "ResourceSlice") => {
            let version = kind.api_version();
            format!("field label not supported for {version}, Kind=ResourceSlice: {label}")
        }
        _ if only_metadata => format!(
            "{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
            quote(label)
        ),
        _ => format!("field label not supported: {label}"),
    }
}

impl Term {
    fn matches(&self, object: &Value) -> bool {
        let found = self.paths.iter().find_map(|path| text_at(object, path));
        let found = found.as_deref().unwrap_or(self.missing);
        (found == self.value) != self.is_negated
    }
}

/// The scalar at a path as a string, unless it is missing or empty.
fn text_at(object: &Value, path: &str) -> Option<String> {
    let mut value = object;
    for step in path.split('.') {
        value = match value {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?)?,
            other => other.get(step)?,
        };
    }
    match value {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

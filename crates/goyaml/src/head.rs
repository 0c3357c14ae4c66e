//! Helm's `SimpleHead` of a manifest, decoded while all of the manifest is checked.

use std::borrow::Cow;
use std::collections::HashSet;

use outrigger_gostd::strconv::format_float32;

use crate::build::unique;
use crate::document::{Decoded, Document};
use crate::error::{Error, Target};
use crate::fast_path::Sink;
use crate::resolve::Resolved;

/// `SimpleHead`: the fields of a manifest that Helm sorts by. Missing fields are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    /// Unique keys; `None` if the manifest has no annotations.
    pub annotations: Option<Vec<(String, String)>>,
    /// Whether there is a `metadata` map at all.
    pub has_metadata: bool,
}

impl Head {
    pub fn annotation(&self, key: &str) -> Option<&str> {
        let annotations = self.annotations.as_ref()?;
        let (_, value) = annotations.iter().find(|(name, _)| name == key)?;
        Some(value)
    }
}

/// The current field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    None,
    ApiVersion,
    Kind,
    Metadata,
    Name,
    Annotations,
    Annotation,
}

/// A sink that decodes the head on the fast path.
#[derive(Debug, Default)]
pub(crate) struct HeadSink {
    pub(crate) head: Head,
    depth: usize,
    field: Option<Field>,
    annotation: String,
    needs_fallback: bool,
}

impl HeadSink {
    fn field(&self) -> Field {
        self.field.unwrap_or(Field::None)
    }

    fn top_level_key(&mut self, key: &str) -> Field {
        match key {
            "apiVersion" => Field::ApiVersion,
            "kind" => Field::Kind,
            "metadata" => {
                self.clear_metadata();
                Field::Metadata
            }
            _ => {
                self.fall_back_if_like(key, &["apiversion", "kind", "metadata"]);
                Field::None
            }
        }
    }

    fn metadata_key(&mut self, key: &str) -> Field {
        match key {
            "name" => Field::Name,
            "annotations" => Field::Annotations,
            _ => {
                self.fall_back_if_like(key, &["name", "annotations"]);
                Field::None
            }
        }
    }

    fn fall_back_if_like(&mut self, key: &str, names: &[&str]) {
        if names.iter().any(|name| is_same_field(name, key)) {
            self.needs_fallback = true;
        }
    }

    fn clear_metadata(&mut self) {
        self.head.name.clear();
        self.head.annotations = None;
        self.head.has_metadata = false;
    }

    fn annotate(&mut self, value: String) {
        let key = std::mem::take(&mut self.annotation);
        let annotations = self.head.annotations.get_or_insert_default();
        annotations.push((key, value));
    }
}

impl<'a> Sink<'a> for HeadSink {
    const USES_SCALARS: bool = true;

    fn key(&mut self, key: Cow<'a, str>) {
        match (self.depth, self.field()) {
            (1, _) => self.field = Some(self.top_level_key(&key)),
            (2, Field::Metadata | Field::Name | Field::Annotations) => {
                self.field = Some(match self.metadata_key(&key) {
                    Field::None => Field::Metadata,
                    field => field,
                });
            }
            (3, Field::Annotations | Field::Annotation) => {
                self.field = Some(Field::Annotation);
                self.annotation = key.into_owned();
            }
            _ => {}
        }
    }

    fn scalar(&mut self, text: Cow<'a, str>, resolved: Resolved) {
        let is_null = resolved == Resolved::Null;
        match (self.depth, self.field()) {
            (0, _) => self.needs_fallback = !is_null,
            (1, Field::ApiVersion) => self.head.api_version = as_text(text, resolved),
            (1, Field::Kind) => self.head.kind = as_text(text, resolved),
            (1, Field::Metadata) => self.needs_fallback |= !is_null,
            (2, Field::Name) => self.head.name = as_text(text, resolved),
            (2, Field::Annotations) => {
                self.needs_fallback |= !is_null;
                self.head.annotations = None;
            }
            (3, Field::Annotation) => {
                let value = as_text(text, resolved);
                self.annotate(value);
            }
            _ => {}
        }
    }

    fn begin_list(&mut self) {
        self.needs_fallback |= match self.depth {
            0 => true,
            1 => self.field() != Field::None,
            2 => matches!(self.field(), Field::Name | Field::Annotations),
            3 => self.field() == Field::Annotation,
            _ => false,
        };
        self.depth += 1;
    }

    fn end_list(&mut self) {
        self.depth -= 1;
    }

    fn begin_map(&mut self) {
        match (self.depth, self.field()) {
            (1, Field::Metadata) => self.head.has_metadata = true,
            (2, Field::Annotations) => self.head.annotations = Some(Vec::new()),
            (1, Field::ApiVersion | Field::Kind) | (2, Field::Name) | (3, Field::Annotation) => {
                self.needs_fallback = true;
            }
            _ => {}
        }
        self.depth += 1;
    }

    fn end_map(&mut self) {
        self.depth -= 1;
        match self.depth {
            1 => self.field = Some(Field::None),
            2 if self.field() == Field::Annotation => {
                self.field = Some(Field::Annotations);
                self.head.annotations = self.head.annotations.take().map(unique);
            }
            _ => {}
        }
    }

    fn skips_text(&self) -> bool {
        self.depth > 0 && self.field() == Field::None
    }

    fn needs_fallback(&self) -> bool {
        self.needs_fallback
    }
}

/// A scalar that is decoded into a string.
fn as_text(text: Cow<'_, str>, resolved: Resolved) -> String {
    match resolved {
        Resolved::Null => String::new(),
        Resolved::Bool(value) => value.to_string(),
        Resolved::Int(value) => value.to_string(),
        Resolved::Uint(value) => value.to_string(),
        Resolved::Float(value) => format_float32(value),
        Resolved::Timestamp | Resolved::Text => text.into_owned(),
    }
}

/// encoding/json matches field names case-insensitively.
fn is_same_field(lower: &str, key: &str) -> bool {
    let fold = |c: char| match c {
        '\u{17F}' => 's',
        '\u{212A}' => 'k',
        c => c.to_ascii_lowercase(),
    };
    key.chars().map(fold).eq(lower.chars())
}

/// Decodes the head of a document that the fast path does not support.
pub(crate) fn decode_head(document: &Document<'_>, go_type: &'static str) -> Result<Head, Error> {
    let wanted = texts(document);
    document.check(&|at| wanted.contains(&at))?;
    let mut decode = Decode {
        document,
        head: Head::default(),
        error: None,
    };
    decode.root(go_type);
    match decode.error {
        Some(error) => Err(error),
        None => Ok(decode.head),
    }
}

/// The values that are decoded into strings: `apiVersion`, `kind`, the name and the annotations.
fn texts(document: &Document<'_>) -> HashSet<usize> {
    let mut texts = HashSet::new();
    for (key, value) in document.sorted_entries(document.root) {
        if is_same_field("metadata", &key) {
            for (key, value) in document.sorted_entries(value) {
                if is_same_field("name", &key) {
                    texts.insert(value);
                } else if is_same_field("annotations", &key) {
                    let values = document.sorted_entries(value);
                    texts.extend(values.into_iter().map(|(_, value)| value));
                }
            }
        } else if is_same_field("apiversion", &key) || is_same_field("kind", &key) {
            texts.insert(value);
        }
    }
    texts
}

/// The JSON decoder for the head. It continues after a type mismatch, and reports the first one.
struct Decode<'d> {
    document: &'d Document<'d>,
    head: Head,
    error: Option<Error>,
}

const METADATA_TYPE: &str = "struct { Name string \"json:\\\"name\\\"\"; \
                             Annotations map[string]string \"json:\\\"annotations\\\"\" }";

impl Decode<'_> {
    fn root(&mut self, go_type: &'static str) {
        let root = self.document.root;
        match &self.document.values[root] {
            Decoded::Scalar(Resolved::Null, _) => {}
            Decoded::Map(_) => {
                for (key, value) in self.document.sorted_entries(root) {
                    if is_same_field("apiversion", &key) {
                        if let Some(text) = self.text(value, "SimpleHead.apiVersion") {
                            self.head.api_version = text;
                        }
                    } else if is_same_field("kind", &key) {
                        if let Some(text) = self.text(value, "SimpleHead.kind") {
                            self.head.kind = text;
                        }
                    } else if is_same_field("metadata", &key) {
                        self.metadata(value);
                    }
                }
            }
            _ => self.fail(root, Target::Document(go_type)),
        }
    }

    fn metadata(&mut self, at: usize) {
        match &self.document.values[at] {
            Decoded::Scalar(Resolved::Null, _) => {
                self.head.has_metadata = false;
                self.head.name.clear();
                self.head.annotations = None;
            }
            Decoded::Map(_) => {
                self.head.has_metadata = true;
                for (key, value) in self.document.sorted_entries(at) {
                    if is_same_field("name", &key) {
                        if let Some(text) = self.text(value, ".metadata.name") {
                            self.head.name = text;
                        }
                    } else if is_same_field("annotations", &key) {
                        self.annotations(value);
                    }
                }
            }
            _ => self.fail(
                at,
                Target::Field {
                    field: "SimpleHead.metadata",
                    ty: METADATA_TYPE,
                },
            ),
        }
    }

    fn annotations(&mut self, at: usize) {
        match &self.document.values[at] {
            Decoded::Scalar(Resolved::Null, _) => self.head.annotations = None,
            Decoded::Map(_) => {
                let mut annotations = self.head.annotations.take().unwrap_or_default();
                for (key, value) in self.document.sorted_entries(at) {
                    let text = match &self.document.values[value] {
                        Decoded::Scalar(Resolved::Null, _) => Some(String::new()),
                        _ => self.text(value, ".metadata.annotations"),
                    };
                    annotations.push((key.into_owned(), text.unwrap_or_default()));
                }
                self.head.annotations = Some(unique(annotations));
            }
            _ => self.fail(
                at,
                Target::Field {
                    field: ".metadata.annotations",
                    ty: "map[string]string",
                },
            ),
        }
    }

    /// The string value; `None` for null, which leaves the field unchanged, and for collections.
    fn text(&mut self, at: usize, field: &'static str) -> Option<String> {
        match &self.document.values[at] {
            Decoded::Scalar(Resolved::Null, _) => None,
            Decoded::Scalar(resolved, text) => Some(as_text(Cow::Borrowed(text), *resolved)),
            _ => {
                self.fail(
                    at,
                    Target::Field {
                        field,
                        ty: "string",
                    },
                );
                None
            }
        }
    }

    fn fail(&mut self, at: usize, target: Target) {
        let found = match &self.document.values[at] {
            Decoded::List(_) => "array",
            Decoded::Map(_) => "object",
            Decoded::Scalar(resolved, _) => match resolved {
                Resolved::Bool(_) => "bool",
                Resolved::Int(_) | Resolved::Uint(_) | Resolved::Float(_) => "number",
                _ => "string",
            },
        };
        self.error.get_or_insert(Error::Mismatch { found, target });
    }
}

//! Reads the fields of a map of `expansion.yaml`, and reports wrong types and unknown keys with their lines.

use std::collections::BTreeMap;

use outrigger_apimachinery::nearest::nearest;
use outrigger_goyaml::{Located, LocatedKind};

use super::{At, DEFINITION, Text};
use crate::finding::Finding;

/// The fields of a map that were not read yet. Each getter removes its field; [`Fields::finish`] reports the others.
/// A field that is missing or null is empty; one of the wrong type is reported, and empty.
pub(super) struct Fields<'f> {
    /// What the map is, in messages: empty for the document.
    path: String,
    entries: Vec<(usize, String, Located)>,
    known: Vec<&'static str>,
    findings: &'f mut Vec<Finding>,
}

impl<'f> Fields<'f> {
    pub(super) fn new(path: &str, value: Located, findings: &'f mut Vec<Finding>) -> Self {
        let entries = match value.kind {
            LocatedKind::Map(entries) => entries,
            LocatedKind::Null => Vec::new(),
            _ => {
                findings.push(mismatch(path, "an object", &value));
                Vec::new()
            }
        };
        Self {
            path: path.to_owned(),
            entries,
            known: Vec::new(),
            findings,
        }
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        }
    }

    fn take(&mut self, name: &'static str) -> Option<Located> {
        self.known.push(name);
        let position = self.entries.iter().position(|(_, key, _)| key == name)?;
        let (_, _, value) = self.entries.remove(position);
        (value.kind != LocatedKind::Null).then_some(value)
    }

    fn report(&mut self, name: &str, expected: &str, found: &Located) {
        let finding = mismatch(&self.path_of(name), expected, found);
        self.findings.push(finding);
    }

    /// A text that is not empty.
    pub(super) fn text(&mut self, name: &'static str) -> Option<Text> {
        let value = self.take(name)?;
        let path = self.path_of(name);
        text(&path, value, self.findings)
    }

    pub(super) fn boolean(&mut self, name: &'static str) -> Option<At<bool>> {
        let found = self.take(name)?;
        let LocatedKind::Bool(value) = found.kind else {
            self.report(name, "true or false", &found);
            return None;
        };
        let line = found.line;
        Some(At { line, value })
    }

    /// A number or a text, as it is written.
    pub(super) fn literal(&mut self, name: &'static str) -> Option<Text> {
        let found = self.take(name)?;
        match found.kind {
            LocatedKind::Number(value) | LocatedKind::String(value) => Some(At {
                line: found.line,
                value,
            }),
            _ => {
                self.report(name, "a string", &found);
                None
            }
        }
    }

    /// The items of a list, each with its path in messages.
    pub(super) fn list(&mut self, name: &'static str) -> Vec<(String, Located)> {
        let path = self.path_of(name);
        let Some(found) = self.take(name) else {
            return Vec::new();
        };
        let LocatedKind::List(items) = found.kind else {
            self.report(name, "a list", &found);
            return Vec::new();
        };
        let items = items.into_iter().enumerate();
        items
            .map(|(index, item)| (format!("{path}[{index}]"), item))
            .collect()
    }

    /// The texts of a list.
    pub(super) fn texts(&mut self, name: &'static str) -> Vec<Text> {
        let items = self.list(name).into_iter();
        items
            .filter_map(|(path, item)| text(&path, item, self.findings))
            .collect()
    }

    /// The fields of a map.
    pub(super) fn object(&mut self, name: &'static str) -> Fields<'_> {
        let path = self.path_of(name);
        let value = self.take(name).unwrap_or(Located {
            line: 0,
            kind: LocatedKind::Null,
        });
        Fields::new(&path, value, self.findings)
    }

    /// A map of texts with arbitrary keys. Numbers and booleans are taken as they are written.
    pub(super) fn text_map(&mut self, name: &'static str) -> BTreeMap<String, Text> {
        let path = self.path_of(name);
        let Some(found) = self.take(name) else {
            return BTreeMap::new();
        };
        let LocatedKind::Map(entries) = found.kind else {
            self.report(name, "an object", &found);
            return BTreeMap::new();
        };
        let mut texts = BTreeMap::new();
        for (line, key, item) in entries {
            let value = match item.kind {
                LocatedKind::String(text) | LocatedKind::Number(text) => text,
                LocatedKind::Bool(flag) => flag.to_string(),
                _ => {
                    let path = format!("{path}.{key}");
                    self.findings.push(mismatch(&path, "a string", &item));
                    continue;
                }
            };
            texts.insert(key, At { line, value });
        }
        texts
    }

    /// Whether there is a map with arbitrary values. What is not one is reported.
    pub(super) fn is_map(&mut self, name: &'static str) -> bool {
        let Some(found) = self.take(name) else {
            return false;
        };
        let is_map = matches!(found.kind, LocatedKind::Map(_));
        if !is_map {
            self.report(name, "an object", &found);
        }
        is_map
    }

    /// Reports the fields that were not read.
    pub(super) fn finish(self) {
        let Self {
            path,
            entries,
            known,
            findings,
        } = self;
        for (line, key, _) in entries {
            let message = if path.is_empty() {
                format!("unknown key {key:?}")
            } else {
                format!("unknown key {key:?} in {path}")
            };
            let finding = Finding::fatal(DEFINITION, message).at(line);
            findings.push(finding.suggest(nearest(&key, &known)));
        }
    }
}

/// A text that is not empty.
fn text(path: &str, found: Located, findings: &mut Vec<Finding>) -> Option<Text> {
    let line = found.line;
    match found.kind {
        LocatedKind::String(value) if value.is_empty() => {
            let message = format!("{path}: must not be empty");
            findings.push(Finding::fatal(DEFINITION, message).at(line));
            None
        }
        LocatedKind::String(value) => Some(At { line, value }),
        _ => {
            let finding = mismatch(path, "a string", &found);
            let is_quotable = matches!(found.kind, LocatedKind::Number(_) | LocatedKind::Bool(_));
            findings.push(if is_quotable {
                finding.hint("put it in quotes")
            } else {
                finding
            });
            None
        }
    }
}

pub(super) fn mismatch(path: &str, expected: &str, found: &Located) -> Finding {
    let kind = match found.kind {
        LocatedKind::Null => "null",
        LocatedKind::Bool(_) => "a boolean",
        LocatedKind::Number(_) => "a number",
        LocatedKind::String(_) => "a string",
        LocatedKind::List(_) => "a list",
        LocatedKind::Map(_) => "an object",
    };
    let message = if path.is_empty() {
        format!("the document must be {expected}, not {kind}")
    } else {
        format!("{path}: must be {expected}, not {kind}")
    };
    Finding::fatal(DEFINITION, message).at(found.line)
}

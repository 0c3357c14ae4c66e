//! Merges a package into a base configuration, by one rule for each field (`rules`).
//!
//! Pure. The base is never changed: the result is computed from base and package each time, and merging the same package
//! again changes nothing. What base and package disagree about is a conflict that names both.

mod base;
mod contribution;
mod fields;
mod rules;

use std::fmt;

use outrigger_api::step;
use serde_json::Value;

use crate::package::Package;

pub use base::{Base, BaseError};
pub use rules::{FieldRule, How, RULES, Target};

/// The configuration with what the package adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    /// In the form of the base.
    pub document: Value,
    /// What the package asks for and does not get.
    pub notes: Vec<Note>,
}

/// Something that the package asks for and does not get, by a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub field: String,
    pub message: String,
}

/// What base and package disagree about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The field of the base, such as `spec.features.hooks.PreInstall`.
    pub field: String,
    /// The owner of the base and what it says.
    pub base: (String, String),
    /// The owner of the package and what it says.
    pub package: (String, String),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            field,
            base: (base, base_says),
            package: (package, package_says),
        } = self;
        write!(f, "{field}: {base} {base_says}, {package} {package_says}")
    }
}

/// Merges a package into a base configuration.
pub fn merge(base: &Base, package: &Package) -> Result<Effective, Vec<Conflict>> {
    let mut merge = Merge {
        base,
        owner: format!("package {}", package.name),
        document: base.document().clone(),
        notes: Vec::new(),
        conflicts: Vec::new(),
    };
    for rule in RULES {
        if let Some(contribution) = contribution::of(package, rule.key) {
            merge.apply(rule, &contribution);
        }
    }
    merge.check_skipped_and_delegated();
    if merge.conflicts.is_empty() {
        let (document, notes) = (merge.document, merge.notes);
        return Ok(Effective { document, notes });
    }
    Err(merge.conflicts)
}

struct Merge<'m> {
    base: &'m Base,
    /// The package, in conflicts.
    owner: String,
    document: Value,
    notes: Vec<Note>,
    conflicts: Vec<Conflict>,
}

impl Merge<'_> {
    fn apply(&mut self, rule: &FieldRule, contribution: &Value) {
        let Some(path) = self.base.path(rule.target) else {
            self.notes.push(Note {
                field: rule.key.to_owned(),
                message: "is left out: a Cluster has no steps of the installer, tke.json has"
                    .to_owned(),
            });
            return;
        };
        let mut value = fields::get(&self.document, &path)
            .cloned()
            .unwrap_or_default();
        match rule.how {
            How::AppendUnique => append_unique(&mut value, contribution),
            How::ByDestination => self.add_files(&path, &mut value, contribution),
            How::SameOrConflict => self.add_same(&path, &mut value, contribution),
            How::BaseWins => self.add_absent(&path, &mut value, contribution),
            How::Satisfied => self.check_range(&path, &value, contribution),
        }
        if rule.how != How::Satisfied {
            fields::set(&mut self.document, &path, value);
        }
    }

    fn conflict(&mut self, field: String, base_says: String, package_says: String) {
        self.conflicts.push(Conflict {
            field,
            base: (self.base.owner().to_owned(), base_says),
            package: (self.owner.clone(), package_says),
        });
    }

    /// Adds files. One destination has one source.
    fn add_files(&mut self, path: &[String], files: &mut Value, added: &Value) {
        for file in added.as_array().into_iter().flatten() {
            let mut known = files.as_array().into_iter().flatten();
            let known = known.find(|known| destination(known) == destination(file));
            match known {
                Some(known) if is_same_file(known, file) => {}
                Some(known) => {
                    let (known, added) = (copies(known), copies(file));
                    self.conflict(path.join("."), known, added);
                }
                None => push(files, file.clone()),
            }
        }
    }

    /// Adds the entries of a map. A key has one value.
    fn add_same(&mut self, path: &[String], map: &mut Value, added: &Value) {
        for (key, value) in added.as_object().into_iter().flatten() {
            match map.get(key).filter(|known| !known.is_null()) {
                Some(known) if known != value => {
                    let says = |value: &Value| format!("sets it to {}", shown(value));
                    let (known, added) = (says(known), says(value));
                    self.conflict(format!("{}.{key}", path.join(".")), known, added);
                }
                Some(_) => {}
                None => insert(map, key, value.clone()),
            }
        }
    }

    /// Adds the entries of a map that the base does not have.
    fn add_absent(&mut self, path: &[String], map: &mut Value, added: &Value) {
        for (key, value) in added.as_object().into_iter().flatten() {
            match map.get(key).filter(|known| !known.is_null()) {
                Some(known) if known != value => self.notes.push(Note {
                    field: format!("{}.{key}", path.join(".")),
                    message: format!(
                        "{} sets it to {}, which stays; {} would set it to {}",
                        self.base.owner(),
                        shown(known),
                        self.owner,
                        shown(value)
                    ),
                }),
                Some(_) => {}
                None => insert(map, key, value.clone()),
            }
        }
    }

    /// The version of the base is in the range of the package.
    fn check_range(&mut self, path: &[String], version: &Value, range: &Value) {
        let (version, range) = (shown(version), shown(range));
        if !rules::is_in_range(&version, &range) {
            let base_says = if version.is_empty() {
                "sets no version".to_owned()
            } else {
                format!("has {version}")
            };
            self.conflict(path.join("."), base_says, format!("requires {range}"));
        }
    }

    /// A step that one of both skips is not delegated by the other.
    fn check_skipped_and_delegated(&mut self) {
        const SKIPPED: &str = "features.skipConditions";
        const DELEGATED: &str = "features.delegateConditions";
        let names = |document: &Value, target: &'static str| -> Vec<String> {
            let path = self.base.path(Target::Cluster(target)).unwrap_or_default();
            let list = fields::get(document, &path).and_then(Value::as_array);
            let names = list.into_iter().flatten().filter_map(Value::as_str);
            names.map(|name| canonical(name).to_owned()).collect()
        };
        let base = self.base.document();
        let (skipped, delegated) = (names(base, SKIPPED), names(base, DELEGATED));
        let all_skipped = names(&self.document, SKIPPED);
        let all_delegated = names(&self.document, DELEGATED);
        let field = self.base.path(Target::Cluster(DELEGATED));
        let field = field.unwrap_or_default().join(".");
        for id in all_delegated.iter().filter(|id| all_skipped.contains(id)) {
            let (base_says, package_says) = match (skipped.contains(id), delegated.contains(id)) {
                (true, false) => (format!("skips {id}"), format!("delegates {id}")),
                (false, true) => (format!("delegates {id}"), format!("skips {id}")),
                // Either is wrong without the other; the base was not made by us, and verify checks the package.
                _ => continue,
            };
            self.conflict(field.clone(), base_says, package_says);
        }
    }
}

/// Appends the texts that a list does not have. Two names of one step are the same.
fn append_unique(list: &mut Value, added: &Value) {
    for name in added.as_array().into_iter().flatten() {
        let text = canonical(name.as_str().unwrap_or_default());
        let known = list.as_array().into_iter().flatten();
        let mut known = known.filter_map(Value::as_str);
        if !known.any(|known| canonical(known) == text) {
            push(list, name.clone());
        }
    }
}

/// The id of a step with this name, or the name itself.
fn canonical(name: &str) -> &str {
    let installer = || step::installer::find(name).map(|step| step.id);
    step::find(name).or_else(installer).unwrap_or(name)
}

fn destination(file: &Value) -> &str {
    let dst = file["dst"].as_str().unwrap_or_default();
    dst.trim_end_matches('/')
}

fn is_forced(file: &Value) -> bool {
    file["force"].as_bool().unwrap_or_default()
}

fn is_same_file(a: &Value, b: &Value) -> bool {
    a["src"] == b["src"] && is_forced(a) == is_forced(b)
}

/// What a file does, in a conflict.
fn copies(file: &Value) -> String {
    let force = if is_forced(file) { " with force" } else { "" };
    format!(
        "copies {} to {}{force}",
        shown(&file["src"]),
        destination(file)
    )
}

fn push(list: &mut Value, item: Value) {
    match list {
        Value::Array(items) => items.push(item),
        _ => *list = Value::Array(vec![item]),
    }
}

fn insert(map: &mut Value, key: &str, value: Value) {
    match map {
        Value::Object(fields) => {
            fields.insert(key.to_owned(), value);
        }
        _ => *map = serde_json::json!({key: value}),
    }
}

/// A text without quotes, everything else as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;

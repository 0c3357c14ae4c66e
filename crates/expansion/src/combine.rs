//! Combines two packages to one, by one rule for each key of `expansion.yaml`. Pure.
//!
//! The result needs no memory of where it came from: it is verified and built like any package. What the packages disagree
//! about is a conflict that names both.

mod keys;
mod values;

use std::collections::BTreeMap;

use outrigger_oci::Digest;
use serde_json::{Map, Value};

use crate::build::files::{FileContent, PlannedFile};
use crate::definition::{DEFINITION, VALUES};
use crate::layout::{self, Top};
use crate::lock::LockedFile;
use crate::merge::Conflict;
use crate::package::Package;

pub use keys::{KEYS, KeyRule};

/// A package that is combined with another one.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) package: Package,
    pub(crate) files: Vec<PlannedFile>,
}

/// The package of two.
#[derive(Debug)]
pub(crate) struct Combined {
    pub(crate) files: Vec<PlannedFile>,
    /// What was left out.
    pub(crate) notes: Vec<String>,
}

/// Name and version of the result. Without them, both packages must have the same.
#[derive(Debug, Clone, Default)]
pub struct Naming {
    pub name: Option<String>,
    pub version: Option<String>,
}

/// Combines two packages.
pub(crate) fn combine(
    first: Part,
    second: Part,
    naming: &Naming,
) -> Result<Combined, Vec<Conflict>> {
    let mut combine = Combine {
        owners: [owner(&first.package), owner(&second.package)],
        conflicts: Vec::new(),
        notes: Vec::new(),
    };
    let definition = combine.definition(&first.package, &second.package, naming);
    let values = combine.values(&first.package, &second.package);
    combine.check_destinations(&first.package, &second.package);
    let mut files = combine.files(first.files, second.files);
    if !combine.conflicts.is_empty() {
        return Err(combine.conflicts);
    }
    files.push(text_file(DEFINITION, &definition));
    if !values.is_empty() {
        files.push(text_file(VALUES, &Value::Object(values)));
    }
    files.sort_by(|a, b| a.locked.path.cmp(&b.locked.path));
    let notes = combine.notes;
    Ok(Combined { files, notes })
}

/// Packages that have the same name are distinguished by version.
fn owner(package: &Package) -> String {
    match &package.version {
        Some(version) => format!("package {} {version}", package.name),
        None => format!("package {}", package.name),
    }
}

fn text_file(path: &str, value: &Value) -> PlannedFile {
    let bytes = outrigger_goyaml::write_json(value);
    PlannedFile {
        locked: LockedFile {
            path: path.to_owned(),
            mode: 0o644,
            size: bytes.len() as u64,
            digest: Digest::of(&bytes),
            in_base: false,
        },
        content: FileContent::Bytes(bytes),
    }
}

struct Combine {
    owners: [String; 2],
    conflicts: Vec<Conflict>,
    notes: Vec<String>,
}

impl Combine {
    fn conflict(&mut self, field: impl Into<String>, first: String, second: String) {
        let [first_owner, second_owner] = &self.owners;
        self.conflicts.push(Conflict {
            field: field.into(),
            base: (first_owner.clone(), first),
            package: (second_owner.clone(), second),
        });
    }

    /// The values of both. The files of each package are rendered with the values of both.
    fn values(&mut self, first: &Package, second: &Package) -> Map<String, Value> {
        let mut differences = Vec::new();
        let merged = values::merge(&first.values, &second.values, "values", &mut differences);
        for (path, first, second) in differences {
            self.conflict(path, first, second);
        }
        merged
    }

    /// A destination has one source, and a hook of clusters one file.
    fn check_destinations(&mut self, first: &Package, second: &Package) {
        for file in &first.files {
            for other in &second.files {
                let is_same = file.path == other.path
                    && file.mode == other.mode
                    && file.hook == other.hook
                    && file.is_rendered == other.is_rendered;
                if file.dst == other.dst && !is_same {
                    let copies =
                        |path: &str, mode: u32| format!("copies {path} with mode {mode:04o}");
                    self.conflict(
                        format!("files: {}", file.dst),
                        copies(&file.path, file.mode),
                        copies(&other.path, other.mode),
                    );
                } else if let (Some(hook), true) = (file.hook, file.hook == other.hook)
                    && file.dst != other.dst
                {
                    let binds = |dst: &str| format!("binds {dst}");
                    self.conflict(
                        format!("files: hook {hook}"),
                        binds(&file.dst),
                        binds(&other.dst),
                    );
                }
            }
        }
    }

    /// The files of both. A path has one content.
    fn files(&mut self, first: Vec<PlannedFile>, second: Vec<PlannedFile>) -> Vec<PlannedFile> {
        let is_kept =
            |file: &PlannedFile| ![DEFINITION, VALUES].contains(&file.locked.path.as_str());
        let mut files: BTreeMap<String, PlannedFile> = BTreeMap::new();
        for file in first.into_iter().filter(is_kept) {
            files.insert(file.locked.path.clone(), file);
        }
        for file in second.into_iter().filter(is_kept) {
            let path = file.locked.path.clone();
            let known = files.get(&path).map(|known| known.locked.clone());
            match known {
                None => {
                    files.insert(path, file);
                }
                Some(known) if is_same(&known, &file.locked) => {}
                Some(_) if layout::top(&path) == Some(Top::Document) => {
                    self.notes.push(format!(
                        "{path} is left out: the packages have different ones"
                    ));
                    files.remove(&path);
                }
                Some(known) => {
                    let has = |file: &LockedFile| {
                        let digest = file.digest.short();
                        format!(
                            "has {} bytes with mode {:04o} ({digest})",
                            file.size, file.mode
                        )
                    };
                    self.conflict(path, has(&known), has(&file.locked));
                }
            }
        }
        files.into_values().collect()
    }
}

fn is_same(a: &LockedFile, b: &LockedFile) -> bool {
    a.digest == b.digest && a.size == b.size && a.mode == b.mode
}

#[cfg(test)]
mod tests;

//! A package: what `expansion.yaml` says, applied to the folder. It may have findings; see `verify`.

use outrigger_api::hook::Hook;
use serde_json::{Map, Value};

use crate::definition::{At, DEFINITION, Definition, FileEntry, HookChoice, VALUES, parse_strict};
use crate::finding::Finding;
use crate::scan::{Content, File, Scanned};
use crate::template;

/// The permission bits of hooks without a `mode`.
const EXECUTABLE: u32 = 0o755;

/// A package.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Package {
    /// That of `expansion.yaml`, otherwise that of the folder.
    pub name: String,
    pub version: Option<String>,
    pub definition: Definition,
    /// `values.yaml`, overridden by `values` of `expansion.yaml`.
    pub values: Map<String, Value>,
    /// The files for machines, in the order of `files`.
    pub files: Vec<PackagedFile>,
    /// Whether `expansion.yaml` could be read. Otherwise nothing is known of the package.
    pub(crate) is_defined: bool,
}

/// A file for machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackagedFile {
    /// The line of its entry in `expansion.yaml`.
    pub line: usize,
    /// In the package, such as `files/etc/app.conf`.
    pub path: String,
    /// On the machines.
    pub dst: String,
    /// Permission bits.
    pub mode: u32,
    /// The hook that it is bound to.
    pub hook: Option<&'static str>,
    /// Whether a system path may be replaced.
    pub force: bool,
    /// Whether it is a template, which is rendered before it is copied.
    pub is_rendered: bool,
}

impl Package {
    /// Reads the definition and the values, as far as they can be read, and plans the files.
    pub fn read(scanned: &Scanned) -> (Self, Vec<Finding>) {
        let read = read_definition(scanned);
        let is_defined = read.is_ok();
        let (definition, mut findings) =
            read.unwrap_or_else(|finding| (Definition::default(), vec![finding]));
        let mut values = read_values(scanned, &mut findings);
        overlay(&mut values, &definition.values);
        let files = definition.files.iter();
        let files = files.flat_map(|entry| plan_files(scanned, entry)).collect();
        let text = |text: &At<String>| text.value.clone();
        let package = Self {
            name: definition
                .name
                .as_ref()
                .map_or_else(|| scanned.folder_name.clone(), text),
            version: definition.version.as_ref().map(text),
            values,
            files,
            definition,
            is_defined,
        };
        (package, findings)
    }

    /// The package with values of a site, which override its own, key by key.
    #[must_use]
    pub fn with_values(mut self, site: &Map<String, Value>) -> Self {
        overlay(&mut self.values, site);
        self
    }

    /// What machines get of a file that is a template; `None` if the file is copied as it is.
    pub fn render(
        &self,
        scanned: &Scanned,
        file: &PackagedFile,
    ) -> Result<Option<Vec<u8>>, template::Error> {
        let text = scanned.file(&file.path).and_then(template_text);
        let text = text.filter(|_| file.is_rendered);
        text.map(|text| template::render(text, &self.template_data()))
            .transpose()
    }

    /// The values that templates see: `.Values` and `.Package`.
    pub(crate) fn template_data(&self) -> Value {
        serde_json::json!({
            "Values": self.values,
            "Package": {"Name": self.name, "Version": self.version.as_deref().unwrap_or_default()},
        })
    }
}

fn read_definition(scanned: &Scanned) -> Result<(Definition, Vec<Finding>), Finding> {
    let text = content(scanned, DEFINITION)?.ok_or_else(|| {
        let hint = "`outrigger expansion new NAME` writes a package to start from";
        Finding::fatal(DEFINITION, "is missing").hint(hint)
    })?;
    Definition::read(text)
}

/// The content of a file that may be missing.
fn content<'s>(scanned: &'s Scanned, path: &str) -> Result<Option<&'s [u8]>, Finding> {
    match scanned.file(path).map(|file| &file.content) {
        None => Ok(None),
        Some(Content::Bytes(bytes)) => Ok(Some(bytes)),
        Some(Content::TooLarge | Content::NotRead) => Err(Finding::fatal(path, "is too large")),
    }
}

fn read_values(scanned: &Scanned, findings: &mut Vec<Finding>) -> Map<String, Value> {
    let text = match content(scanned, VALUES) {
        Ok(text) => text.unwrap_or_default(),
        Err(finding) => {
            findings.push(finding);
            return Map::new();
        }
    };
    let root = match parse_strict(VALUES, text, findings) {
        Ok(root) => root,
        Err(finding) => {
            findings.push(finding);
            return Map::new();
        }
    };
    match outrigger_goyaml::parse_json(text) {
        Ok(Value::Object(values)) => values,
        Ok(Value::Null) | Err(_) => Map::new(),
        Ok(_) => {
            let message = "the document must be an object";
            findings.push(Finding::fatal(VALUES, message).at(root.line));
            Map::new()
        }
    }
}

/// Merges maps; everything else is replaced.
fn overlay(base: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (Some(Value::Object(base)), Value::Object(over)) => overlay(base, over),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

/// The files of an entry: the file itself, or all files of the folder.
fn plan_files(scanned: &Scanned, entry: &At<FileEntry>) -> Vec<PackagedFile> {
    let src = &entry.value.src;
    let path = format!("files/{src}");
    let dst = match &entry.value.dst {
        Some(dst) => dst.value.trim_end_matches('/').to_owned(),
        None => format!("/{src}"),
    };
    if let Some(file) = scanned.file(&path) {
        let dst = if dst.is_empty() { "/".to_owned() } else { dst };
        return vec![plan_file(entry, path, dst, file)];
    }
    let below = scanned.files_below(&path);
    below
        .map(|(file_path, file)| {
            let rest = &file_path[path.len()..];
            plan_file(entry, file_path.to_owned(), format!("{dst}{rest}"), file)
        })
        .collect()
}

fn plan_file(entry: &At<FileEntry>, path: String, dst: String, file: &File) -> PackagedFile {
    let base_name = path.rsplit('/').next().unwrap_or_default();
    let hook = match &entry.value.hook {
        None => Hook::of_cluster(base_name),
        Some(choice) => match &choice.value {
            HookChoice::None => None,
            HookChoice::Named(name) => Hook::of_cluster(name),
        },
    };
    let default_mode = if hook.is_some() {
        EXECUTABLE
    } else {
        file.mode
    };
    let mode = entry.value.mode.as_ref().map(|mode| mode.value);
    let renders = entry.value.render.as_ref().is_none_or(|flag| flag.value);
    PackagedFile {
        line: entry.line,
        is_rendered: renders && template_text(file).is_some_and(|text| text.contains("{{")),
        path,
        dst,
        mode: mode.unwrap_or(default_mode),
        hook: hook.map(|hook| hook.name),
        force: entry.value.force,
    }
}

/// The text of a file, unless it is binary or too large for a template.
pub(crate) fn template_text(file: &File) -> Option<&str> {
    match &file.content {
        Content::Bytes(bytes) if !bytes.contains(&0) => std::str::from_utf8(bytes).ok(),
        Content::Bytes(_) | Content::NotRead | Content::TooLarge => None,
    }
}

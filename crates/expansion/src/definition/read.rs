//! Reads `expansion.yaml`, strictly.

use std::collections::BTreeMap;

use outrigger_goyaml::{Error, Located, LocatedKind, parse_json, parse_located};
use serde_json::{Map, Value};

use super::fields::{Fields, mismatch};
use super::{At, DEFINITION, Definition, ExtraArgs, FileEntry, HookChoice, Requires};
use crate::finding::Finding;

/// The maximum nesting of values.
const MAX_DEPTH: usize = 100;

/// The components that `create_cluster_extra_args` has arguments of. The keys are TKEStack's.
pub const EXTRA_ARGS: [&str; 5] = [
    "dockerExtraArgs",
    "kubeletExtraArgs",
    "apiServerExtraArgs",
    "controllerManagerExtraArgs",
    "schedulerExtraArgs",
];

impl Definition {
    /// Reads the file, as far as it can be read, and reports everything that is wrong with it. What is not YAML cannot be
    /// read at all.
    pub fn read(text: &[u8]) -> Result<(Self, Vec<Finding>), Finding> {
        let mut findings = Vec::new();
        let root = parse_strict(DEFINITION, text, &mut findings)?;
        let definition = read(root, text, &mut findings);
        Ok((definition, findings))
    }
}

/// Parses a file whose maps have each key once.
pub(crate) fn parse_strict(
    path: &str,
    text: &[u8],
    findings: &mut Vec<Finding>,
) -> Result<Located, Finding> {
    let document = parse_located(text, MAX_DEPTH).map_err(|error| invalid_yaml(path, &error))?;
    findings.extend(document.repeated.iter().map(|repeated| {
        let message = format!("key {:?} is given twice", repeated.key);
        Finding::fatal(path, message).at(repeated.line)
    }));
    Ok(document.root)
}

/// A YAML error, with its line.
pub(crate) fn invalid_yaml(path: &str, error: &Error) -> Finding {
    match error {
        Error::Syntax { line, problem } => {
            let message = format!("is not valid YAML: {problem}");
            Finding::fatal(path, message).at(line.unwrap_or(1))
        }
        other => Finding::fatal(path, format!("is not valid YAML: {other}")),
    }
}

fn read(root: Located, text: &[u8], findings: &mut Vec<Finding>) -> Definition {
    let mut fields = Fields::new("", root, findings);
    let mut definition = Definition {
        name: fields.text("name"),
        version: fields.text("version"),
        requires: read_requires(fields.object("requires")),
        charts: fields.texts("charts"),
        images: fields.texts("images"),
        hooks: fields.texts("hooks"),
        provider: fields.texts("provider"),
        plugins: fields.texts("plugins"),
        installer_skip_steps: fields.texts("installer_skip_steps"),
        create_cluster_skip_conditions: fields.texts("create_cluster_skip_conditions"),
        create_cluster_delegate_conditions: fields.texts("create_cluster_delegate_conditions"),
        create_cluster_extra_args: read_extra_args(fields.object("create_cluster_extra_args")),
        operator: fields.text("operator"),
        ..Definition::default()
    };
    if fields.is_map("values") {
        definition.values = values(text);
    }
    let is_set = |flag: Option<At<bool>>| flag.is_some_and(|flag| flag.value);
    definition.images_loaded = is_set(fields.boolean("images_loaded"));
    definition.disable_pass_through_to_platform =
        is_set(fields.boolean("disable_pass_through_to_platform"));
    let entries = fields.list("files");
    fields.finish();
    let entries = entries.into_iter();
    definition.files = entries
        .filter_map(|(path, entry)| read_file_entry(&path, entry, findings))
        .collect();
    definition
}

/// The key `values` of the document, which is a map.
fn values(text: &[u8]) -> Map<String, Value> {
    let document = parse_json(text).unwrap_or_default();
    match document.get("values") {
        Some(Value::Object(values)) => values.clone(),
        _ => Map::new(),
    }
}

fn read_requires(mut fields: Fields<'_>) -> Requires {
    let requires = Requires {
        outrigger: fields.text("outrigger"),
        kubernetes: fields.text("kubernetes"),
    };
    fields.finish();
    requires
}

fn read_extra_args(mut fields: Fields<'_>) -> ExtraArgs {
    let components = EXTRA_ARGS.into_iter();
    let args: BTreeMap<_, _> = components
        .map(|component| (component, fields.text_map(component)))
        .filter(|(_, args)| !args.is_empty())
        .collect();
    fields.finish();
    args
}

/// An entry of `files`: a path, or an object.
fn read_file_entry(
    path: &str,
    entry: Located,
    findings: &mut Vec<Finding>,
) -> Option<At<FileEntry>> {
    let line = entry.line;
    match entry.kind {
        LocatedKind::String(src) if !src.is_empty() => {
            let value = FileEntry {
                src,
                ..FileEntry::default()
            };
            Some(At { line, value })
        }
        LocatedKind::Map(_) => read_file_object(path, entry, findings),
        _ => {
            findings.push(mismatch(path, "a path, or an object with src", &entry));
            None
        }
    }
}

fn read_file_object(
    path: &str,
    entry: Located,
    findings: &mut Vec<Finding>,
) -> Option<At<FileEntry>> {
    let line = entry.line;
    let has_src = matches!(&entry.kind, LocatedKind::Map(entries) if entries.iter().any(|(_, key, _)| key == "src"));
    let mut fields = Fields::new(path, entry, findings);
    let src = fields.text("src");
    let dst = fields.text("dst");
    let mode = fields.literal("mode");
    let hook = fields.text("hook");
    let force = fields.boolean("force");
    let render = fields.boolean("render");
    fields.finish();
    if !has_src {
        let message = format!("{path}.src: is missing");
        findings.push(Finding::fatal(DEFINITION, message).at(line));
    }
    let mode = mode.and_then(|mode| {
        let value = parse_mode(&mode.value);
        if value.is_none() {
            let message = format!("{path}.mode: {:?} is not a mode such as 0644", mode.value);
            findings.push(Finding::fatal(DEFINITION, message).at(mode.line));
        }
        let line = mode.line;
        value.map(|value| At { line, value })
    });
    let hook = hook.map(|hook| At {
        line: hook.line,
        value: match hook.value.as_str() {
            "none" => HookChoice::None,
            _ => HookChoice::Named(hook.value),
        },
    });
    let src = src?;
    let value = FileEntry {
        src: src.value,
        dst,
        mode,
        hook,
        force: force.is_some_and(|flag| flag.value),
        render,
    };
    let line = src.line;
    Some(At { line, value })
}

/// Permission bits in octal: three digits, with or without a leading `0` or `0o`.
fn parse_mode(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("0o").or_else(|| text.strip_prefix('0'));
    let digits = digits.unwrap_or(text);
    let is_octal = digits.bytes().all(|digit| matches!(digit, b'0'..=b'7'));
    (digits.len() == 3 && is_octal)
        .then(|| u32::from_str_radix(digits, 8).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        let (_, findings) = Definition::read(text.as_bytes()).unwrap();
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_empty_file_and_the_lists_of_the_seed_are_valid() {
        let seed = "charts: []\nimages: []\nfiles: []\nhooks: []\nprovider: []\ninstaller_skip_steps: []\n\
                    create_cluster_skip_conditions: []\ncreate_cluster_delegate_conditions: []\n";
        for text in ["", seed] {
            let expected = Ok((Definition::default(), Vec::new()));
            assert_eq!(Definition::read(text.as_bytes()), expected);
        }
    }

    #[test]
    fn modes_are_octal() {
        for text in ["0755", "755", "0o755"] {
            assert_eq!(parse_mode(text), Some(0o755), "{text}");
        }
        for text in ["0", "", "4755", "00755", "0o1755", "789", "-755", "rwx"] {
            assert_eq!(parse_mode(text), None, "{text}");
        }
    }

    #[test]
    fn entries_of_files_are_paths_or_objects() {
        let text = "files:\n- a/b\n- src: c\n  dst: /opt/c\n  mode: 0640\n  hook: none\n  force: true\n  render: false\n";
        let (definition, findings) = Definition::read(text.as_bytes()).unwrap();
        assert_eq!(findings, []);
        let [path, object] = &definition.files[..] else {
            panic!("{definition:?}");
        };
        assert_eq!((path.line, path.value.src.as_str()), (2, "a/b"));
        let entry = &object.value;
        assert_eq!((object.line, entry.src.as_str()), (3, "c"));
        let (line, value) = (5, 0o640);
        assert_eq!(entry.mode, Some(At { line, value }));
        assert_eq!(entry.hook.as_ref().unwrap().value, HookChoice::None);
        assert!(entry.force);
        assert!(!entry.render.as_ref().unwrap().value);
    }

    #[test]
    fn everything_that_is_wrong_is_reported_at_once() {
        let text = "chrts: []\nversion: 1.0\nfiles:\n- {dst: /a}\n- 7\nimages: {a: b}\nhooks: []\nhooks: []\n";
        assert_eq!(
            messages(text),
            [
                "fatal: expansion.yaml:8: key \"hooks\" is given twice",
                "fatal: expansion.yaml:2: version: must be a string, not a number",
                "fatal: expansion.yaml:6: images: must be a list, not an object",
                "fatal: expansion.yaml:1: unknown key \"chrts\"",
                "fatal: expansion.yaml:4: files[0].src: is missing",
                "fatal: expansion.yaml:5: files[1]: must be a path, or an object with src, not a number",
            ]
        );
    }

    #[test]
    fn arguments_are_texts_as_they_are_written() {
        let text = "create_cluster_extra_args:\n  kubeletExtraArgs: {max-pods: 0110, v: true}\n  etcd: {}\n";
        let (definition, findings) = Definition::read(text.as_bytes()).unwrap();
        let args = &definition.create_cluster_extra_args["kubeletExtraArgs"];
        let args = args
            .iter()
            .map(|(key, text)| format!("{key}={}", text.value));
        assert_eq!(args.collect::<Vec<_>>(), ["max-pods=0110", "v=true"]);
        assert_eq!(
            findings[0].to_string(),
            "fatal: expansion.yaml:3: unknown key \"etcd\" in create_cluster_extra_args"
        );
    }
}

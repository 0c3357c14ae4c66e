//! Each rule: what two packages have together, and what they conflict about.

use serde_json::json;

use super::*;
use crate::definition::Definition;
use crate::scan::{Content, Entry, File, Scanned};

/// A package with these files.
fn part(files: &[(&str, &str)]) -> Part {
    let entries = files.iter().map(|(path, content)| {
        let file = File {
            size: content.len() as u64,
            mode: 0o644,
            content: Content::Bytes(content.as_bytes().to_vec()),
        };
        ((*path).to_owned(), Entry::File(file))
    });
    let scanned = Scanned {
        entries: entries.collect(),
        ..Scanned::default()
    };
    let (package, findings) = Package::read(&scanned);
    assert_eq!(findings, []);
    let folder = std::path::Path::new("/nowhere");
    let files = crate::build::files::of_folder(folder, scanned).unwrap();
    Part { package, files }
}

fn define(definition: &str) -> Part {
    part(&[(DEFINITION, definition)])
}

/// The combined package: `expansion.yaml`, values, and the paths of all files.
fn combined(first: Part, second: Part, naming: &Naming) -> (Definition, Value, Vec<String>) {
    let combined = combine(first, second, naming).unwrap();
    let content = |path: &str| {
        let file = combined.files.iter().find(|file| file.locked.path == path);
        match file.map(|file| &file.content) {
            Some(FileContent::Bytes(bytes)) => bytes.clone(),
            _ => Vec::new(),
        }
    };
    let (definition, findings) = Definition::read(&content(DEFINITION)).unwrap();
    assert_eq!(findings, []);
    let values = outrigger_goyaml::parse_json(&content(VALUES)).unwrap();
    let paths = combined.files.iter().map(|file| file.locked.path.clone());
    (definition, values, paths.collect())
}

#[track_caller]
fn conflicts(first: Part, second: Part, expected: &[&str]) {
    let conflicts = combine(first, second, &Naming::default()).unwrap_err();
    let found: Vec<String> = conflicts.iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
}

#[test]
fn lists_have_the_items_of_both_once() {
    let one = define(
        "name: a\nimages: [x:1, y:1]\ncharts: [web]\nfiles: [etc/a, {src: b, mode: \"0640\", hook: none}]\ncreate_cluster_extra_args: {kubeletExtraArgs: {v: 2}}\n",
    );
    let two = define(
        "name: b\nimages: [y:1, z:1]\nfiles: [etc/a, c]\ninstaller_skip_steps: [LoadImages]\ncreate_cluster_extra_args: {kubeletExtraArgs: {v: 2, max-pods: 0110}}\n",
    );
    let naming = Naming {
        name: Some("both".to_owned()),
        version: Some("2.0.0".to_owned()),
    };
    let (definition, values, _) = combined(one, two, &naming);
    let texts = |list: &[crate::definition::Text]| -> Vec<String> {
        list.iter().map(|text| text.value.clone()).collect()
    };
    assert_eq!(definition.name.unwrap().value, "both");
    assert_eq!(definition.version.unwrap().value, "2.0.0");
    assert_eq!(texts(&definition.images), ["x:1", "y:1", "z:1"]);
    assert_eq!(texts(&definition.charts), ["web"]);
    assert_eq!(texts(&definition.installer_skip_steps), ["LoadImages"]);
    let files: Vec<&str> = definition
        .files
        .iter()
        .map(|file| file.value.src.as_str())
        .collect();
    assert_eq!(files, ["etc/a", "b", "c"]);
    let second = &definition.files[1].value;
    assert_eq!(second.mode.as_ref().unwrap().value, 0o640);
    assert!(second.hook.is_some());
    let args = &definition.create_cluster_extra_args["kubeletExtraArgs"];
    assert_eq!(
        (args["v"].value.as_str(), args["max-pods"].value.as_str()),
        ("2", "0110")
    );
    assert_eq!(values, Value::Null);
}

#[test]
fn files_and_values_of_both_are_there() {
    let one = part(&[
        (DEFINITION, "name: a\nfiles: [a]\nvalues: {x: {own: 1}}\n"),
        (VALUES, "x: {shared: true}\n"),
        ("files/a", "a"),
        ("README.md", "one"),
    ]);
    let two = part(&[
        (DEFINITION, "name: a\nfiles: [b]\n"),
        (VALUES, "x: {shared: true}\nz: 2\n"),
        ("files/b", "b"),
        ("README.md", "two"),
    ]);
    let (_, values, paths) = combined(one, two, &Naming::default());
    assert_eq!(values, json!({"x": {"own": 1, "shared": true}, "z": 2}));
    assert_eq!(paths, [DEFINITION, "files/a", "files/b", VALUES]);
}

#[test]
fn conflicts_name_both_packages() {
    conflicts(
        define("name: a\nversion: 1.0.0\noperator: x:1\nimages_loaded: true\n"),
        define("name: b\nversion: 1.0.0\noperator: x:2\n"),
        &[
            "name: package a 1.0.0 is \"a\", package b 1.0.0 is \"b\"",
            "operator: package a 1.0.0 sets it to \"x:1\", package b 1.0.0 sets it to \"x:2\"",
            "images_loaded: package a 1.0.0 sets it to true, package b 1.0.0 sets it to false",
        ],
    );
    conflicts(
        define(
            "name: a\nvalues: {port: 80}\ncreate_cluster_extra_args: {kubeletExtraArgs: {v: 1}}\n",
        ),
        define(
            "name: a\nvalues: {port: 81}\ncreate_cluster_extra_args: {kubeletExtraArgs: {v: 2}}\n",
        ),
        &[
            "create_cluster_extra_args.kubeletExtraArgs.v: package a sets it to 1, package a sets it to 2",
            "values.port: package a sets it to 80, package a sets it to 81",
        ],
    );
    conflicts(
        define("name: a\ncreate_cluster_skip_conditions: [EnsureCilium]\n"),
        define("name: a\ncreate_cluster_delegate_conditions: [EnsureCilium]\n"),
        &[
            "create_cluster_delegate_conditions: package a skips EnsureCilium, package a delegates EnsureCilium",
        ],
    );
}

#[test]
fn a_path_a_destination_and_a_hook_have_one_owner() {
    let one = || {
        part(&[
            (
                DEFINITION,
                "name: a\nfiles: [{src: a, dst: /opt/x}, {src: run, hook: PreInstall}]\nhooks: [pre-install]\n",
            ),
            ("files/a", "a"),
            ("files/run", "#!/bin/sh\n"),
            ("hooks/pre-install", "#!/bin/sh\n"),
        ])
    };
    let two = part(&[
        (
            DEFINITION,
            "name: b\nversion: 1.0.0\nfiles: [{src: b, dst: /opt/x}, {src: go, hook: PreInstall}]\nhooks: [pre-install]\n",
        ),
        ("files/b", "b"),
        ("files/go", "#!/bin/sh\n"),
        ("hooks/pre-install", "#!/bin/bash\n"),
    ]);
    let naming = Naming {
        name: Some("both".to_owned()),
        version: Some("1.0.0".to_owned()),
    };
    let conflicts = combine(one(), two, &naming).unwrap_err();
    let found: Vec<String> = conflicts.iter().map(ToString::to_string).collect();
    assert_eq!(
        found[..2],
        [
            "files: /opt/x: package a copies files/a with mode 0644, package b 1.0.0 copies files/b with mode 0644",
            "files: hook PreInstall: package a binds /run, package b 1.0.0 binds /go",
        ]
    );
    assert!(
        found[2].starts_with("hooks/pre-install: package a has 10 bytes with mode 0644 ("),
        "{found:?}"
    );
    assert_eq!(found.len(), 3);
    // The same in both is no conflict.
    combine(one(), one(), &naming).unwrap();
}

#[test]
fn ranges_must_both_hold() {
    let range = |range: &str| define(&format!("name: a\nrequires: {{kubernetes: \"{range}\"}}\n"));
    let (definition, _, _) = combined(range(">=1.34"), range("<1.37"), &Naming::default());
    assert_eq!(
        definition.requires.kubernetes.unwrap().value,
        ">=1.34, <1.37"
    );
    conflicts(
        range(">=1.34"),
        range("1.30.x || 1.36.x"),
        &["requires.kubernetes: package a requires >=1.34, package a requires 1.30.x || 1.36.x"],
    );
}

/// A key that is added to `expansion.yaml` needs a rule.
#[test]
fn each_key_has_a_rule() {
    let page = include_str!("../../../../docs/expansion-packages.md");
    for (key, _) in KEYS {
        let name = if key == "requires" {
            "requires.outrigger"
        } else {
            key
        };
        assert!(page.contains(&format!("`{name}`")), "{key}");
        let (_, findings) = Definition::read(format!("{key}:\n").as_bytes()).unwrap();
        assert_eq!(findings, [], "{key}");
    }
    let (_, findings) = Definition::read(b"gone:\n").unwrap();
    assert_eq!(findings.len(), 1);
    // The number of keys of a definition, of which `requires` is an object and `files` a list of objects.
    assert_eq!(KEYS.len(), 17);
}

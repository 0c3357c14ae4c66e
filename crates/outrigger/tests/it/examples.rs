//! The examples: charts pass lint, plugins are valid, dependencies are satisfied.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use outrigger_api::compat;
use outrigger_api::plugin::{Plugin, validate};
use outrigger_gostd::semver::{Constraint, Version};
use outrigger_testing::TestContext;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn entries(folder: &str) -> Vec<PathBuf> {
    let entries = fs_err::read_dir(root().join(folder)).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn plugins() -> BTreeMap<String, Plugin> {
    let read = |path: PathBuf| {
        let object = outrigger_goyaml::parse_json(&fs_err::read(&path).unwrap()).unwrap();
        let plugin = compat::read(object).unwrap().unwrap();
        assert_eq!(
            path.file_stem().unwrap().to_str(),
            plugin.metadata.name.as_deref()
        );
        (plugin.name().to_owned(), plugin)
    };
    entries("plugins").into_iter().map(read).collect()
}

fn version_of(chart: &str) -> String {
    let text = fs_err::read(root().join("charts").join(chart).join("Chart.yaml")).unwrap();
    let chart: Value = outrigger_goyaml::parse_json(&text).unwrap();
    chart["version"].as_str().unwrap().to_owned()
}

fn satisfies(range: Option<&str>, version: &str) -> bool {
    let version = Version::parse(version).unwrap();
    range.is_none_or(|range| Constraint::parse(range).unwrap().check(&version))
}

#[test]
fn each_example_chart_passes_lint_and_renders() {
    let context = TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap();
    let charts = entries("charts");
    assert!(charts.len() >= 14, "{charts:?}");
    for chart in charts {
        let path = chart.to_str().unwrap();
        let text = context
            .run(["chart", "lint", "--strict", "--quiet", path])
            .unwrap();
        assert!(text.starts_with("exit code: 0"), "{text}");
        let text = context.run(["chart", "template", "demo", path]).unwrap();
        assert!(
            text.starts_with("exit code: 0") && text.contains("kind: "),
            "{text}"
        );
    }
}

#[test]
fn example_plugins_are_valid_and_select_an_existing_version() {
    for (name, plugin) in plugins() {
        assert_eq!(validate(&plugin), [], "{name}");
        assert!(
            satisfies(
                plugin.spec.version.as_deref(),
                &version_of(plugin.chart_name())
            ),
            "{name}"
        );
    }
}

#[test]
fn dependencies_of_examples_are_satisfied_and_acyclic() {
    let plugins = plugins();
    let mut done: Vec<&str> = Vec::new();
    while done.len() < plugins.len() {
        let before = done.len();
        for (name, plugin) in &plugins {
            let dependencies = &plugin.spec.dependencies;
            for dependency in dependencies {
                let version = version_of(plugins[&dependency.name].chart_name());
                assert!(
                    satisfies(dependency.version.as_deref(), &version),
                    "{name}: {dependency:?}"
                );
            }
            let is_next = dependencies
                .iter()
                .all(|dependency| done.contains(&dependency.name.as_str()));
            if is_next && !done.contains(&name.as_str()) {
                done.push(name);
            }
        }
        assert!(done.len() > before, "cycle among plugins not in {done:?}");
    }
}

#[test]
fn the_all_in_one_example_renders_valid_plugins() {
    let context = TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap();
    let chart = root().join("charts/platform");
    let text = context
        .run(["chart", "template", "platform", chart.to_str().unwrap()])
        .unwrap();
    let (_, stdout) = text.split_once("----- stdout -----\n").unwrap();
    let (stdout, _) = stdout.split_once("\n----- stderr").unwrap();
    let mut count = 0;
    for document in outrigger_goyaml::documents(stdout.as_bytes()) {
        let object = outrigger_goyaml::parse_json(&document.unwrap()).unwrap();
        if object.is_null() {
            continue;
        }
        let plugin = compat::read(object).unwrap().unwrap();
        assert_eq!(validate(&plugin), []);
        count += 1;
    }
    assert_eq!(count, 4);
}

//! Checks that the builds of users, developers and tasks share their libraries: cargo builds a library once for each set
//! of features and for each profile.
//!
//! If a test fails, list the missing features in `[workspace.dependencies]`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::build::{self, Profile};
use crate::checks;
use crate::process::{command, output};

/// The feature sets of each unit of a build. A unit is a target of a package in one mode and profile.
type Units = BTreeMap<String, BTreeSet<String>>;

/// Asks cargo which units it would build. `RUSTC_BOOTSTRAP` makes the unstable option available.
fn units(args: &[&str]) -> Units {
    let target = tempfile::tempdir().unwrap();
    let mut cargo = command(env!("CARGO"), &super::root());
    cargo
        .args(args)
        .args(["--unit-graph", "-Zunstable-options", "--offline"])
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", target.path());
    let graph: Value = serde_json::from_str(&output(&mut cargo).unwrap()).unwrap();
    let mut units = Units::new();
    for unit in graph["units"].as_array().unwrap() {
        let mut profile = unit["profile"].clone();
        // The test profile equals the dev profile, apart from its name.
        profile["name"] = Value::Null;
        let target = &unit["target"];
        let key = format!(
            "{} {} {} {} {} {profile}",
            unit["pkg_id"], target["name"], target["kind"], unit["mode"], unit["platform"]
        );
        let features = unit["features"].to_string();
        units.entry(key).or_default().insert(features);
    }
    units
}

/// Checks that `build` builds no unit with features that `whole` does not build it with.
#[track_caller]
fn check_shares(whole: &Units, build: &[&str]) {
    let differing: Vec<String> = units(build)
        .into_iter()
        .filter_map(|(unit, features)| {
            let shared = whole.get(&unit)?;
            (!features.is_subset(shared))
                .then(|| format!("{unit}\n    {features:?}\n    {shared:?}"))
        })
        .collect();
    assert!(
        differing.is_empty(),
        "cargo {} does not share:\n  {}",
        build.join(" "),
        differing.join("\n  ")
    );
}

#[test]
fn release_builds_share_all_libraries() {
    let whole = units(&["build", "--workspace", "--release"]);
    let tasks = build::cargo_args(Profile::Release);
    for build in [
        &["build", "--release"][..],
        &["build", "--release", "--package", "outrigger"],
        &tasks,
    ] {
        check_shares(&whole, build);
    }
    let known = units(&tasks)
        .into_keys()
        .all(|unit| whole.contains_key(&unit));
    assert!(known, "a task uses another profile");
}

#[test]
fn dev_builds_share_all_libraries() {
    let whole = units(&["test", "--workspace"]);
    let tasks = build::cargo_args(Profile::Dev);
    for build in [
        &["test"][..],
        &["test", "--workspace", "--exclude", "outrigger-e2e"],
        &["build", "--bin", "outrigger-xtask"],
        &["build", "--bin", "outrigger"],
        checks::E2E,
        &tasks,
    ] {
        check_shares(&whole, build);
    }
}

#[test]
fn clippy_shares_all_libraries_with_check() {
    let whole = units(&["check", "--workspace", "--all-targets"]);
    check_shares(&whole, &["check"]);
    check_shares(&whole, &["check", "--workspace"]);
}

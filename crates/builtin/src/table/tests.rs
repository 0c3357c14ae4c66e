//! Compares tables with those of a real server.

use outrigger_apimachinery::GroupVersion;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::kinds::Registry;

const TABLES: &str = include_str!("../../tests/data/tables.jsonl");
const DEFINITIONS: &str = include_str!("../../tests/data/definitions.jsonl");

fn registry() -> Registry {
    let registry = Registry::default();
    for line in DEFINITIONS.lines() {
        registry.install(&serde_json::from_str(line).unwrap());
    }
    registry
}

fn now(text: &Value) -> Now {
    Now(text.as_str().unwrap().parse().unwrap())
}

/// The stored form of an object.
fn stored(kind: &Kind, object: &Value) -> Value {
    if !kind.is_converted() {
        return object.clone();
    }
    let version = GroupVersion::new(&kind.storage.group, &kind.storage.version).to_string();
    let cases = TABLES.lines().skip(1);
    let mut cases = cases.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let case = cases.find(|case| {
        case["gv"] == version.as_str()
            && case["kind"] == kind.kind.as_str()
            && case["object"]["metadata"]["name"] == object["metadata"]["name"]
    });
    case.unwrap()["object"].clone()
}

#[test]
fn rows_match_the_real_server() {
    let kinds = registry().snapshot();
    let mut count = 0;
    for line in TABLES.lines().skip(1) {
        let case: Value = serde_json::from_str(line).unwrap();
        let version = GroupVersion::parse(case["gv"].as_str().unwrap());
        let kind = case["kind"].as_str().unwrap();
        let kind = kinds.kind(version.group, version.version, kind).unwrap();
        let object = stored(kind, &case["object"]);
        let row = row(kind, &object, Include::None, now(&case["now"]));
        assert_eq!(json!(row.cells), case["cells"], "{}", case["object"]);
        let conditions = row.conditions.unwrap_or_default();
        assert_eq!(conditions, case["conditions"], "{}", case["object"]);
        count += 1;
    }
    assert_eq!(count, 129);
}

#[test]
fn tables_match_the_real_server() {
    let kinds = registry().snapshot();
    let first: Value = serde_json::from_str(TABLES.lines().next().unwrap()).unwrap();
    let real = &first["whole"]["table"];
    let kind = kinds.kind("apps", "v1", "Deployment").unwrap();
    let name = &real["rows"][0]["cells"][0];
    let of_name = |line: &&str| {
        let case: Value = serde_json::from_str(line).unwrap();
        case["kind"] == "Deployment" && case["object"]["metadata"]["name"] == *name
    };
    let case = TABLES.lines().skip(1).find(of_name).unwrap();
    let mut case: Value = serde_json::from_str(case).unwrap();
    case["object"]["metadata"] = real["rows"][0]["object"]["metadata"].clone();
    let metadata = real["metadata"].as_object().unwrap().clone();
    let now = now(&first["whole"]["now"]);
    let row = row(kind, &case["object"], Include::Metadata, now);
    let ours = table(kind, metadata, vec![row]);
    assert_eq!(serde_json::to_value(ours).unwrap(), *real);
}

#[test]
fn custom_columns_match_the_real_server() {
    let kinds = registry().snapshot();
    let first: Value = serde_json::from_str(TABLES.lines().next().unwrap()).unwrap();
    let kind = kinds.kind("stable.example.com", "v1", "Widget").unwrap();
    let ours = serde_json::to_value(columns::of(kind)).unwrap();
    assert_eq!(ours, first["widgets"]);
}

#[test]
fn each_row_has_a_cell_for_each_column() {
    let kinds = registry().snapshot();
    let now = Now("2026-01-01T00:00:00Z".parse().unwrap());
    for kind in kinds.iter() {
        let cells = row(kind, &json!({}), Include::None, now).cells.len();
        // kube-apiserver declares one column less than it fills.
        let extra = usize::from(kind.kind == "IPAddress");
        assert_eq!(cells, columns::of(kind).len() + extra, "{}", kind.kind);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn never_panics(text in "\\PC{0,20}", number in any::<i64>()) {
        let kinds = registry().snapshot();
        let now = Now("2026-01-01T00:00:00Z".parse().unwrap());
        for kind in kinds.iter() {
            for value in [json!(text), json!(number), json!([number]), json!({text.clone(): text})] {
                let object = json!({"metadata": value, "spec": value, "status": value, "data": value});
                let _ = row(kind, &object, Include::Object, now);
            }
        }
    }
}

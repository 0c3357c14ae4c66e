//! Property tests of server-side apply.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use outrigger_structural::merge::{
    FieldManager, Kind, Path, PathElement, Set, Writer, ignore_managed_fields_timestamps,
    reset_fields,
};
use outrigger_structural::schema::Schema;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::subsequence;
use serde_json::{Value, json};

static WIDGET: LazyLock<Arc<Kind>> = LazyLock::new(|| {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/schemas.json");
    let schemas: Value = serde_json::from_str(&fs_err::read_to_string(file).unwrap()).unwrap();
    let schema = Schema::structural(&schemas["Widget"]["example.com/v1"]).unwrap();
    Arc::new(Kind {
        api_version: "example.com/v1".to_owned(),
        name: "Widget".to_owned(),
        schemas: BTreeMap::from([("example.com/v1".to_owned(), schema)]),
    })
});

fn manager() -> FieldManager {
    FieldManager::new(
        WIDGET.clone(),
        "",
        reset_fields::of_custom_resource(true, ""),
    )
}

fn writer(manager: &str) -> Writer<'_> {
    Writer {
        manager,
        now: "2026-01-01T00:00:00Z",
    }
}

fn widget(spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec})
}

fn apply(live: Option<&Value>, spec: &Value, name: &str) -> Value {
    manager()
        .apply(live, &widget(spec), writer(name), true)
        .unwrap()
}

/// The fields that a manager owns.
fn owned(object: &Value, name: &str) -> Set {
    let entries = object["metadata"]["managedFields"].as_array();
    let entry = entries
        .into_iter()
        .flatten()
        .find(|entry| entry["manager"] == name);
    entry.map_or_else(Set::new, |entry| {
        Set::from_value(&entry["fieldsV1"]).unwrap()
    })
}

/// Sorts lists, whose order depends on the order of the writes, and removes times.
fn without_order(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(without_order).collect();
            items.sort_by_key(Value::to_string);
            Value::Array(items)
        }
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(name, _)| *name != "time");
            fields
                .map(|(name, value)| (name.clone(), without_order(value)))
                .collect()
        }
        scalar => scalar.clone(),
    }
}

fn letters(letters: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(letters, 0..=letters.len())
}

fn item() -> impl Strategy<Value = Value> {
    (any::<Option<bool>>(), letters(&["p", "q"]), any::<bool>()).prop_map(
        |(value, tags, nested)| {
            let mut item = json!({});
            if let Some(value) = value {
                item["value"] = json!(value.to_string());
            }
            if !tags.is_empty() {
                item["tags"] = json!(tags);
            }
            if nested {
                item["nested"] = json!({"x": "1"});
            }
            item
        },
    )
}

/// A spec with names of one half, so that two halves are disjoint.
fn half_spec(half: bool) -> impl Strategy<Value = Value> {
    let names: &'static [&'static str] = if half {
        &["a", "b", "c"]
    } else {
        &["d", "e", "f"]
    };
    let keyed = btree_map(proptest::sample::select(names), item(), 0..3);
    let map = btree_map(proptest::sample::select(names), "[12]", 0..3);
    let free = btree_map(proptest::sample::select(names), 0..3_i32, 0..3);
    (any::<bool>(), letters(names), keyed, map, free).prop_map(
        move |(scalar, set, keyed, map, free)| {
            let mut spec = json!({});
            if scalar {
                let name = if half { "replicas" } else { "ratio" };
                spec[name] = json!(3);
            }
            let keyed: Vec<Value> = keyed
                .into_iter()
                .map(|(name, mut item)| {
                    item["name"] = json!(name);
                    item
                })
                .collect();
            for (name, value) in [
                ("set", json!(set)),
                ("keyed", json!(keyed)),
                ("map", json!(map)),
                ("free", json!(free)),
            ] {
                let is_empty = value.as_array().is_some_and(Vec::is_empty) || value == json!({});
                if !is_empty {
                    spec[name] = value;
                }
            }
            spec
        },
    )
}

fn spec() -> impl Strategy<Value = Value> {
    (half_spec(true), half_spec(false), any::<bool>()).prop_map(|(mut a, b, both)| {
        if both {
            for (name, value) in b.as_object().unwrap() {
                a[name] = value.clone();
            }
        }
        a
    })
}

fn path_element() -> impl Strategy<Value = PathElement> {
    let scalar = prop_oneof![
        any::<i64>().prop_map(Value::from),
        ".{0,4}".prop_map(Value::from),
        any::<bool>().prop_map(Value::from)
    ];
    prop_oneof![
        ".{0,5}".prop_map(PathElement::field),
        scalar.clone().prop_map(PathElement::Value),
        any::<i64>().prop_map(PathElement::Index),
        btree_map("[a-c]", scalar, 1..3)
            .prop_map(|key| PathElement::Key(key.into_iter().collect())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn applying_twice_changes_nothing(first in spec(), other in spec()) {
        let live = apply(None, &other, "other");
        let once = apply(Some(&live), &first, "a");
        let mut twice = manager()
            .apply(Some(&once), &widget(&first), Writer { manager: "a", now: "2027-01-01T00:00:00Z" }, false)
            .unwrap();
        ignore_managed_fields_timestamps(&once, &mut twice);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn disjoint_managers_commute(a in half_spec(true), b in half_spec(false)) {
        let one = apply(Some(&apply(None, &a, "a")), &b, "b");
        let two = apply(Some(&apply(None, &b, "b")), &a, "a");
        prop_assert_eq!(without_order(&one), without_order(&two));
    }

    #[test]
    fn force_moves_ownership(a in spec(), b in spec()) {
        let before = apply(None, &a, "a");
        let after = apply(Some(&before), &b, "b");
        let (of_a, of_b) = (owned(&after, "a"), owned(&after, "b"));
        for path in owned(&before, "a").paths() {
            // Fields with equal values are shared, changed fields are not.
            prop_assert!(of_a.contains(&path) || of_b.contains(&path), "{} has no manager", path);
        }
        let again = manager().apply(Some(&after), &widget(&b), writer("b"), false);
        prop_assert!(again.is_ok(), "the manager of all fields has no conflicts");
    }

    #[test]
    fn omission_removes_only_exclusively_owned_fields(a in spec(), b in spec()) {
        let both = apply(Some(&apply(None, &b, "b")), &a, "a");
        let after = apply(Some(&both), &json!({}), "a");
        prop_assert!(owned(&after, "a").difference(&owned(&after, "b")).paths().len() <= 1, "only the spec itself remains");
        prop_assert_eq!(owned(&after, "b"), owned(&both, "b"));
        // The remaining fields were applied by the other manager, or are defaults.
        let alone = apply(None, &after["spec"], "b");
        let left = owned(&alone, "b").difference(&owned(&both, "b"));
        let defaults = ["defaulted", "defaultedStruct"];
        for path in left.paths() {
            let text = path.to_string();
            prop_assert!(defaults.iter().any(|name| text.starts_with(&format!(".spec.{name}"))), "{} remained", text);
        }
    }

    #[test]
    fn sets_round_trip(paths in vec(vec(path_element(), 1..4).prop_map(Path), 0..8)) {
        let set: Set = paths.into_iter().collect();
        prop_assert_eq!(&Set::from_value(&set.to_value()).unwrap(), &set);
        let text: Value = serde_json::from_str(&set.to_json()).unwrap();
        prop_assert_eq!(text, set.to_value());
    }

    #[test]
    fn updates_own_changed_fields(a in spec(), b in spec()) {
        let created = manager().update(None, widget(&a), writer("a"));
        let updated = manager().update(Some(&created), widget(&b), writer("b"));
        let all = owned(&updated, "a").union(&owned(&updated, "b"));
        prop_assert!(owned(&updated, "a").intersection(&owned(&updated, "b")).is_empty());
        let mut untracked = updated;
        untracked["metadata"].as_object_mut().unwrap().remove("managedFields");
        let fresh = manager().update(None, untracked, writer("x"));
        prop_assert_eq!(all, owned(&fresh, "x"), "every field is owned by its last writer");
    }
}

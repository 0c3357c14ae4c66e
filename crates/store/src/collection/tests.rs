//! The collection against the sorted map of the standard library.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::encoded::EncodedObject;

fn object(name: &str, revision: u64) -> Arc<Object> {
    let key = Key::parse(name).unwrap();
    let encoded = EncodedObject::new(&json!({"metadata": {}})).unwrap();
    Arc::new(Object::from_encoded(key, &encoded, revision, revision))
}

fn name(number: u16) -> String {
    format!("//pods/ns{}/p{number}", number % 3)
}

/// Chunks are sorted, not too large and not empty.
fn assert_sound(collection: &Collection) {
    assert!(
        collection
            .chunks
            .iter()
            .all(|chunk| !chunk.is_empty() && chunk.len() <= CHUNK)
    );
    let keys: Vec<_> = collection
        .range("", None)
        .map(|object| object.key().clone())
        .collect();
    assert!(keys.is_sorted());
}

#[derive(Debug, Clone)]
enum Step {
    Insert(u16),
    Remove(u16),
    Snapshot,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0u16..400).prop_map(Step::Insert),
        3 => (0u16..400).prop_map(Step::Remove),
        1 => Just(Step::Snapshot),
    ]
}

fn contents(collection: &Collection) -> Vec<(String, u64)> {
    collection
        .range("", None)
        .map(|object| (object.key().to_string(), object.revision()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn matches_a_sorted_map_and_preserves_snapshots(steps in prop::collection::vec(step(), 1..800)) {
        let mut collection = Collection::default();
        let mut model = BTreeMap::new();
        let mut snapshots = Vec::new();
        for (revision, step) in (1..).zip(steps) {
            match step {
                Step::Insert(number) => {
                    let old = collection.insert(object(&name(number), revision));
                    prop_assert_eq!(old.map(|old| old.revision()), model.insert(name(number), revision));
                }
                Step::Remove(number) => {
                    let old = collection.remove(&Key::parse(&name(number)).unwrap());
                    prop_assert_eq!(old.map(|old| old.revision()), model.remove(&name(number)));
                }
                Step::Snapshot => snapshots.push((collection.clone(), model.clone())),
            }
        }
        assert_sound(&collection);
        snapshots.push((collection, model));
        for (collection, model) in &snapshots {
            prop_assert_eq!(contents(collection), model.clone().into_iter().collect::<Vec<_>>());
            prop_assert_eq!(collection.is_empty(), model.is_empty());
            for number in 0..400 {
                let found = collection.get(&Key::parse(&name(number)).unwrap());
                prop_assert_eq!(found.map(|found| found.revision()), model.get(&name(number)).copied());
            }
        }
    }

    #[test]
    fn a_range_matches_that_of_a_sorted_map(numbers in prop::collection::btree_set(0u16..400, 0..300), after in 0u16..400) {
        let mut collection = Collection::default();
        for number in &numbers {
            collection.insert(object(&name(*number), 1));
        }
        let after = Key::parse(&name(after)).unwrap();
        let mut names: Vec<_> = numbers.iter().map(|number| name(*number)).collect();
        names.sort();
        for prefix in ["//pods/", "//pods/ns0/", "//pods/ns1/", "//pods/ns2/", "//pods/ns3/", "//pods/a/"] {
            let expected: Vec<_> = names.iter().filter(|name| name.starts_with(prefix)).cloned().collect();
            let found: Vec<_> = collection.range(prefix, None).map(|object| object.key().to_string()).collect();
            prop_assert_eq!(&found, &expected);
            let expected: Vec<_> = expected.into_iter().filter(|name| name.as_str() > after.as_str()).collect();
            let found: Vec<_> = collection.range(prefix, Some(&after)).map(|object| object.key().to_string()).collect();
            prop_assert_eq!(&found, &expected);
        }
    }
}

#[test]
fn loading_in_order_fills_chunks() {
    let mut collection = Collection::default();
    for number in 0..1000 {
        collection.insert(object(&format!("//pods/a/{number:05}"), 1));
    }
    assert_sound(&collection);
    assert_eq!(collection.chunks.len(), 1000_usize.div_ceil(CHUNK));
}

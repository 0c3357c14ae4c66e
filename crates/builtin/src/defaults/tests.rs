//! Compares errors and completed objects with the recorded responses of a real server. What a create returns is compared
//! in `admission`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::kinds::Registry;
use crate::prepare::{self, Creation, User};
use crate::recorded::{kind_of, values};

const TYPES: &str = include_str!("../../tests/data/types.jsonl");
const CASES: &str = include_str!("../../tests/data/defaults.jsonl");

#[test]
fn decoding_errors_match_the_real_server() {
    let kinds = Registry::default().snapshot();
    for line in TYPES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let kind = kind_of(&kinds, &case["object"]);
        let status = match complete(kind, &mut case["object"].clone()) {
            Ok(unknown) => unknown_fields(kind, &unknown),
            Err(error) => wrong_type(kind, &error),
        };
        assert_eq!(status.message, case["message"], "{}", case["object"]);
    }
}

#[test]
fn completing_is_idempotent() {
    let kinds = Registry::default().snapshot();
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let kind = kind_of(&kinds, &case["in"]);
        let mut object = case["out"].clone();
        let unknown = complete(kind, &mut object).unwrap();
        assert_eq!(object, case["out"]);
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn never_panics(text in "\\PC{0,20}", number in any::<i64>()) {
        let kinds = Registry::default().snapshot();
        for kind in kinds.iter() {
            for value in values(&text, number) {
                let mut object = json!({
                    "metadata": value, "spec": value, "data": value, "status": value, "rules": value,
                });
                let _ = complete(kind, &mut object);
                let creation = Creation { now: "", uid: "", user: User::default() };
                prepare::create(kind, &mut object, &creation);
                let old = object.clone();
                prepare::update(kind, &mut object, &old);
                prepare::update_status(kind, &mut object, &old, "");
            }
        }
    }
}

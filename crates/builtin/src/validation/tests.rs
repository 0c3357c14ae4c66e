//! Objects that a real server refused, and updates that it took or refused.

use std::collections::VecDeque;

use outrigger_apimachinery::GroupVersion;
use outrigger_apimachinery::status::Status;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::defaults;
use crate::kinds::{Kinds, Registry};
use crate::prepare::service::{self, Allocator, Pool};
use crate::prepare::{self, Creation, User};

const INVALID: &str = include_str!("../../tests/data/invalid.jsonl");
const UPDATES: &str = include_str!("../../tests/data/updates.jsonl");

fn kind_of<'a>(kinds: &'a Kinds, object: &Value) -> &'a Kind {
    let version = GroupVersion::parse(object["apiVersion"].as_str().unwrap());
    let kind = object["kind"].as_str().unwrap();
    kinds.kind(version.group, version.version, kind).unwrap()
}

/// The causes of a refusal as field, reason and message, each once.
fn causes(status: &Status) -> Value {
    let mut causes: Vec<Value> = Vec::new();
    for cause in &status.details.as_ref().unwrap().causes {
        let reason = cause.reason.replace("FieldValue", "");
        let cause = json!([cause.field, reason, cause.message]);
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    causes.into()
}

/// The recorded causes, with the long texts that the file holds only once.
fn recorded_causes(case: &Value, texts: &Value) -> Value {
    let mut causes = case["causes"].clone();
    for cause in causes.as_array_mut().unwrap() {
        let message = cause[2].as_str().unwrap().to_owned();
        if let Some((start, index)) = message.rsplit_once('@')
            && let Ok(index) = index.parse::<usize>()
        {
            cause[2] = format!("{start}{}", texts[index].as_str().unwrap()).into();
        }
    }
    causes
}

fn refusal(kind: &Kind, sent: &Value) -> Status {
    let mut object = sent.clone();
    defaults::complete(kind, &mut object).unwrap();
    if kind.namespaced {
        object["metadata"]["namespace"] = json!("val");
    }
    let creation = Creation {
        now: "2026-01-01T00:00:00Z",
        uid: "UID",
        user: User::default(),
    };
    prepare::create(kind, &mut object, &creation);
    let errors = create(kind, &object);
    if errors.is_empty() && kind.kind == "Service" {
        // The answers were recorded with dry runs.
        let pool = Pool::new([10, 96, 0, 0].into(), 16, 30000..=32767);
        let mut pool = pool.rehearsal();
        return service::allocate(&mut object, None, &mut pool).unwrap_err();
    }
    Status::invalid(kind.group_kind(), "", &errors)
}

#[test]
fn bad_objects_are_refused_in_the_words_of_the_real_server() {
    let kinds = Registry::default().snapshot();
    let mut lines = INVALID.lines();
    let texts: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    let mut count = 0;
    for line in lines {
        let case: Value = serde_json::from_str(line).unwrap();
        let kind = kind_of(&kinds, &case["object"]);
        let status = refusal(kind, &case["object"]);
        assert_eq!(
            causes(&status),
            recorded_causes(&case, &texts),
            "{}",
            case["object"]
        );
        count += 1;
    }
    assert_eq!(count, 420);
}

/// Takes new ports from what the real server gave.
struct Given(VecDeque<i64>);

impl Allocator for Given {
    fn next_address(&mut self) -> Result<String, String> {
        Err("not needed".to_owned())
    }

    fn take_address(&mut self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn next_port(&mut self) -> Result<i64, String> {
        self.0.pop_front().ok_or_else(String::new)
    }

    fn take_port(&mut self, _: i64) -> Result<(), String> {
        Ok(())
    }

    fn release_address(&mut self, _: &str) {}

    fn release_port(&mut self, _: i64) {}
}

/// An object with changes, each a path and its value or nothing.
fn changed(object: &Value, changes: &Value) -> Value {
    let mut object = object.clone();
    for change in changes.as_array().unwrap() {
        let path = change[0].as_str().unwrap();
        let (parent, key) = path.rsplit_once('/').unwrap();
        let key = key.replace("~1", "/").replace("~0", "~");
        let parent = object.pointer_mut(parent).unwrap();
        let parent = parent.as_object_mut().unwrap();
        match change.get(1) {
            Some(value) => parent.insert(key, value.clone()),
            None => parent.remove(&key),
        };
    }
    object
}

#[test]
fn updates_end_as_on_the_real_server() {
    let kinds = Registry::default().snapshot();
    for line in UPDATES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let old = &case["old"];
        let kind = kind_of(&kinds, old);
        let sent = changed(old, &case["new"]);
        let mut object = sent.clone();
        defaults::complete(kind, &mut object).unwrap();
        if kind.namespaced {
            object["metadata"]["namespace"] = old["metadata"]["namespace"].clone();
        }
        let errors = if case["sub"] == "status" {
            prepare::update_status(kind, &mut object, old, "now");
            update_status(kind, &object, old)
        } else {
            prepare::update(kind, &mut object, old);
            update(kind, &object, old)
        };
        defaults::forget_empty_lists(kind, &mut object, &Value::Null);
        if !case["causes"].is_null() {
            let status = Status::invalid(kind.group_kind(), "", &errors);
            assert_eq!(causes(&status), case["causes"], "{sent}");
            continue;
        }
        assert!(errors.is_empty(), "{errors:?} {sent}");
        let mut answer = changed(old, &case["answer"]);
        if kind.kind == "Service" && case["sub"].is_null() {
            let had = service::ports(old);
            let given = service::ports(&answer).into_iter();
            let given = given.filter(|port| !had.contains(port)).collect();
            service::allocate(&mut object, Some(old), &mut Given(given)).unwrap();
        }
        if object["status"]["lastPhaseTransitionTime"] == "now" {
            answer["status"]["lastPhaseTransitionTime"] = json!("now");
        }
        assert_eq!(object, answer, "{sent}");
    }
}

/// Field and message of each error, in order.
fn told(errors: &[Error]) -> Vec<String> {
    let mut told: Vec<_> = errors.iter().map(ToString::to_string).collect();
    told.sort();
    told
}

#[test]
fn the_newer_group_of_events_asks_for_a_time_and_a_type() {
    let kinds = Registry::default().snapshot();
    let event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": {"name": "a", "namespace": "n"},
        "regarding": {"kind": "Pod", "namespace": "n", "name": "p"},
    });
    let errors = create(kind_of(&kinds, &event), &event);
    let expected = [
        "eventTime: Required value",
        "type: Invalid value: \"\": has invalid value: ",
    ];
    assert_eq!(told(&errors), expected);
}

#[test]
fn a_job_is_not_complete_while_it_runs() {
    let kinds = Registry::default().snapshot();
    let old = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": "n"},
        "status": {"active": 1, "startTime": "2020-01-01T00:00:00Z"},
    });
    let mut new = old.clone();
    new["status"]["conditions"] = json!([{"type": "Complete", "status": "True"}]);
    let errors = update_status(kind_of(&kinds, &new), &new, &old);
    let expected = [
        "status.active: Invalid value: 1: active>0 is invalid for finished job",
        "status.completionTime: Required value: completionTime is required for Complete jobs",
        "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    ];
    assert_eq!(told(&errors), expected);
}

#[test]
fn a_wrong_volume_is_none_to_its_mounts_and_namesakes() {
    let kinds = Registry::default().snapshot();
    let mounts = json!([{"name": "nope", "mountPath": "/a"}, {"name": "v"}]);
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "n"},
        "spec": {
            "containers": [{"name": "c", "image": "i", "volumeMounts": mounts}],
            "volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}, {"name": "v", "secret": {}}],
        },
    });
    let kind = kind_of(&kinds, &pod);
    defaults::complete(kind, &mut pod).unwrap();
    let expected = [
        "spec.containers[0].volumeMounts[0].name: Not found: \"nope\"",
        "spec.containers[0].volumeMounts[1].mountPath: Required value",
        "spec.containers[0].volumeMounts[1].name: Not found: \"v\"",
        "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
        "spec.volumes[1].secret.secretName: Required value",
    ];
    assert_eq!(told(&create(kind, &pod)), expected);
}

#[test]
fn no_versions_and_an_empty_list_of_them_are_told_apart() {
    let kinds = Registry::default().snapshot();
    for (versions, shown) in [(json!([]), "[]"), (Value::Null, "null")] {
        let mut definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "spec": {"versions": versions},
        });
        let kind = kind_of(&kinds, &definition);
        defaults::complete(kind, &mut definition).unwrap();
        let expected = format!(
            "spec.versions: Invalid value: {shown}: must have exactly one version marked as storage version"
        );
        assert!(told(&create(kind, &definition)).contains(&expected));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn no_object_breaks_it(text in "\\PC{0,20}", number in any::<i64>()) {
        let kinds = Registry::default().snapshot();
        for kind in kinds.iter() {
            for value in [json!(text), json!(number), json!([number]), json!({text.clone(): text})] {
                let object = json!({
                    "metadata": value, "spec": value, "data": value, "status": value, "rules": [value],
                });
                let _ = create(kind, &object);
                let _ = update(kind, &object, &json!({"spec": {}, "immutable": true}));
            }
        }
    }
}

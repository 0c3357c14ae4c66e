//! Compares validation with the recorded responses of a real server.

use outrigger_apimachinery::status::Status;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::defaults;
use crate::kinds::Registry;
use crate::prepare::service::{self, Pool};
use crate::prepare::{self, Creation, User};
use crate::recorded::{RecordedAllocator, kind_of, values};

const INVALID: &str = include_str!("../../tests/data/invalid.jsonl");
const UPDATES: &str = include_str!("../../tests/data/updates.jsonl");

/// The distinct causes of a failure as field, reason and message.
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

/// The recorded causes, with long messages resolved, which the file has only once.
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

fn validation_status(kind: &Kind, sent: &Value) -> Status {
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
        // The responses were recorded with dry runs.
        let pool = Pool::new([10, 96, 0, 0].into(), 16, 30000..=32767);
        let mut pool = pool.dry_run();
        return service::allocate(&mut object, None, &mut pool).unwrap_err();
    }
    Status::invalid(kind.group_kind(), "", &errors)
}

#[test]
fn validation_errors_match_the_real_server() {
    let kinds = Registry::default().snapshot();
    let mut lines = INVALID.lines();
    let texts: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    let mut count = 0;
    for line in lines {
        let case: Value = serde_json::from_str(line).unwrap();
        let kind = kind_of(&kinds, &case["object"]);
        let status = validation_status(kind, &case["object"]);
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

/// Applies changes, each a path with a value, or without one to remove it.
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
fn updates_match_the_real_server() {
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
            let mut allocator = RecordedAllocator {
                address: String::new(),
                ports: given,
            };
            service::allocate(&mut object, Some(old), &mut allocator).unwrap();
        }
        if object["status"]["lastPhaseTransitionTime"] == "now" {
            answer["status"]["lastPhaseTransitionTime"] = json!("now");
        }
        assert_eq!(object, answer, "{sent}");
    }
}

/// The sorted messages.
fn messages(errors: &[Error]) -> Vec<String> {
    let mut messages: Vec<_> = errors.iter().map(ToString::to_string).collect();
    messages.sort();
    messages
}

#[test]
fn events_v1_requires_a_time_and_a_type() {
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
    assert_eq!(messages(&errors), expected);
}

#[test]
fn rejects_a_complete_job_with_active_pods() {
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
    assert_eq!(messages(&errors), expected);
}

#[test]
fn mounts_cannot_refer_to_an_invalid_volume() {
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
    assert_eq!(messages(&create(kind, &pod)), expected);
}

#[test]
fn distinguishes_absent_versions_from_an_empty_list() {
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
        assert!(messages(&create(kind, &definition)).contains(&expected));
    }
}

#[test]
fn rejects_a_definition_of_a_built_in_resource() {
    let kinds = Registry::default().snapshot();
    for (group, plural) in [
        ("apiextensions.k8s.io", "customresourcedefinitions"),
        ("coordination.k8s.io", "leases"),
        ("rbac.authorization.k8s.io", "clusterroles"),
    ] {
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "spec": {"group": group, "names": {"plural": plural}},
        });
        let kind = kind_of(&kinds, &definition);
        let expected = format!(
            "spec.names.plural: Invalid value: \"{plural}\": is a built-in resource of the group \"{group}\""
        );
        assert!(messages(&create(kind, &definition)).contains(&expected));
        // One that is stored already can be changed, for example to remove a finalizer.
        assert!(!messages(&update(kind, &definition, &definition)).contains(&expected));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn never_panics(text in "\\PC{0,20}", number in any::<i64>()) {
        let kinds = Registry::default().snapshot();
        for kind in kinds.iter() {
            for value in values(&text, number) {
                let object = json!({
                    "metadata": value, "spec": value, "data": value, "status": value, "rules": [value],
                });
                let _ = create(kind, &object);
                let _ = update(kind, &object, &json!({"spec": {}, "immutable": true}));
            }
        }
    }
}

//! Compares each constructor with the recorded response of a real server, byte for byte.

use super::authorization::Attributes;
use super::field::{Error, Path};
use super::*;

const RESPONSES: &str = include_str!("../../tests/data/status.jsonl");
const CONFIG_MAPS: GroupResource<'static> = GroupResource::new("", "configmaps");
const CONFIG_MAP: GroupKind<'static> = GroupKind::new("", "ConfigMap");
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

fn object_failures() -> Vec<(&'static str, Status)> {
    let metadata = Path::root("metadata");
    let name = metadata.child("name");
    let data = Path::root("data");
    let two = [
        Error::invalid(&name, "A_", SUBDOMAIN),
        Error::invalid(&data.key("a b"), "a b", CONFIG_KEY),
    ];
    let missing = [Error::required(&name, "name or generateName is required")];
    vec![
        ("not found", Status::not_found(CONFIG_MAPS, "nope")),
        (
            "not found in a group",
            Status::not_found(GroupResource::new("apps", "deployments"), "nope"),
        ),
        ("no such resource", Status::no_such_resource()),
        ("already exists", Status::already_exists(CONFIG_MAPS, "a")),
        (
            "namespace not found",
            Status::not_found(GroupResource::new("", "namespaces"), "nons"),
        ),
        (
            "bad request",
            Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ),
        ),
        ("no name", Status::invalid(CONFIG_MAP, "", &missing)),
        (
            "two fields invalid",
            Status::invalid(CONFIG_MAP, "A_", &two),
        ),
        ("modified", Status::modified(CONFIG_MAPS, "a")),
        (
            "uid differs",
            Status::uid_precondition_failed(CONFIG_MAP, "a", "x", "UID"),
        ),
        (
            "version differs",
            Status::resource_version_precondition_failed(CONFIG_MAP, "a", "x", "RV"),
        ),
        (
            "namespace terminating",
            Status::namespace_terminating(CONFIG_MAPS, "a", "term"),
        ),
        ("deleted", Status::deleted(CONFIG_MAPS, "a", "UID")),
        (
            "version required",
            Status::resource_version_required(
                GroupResource::new("coordination.k8s.io", "leases"),
                "vr",
            ),
        ),
        ("being deleted", Status::being_deleted(CONFIG_MAPS, "bd")),
    ]
}

fn request_failures() -> Vec<(&'static str, Status)> {
    let media_types = [
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
    ];
    let matching = Path::root("resourceVersionMatch");
    let list_options = [
        Error::forbidden(
            &matching,
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        Error::not_supported(&matching, "Foo", &["Exact", "NotOlderThan", ""]),
    ];
    vec![
        ("unknown body", Status::unsupported_media_type(&media_types)),
        ("method not allowed", Status::method_not_allowed()),
        ("not acceptable", Status::not_acceptable(&media_types)),
        ("unauthorized", Status::unauthorized()),
        (
            "forbidden by admission",
            Status::forbidden(
                GroupResource::new("", "namespaces"),
                "default",
                "this namespace may not be deleted",
            ),
        ),
        (
            "too large",
            Status::too_large_resource_version(999_999_999, 7),
        ),
        (
            "bad label selector",
            Status::bad_request(
                "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            ),
        ),
        (
            "bad list options",
            Status::invalid(
                GroupKind::new("meta.k8s.io", "ListOptions"),
                "",
                &list_options,
            ),
        ),
    ]
}

fn denials() -> Vec<(&'static str, Status)> {
    let base = Attributes {
        user: "alice",
        verb: "get",
        ..Attributes::default()
    };
    let denied = |attributes| Status::denied(&attributes, "");
    vec![
        (
            "forbidden at cluster scope",
            denied(Attributes {
                verb: "list",
                resource: "pods",
                ..base
            }),
        ),
        (
            "forbidden in a namespace",
            denied(Attributes {
                resource: "pods",
                namespace: "default",
                name: "x",
                ..base
            }),
        ),
        (
            "forbidden subresource",
            denied(Attributes {
                group: "apps",
                resource: "deployments",
                subresource: "scale",
                namespace: "default",
                name: "x",
                ..base
            }),
        ),
        (
            "forbidden path",
            denied(Attributes {
                path: "/metrics",
                ..base
            }),
        ),
        (
            "forbidden path with markup",
            denied(Attributes {
                path: "/a<b",
                ..base
            }),
        ),
    ]
}

#[test]
fn responses_match_the_recorded_ones_byte_for_byte() {
    let mut ours = object_failures();
    ours.extend(request_failures());
    ours.extend(denials());
    for line in RESPONSES.lines() {
        let recorded: serde_json::Value = serde_json::from_str(line).unwrap();
        let case = recorded["case"].as_str().unwrap();
        let (_, status) = ours.iter().find(|(name, _)| *name == case).expect(case);
        let bytes = serde_json::to_string(status).unwrap();
        assert!(
            line.ends_with(&format!("\"answer\":{bytes}}}")),
            "{case}\n ours {bytes}\n real {}",
            recorded["answer"]
        );
    }
    assert_eq!(RESPONSES.lines().count(), ours.len());
}

#[test]
fn a_repeated_error_is_one_message_but_two_causes() {
    let error = Error::required(&Path::root("a"), "");
    let status = Status::invalid(CONFIG_MAP, "x", &[error.clone(), error]);
    assert_eq!(
        status.message,
        "ConfigMap \"x\" is invalid: a: Required value"
    );
    assert_eq!(status.details.unwrap().causes.len(), 2);
}

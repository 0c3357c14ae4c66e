//! Tests of the conversion, with the manifests of TKEStack's documentation.

use super::*;
use crate::cluster::validate;
use crate::compat::strip_comments;

/// The first example of the documentation of hooks.
const FIRST: &str = r#"{
    "apiVersion": "platform.tkestack.io/v1",
    "kind": "Cluster",
    "spec": {
        "clusterCIDR": "10.244.0.0/16",
        "type": "Baremetal",
        "version": "1.14.10",
        "machines": [
            {
                "ip": "1.2.3.4",
                "port": 22,
                "username": "root",
                "password": "MTIzNDU2" // echo -n "123456" | base64
            }
        ],
        "features": {
            "files": [
                {
                    "src": "hooks/pre-install", // source file in tke-platform-controller
                    "dst": "/tmp/hooks/pre-install" // destinate file in node
                },
                                {
                    "src": "hooks/post-install",
                    "dst": "/tmp/hooks/post-install"
                }
            ],
            "hooks": {
                "PreInstall": "/tmp/hooks/pre-install", // reference to destinate file which defined in files
                "PostInstall": "/tmp/hooks/post-install"
            }
        }
    }
}"#;

/// The second one.
const SECOND: &str = r#"{
    "apiVersion": "platform.tkestack.io/v1",
    "kind": "Cluster",
    "metadata": {
       "labels": {
          "location": "xa"
       },
       "annotations": {
          "node.alpha.kubernetes.io/test": "hello"
       }
    },
    "spec": {
        "clusterCIDR": "10.244.0.0/16",
        "tenantID": "default",
        "type": "Baremetal",
        "version": "1.18.3",
        "machines": [
            {
                "ip": "10.0.0.9",
                "port": 22,
                "username": "root",
                "password": "TGV0bWVpbjEyMywuMQ=="
            }
        ],
        "features": {
            "files": [
                {
                    "src": "hooks/pre",
                    "dst": "/tmp/hooks/pre"
                },
                {
                    "src": "hooks/post",
                    "dst": "/tmp/hooks/post"
                }
            ],
            "hooks": {
                "PreInstall": "/tmp/hooks/pre/pre-install",
                "PostInstall": "/tmp/hooks/post/post-install",
                "PreClusterInstall": "/tmp/hooks/pre/cluster-pre-install",
                "PostClusterInstall": "/tmp/hooks/post/cluster-post-install"
            }
        }
    }
}"#;

fn object(text: &str) -> Value {
    outrigger_goyaml::parse_json(strip_comments(text).as_bytes()).unwrap()
}

fn error(pointer: &str, value: Value) -> String {
    let mut object = object(SECOND);
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[name] = value;
    convert(object).unwrap_err().to_string()
}

#[test]
fn the_first_example_is_accepted_with_its_comments() {
    let cluster = convert(object(FIRST)).unwrap();
    assert_eq!(validate(&cluster), []);
    assert_eq!(cluster.metadata.name, None);
    assert_eq!(cluster.metadata.generate_name.as_deref(), Some("cls-"));
    let machine = &cluster.spec.machines[0];
    assert_eq!(machine.address(), "1.2.3.4:22");
    assert_eq!(machine.password.as_ref().unwrap().expose(), b"123456");
    assert_eq!(
        cluster.spec.features.hooks["PostInstall"],
        "/tmp/hooks/post-install"
    );
}

#[test]
fn the_second_example_is_accepted() {
    let cluster = convert(object(SECOND)).unwrap();
    assert_eq!(validate(&cluster), []);
    assert_eq!(cluster.spec.features.hooks.len(), 4);
    assert_eq!(cluster.metadata.labels.unwrap()["location"], "xa");
    assert_eq!(
        cluster.metadata.annotations.unwrap()["node.alpha.kubernetes.io/test"],
        "hello"
    );
}

#[test]
fn passwords_are_not_printed() {
    let cluster = convert(object(SECOND)).unwrap();
    let printed = format!("{cluster:?}");
    assert!(!printed.contains("Letmein"), "{printed}");
    assert!(!printed.contains("TGV0bWVpbjEyMywuMQ"), "{printed}");
    let message = error("/spec/machines/0/password", json!("Letmein123,.1"));
    assert_eq!(message, "spec.machines[0].password: must be base64-encoded");
}

#[test]
fn errors_name_the_field() {
    let cases = [
        ("/spec/verison", json!("1"), "spec.verison: unknown field"),
        ("/spec/type", json!("Edge"), "spec.type: \"Edge\" is not"),
        ("/spec/type", Value::Null, "spec.type: is missing"),
        ("/spec/etcd", json!({"external": {}}), "spec.etcd: is not"),
        (
            "/spec/machines/0/port",
            json!(70000),
            "spec.machines[0].port: must be between",
        ),
        (
            "/spec/machines/0/ip",
            Value::Null,
            "spec.machines[0].ip: is missing",
        ),
        (
            "/spec/features/hook",
            json!({}),
            "spec.features.hook: unknown field",
        ),
        (
            "/spec/features/containerRuntime",
            json!("docker"),
            "spec.features.containerRuntime: \"docker\"",
        ),
        (
            "/spec/features/hooks",
            json!({"PreInstall": 1}),
            "spec.features.hooks.PreInstall: must be a string",
        ),
    ];
    for (pointer, value, expected) in cases {
        let message = error(pointer, value);
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn the_definition_matches_the_kind() {
    let (definition, resource) = (definition(), resource());
    assert_eq!(definition.spec.group, resource.group);
    assert_eq!(definition.spec.names.plural, resource.plural);
    let annotations = definition.metadata.annotations.unwrap();
    assert_eq!(
        annotations[crate::annotation::GENERATED_NAME_PREFIX],
        NAME_PREFIX
    );
}

#[test]
fn a_change_of_the_mirror_reaches_the_object() {
    let object = object(SECOND);
    let changed = change(&object, |cluster| {
        cluster.spec.version = "1.19.0".to_owned();
        let annotations = cluster.metadata.annotations.get_or_insert_default();
        annotations.insert("a".to_owned(), "b".to_owned());
    });
    let changed = changed.unwrap();
    assert_eq!(changed["spec"]["version"], "1.19.0");
    assert_eq!(changed["metadata"]["annotations"]["a"], "b");
    assert_eq!(changed["spec"]["machines"], object["spec"]["machines"]);
    let refused = change(&object, |cluster| cluster.spec.machines.clear());
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("does not support this change")
    );
}

/// Merging an expansion package writes `force`, which TKEStack does not have.
#[test]
fn a_merged_file_may_replace_a_system_path() {
    let forced = FIRST.replace(
        "\"dst\": \"/tmp/hooks/post-install\"",
        "\"dst\": \"/etc/hosts\", \"force\": true",
    );
    let forced = forced.replace("\"PostInstall\": \"/tmp/hooks/post-install\"", "");
    let forced = forced.replace("// reference to destinate file which defined in files", "");
    let forced = forced.replace(
        "\"/tmp/hooks/pre-install\", \n",
        "\"/tmp/hooks/pre-install\"\n",
    );
    let object = outrigger_goyaml::parse_json(strip_comments(&forced).as_bytes()).unwrap();
    let cluster = convert(object).unwrap();
    assert!(cluster.spec.features.files[1].force);
    assert_eq!(validate(&cluster), []);
}

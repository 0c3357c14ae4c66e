//! The document in both formats.

use outrigger_builtin::kinds::Registry;
use outrigger_structural::schema::builtin;

use super::*;

fn document_with(schema: &Value) -> Value {
    let registry = Registry::default();
    let names =
        json!({"plural": "tests", "kind": "Test", "listKind": "TestList", "singular": "test"});
    registry.install(&json!({
        "metadata": {"name": "tests.example.com", "uid": "1"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": names,
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}}],
        },
        "status": {"acceptedNames": names, "conditions": [{"type": "Established", "status": "True"}]},
    }));
    document(&registry.snapshot(), &|version: &str, kind: &str| {
        builtin::definitions(version, kind)
    })
}

#[test]
fn built_in_kinds_refer_to_definitions() {
    let document = document_with(&json!({"type": "object"}));
    let definitions = &document["definitions"];
    let pod = &definitions["io.k8s.api.core.v1.Pod"];
    assert_eq!(
        pod["properties"]["spec"]["$ref"],
        "#/definitions/io.k8s.api.core.v1.PodSpec"
    );
    assert_eq!(
        pod["x-kubernetes-group-version-kind"],
        json!([{"group": "", "kind": "Pod", "version": "v1"}])
    );
    assert_eq!(
        definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]["type"],
        "string"
    );
    let create = &document["paths"]["/api/v1/namespaces/{namespace}/pods"]["post"];
    let body = create["parameters"].as_array().and_then(|all| all.last());
    assert_eq!(
        body.map(|body| &body["schema"]["$ref"]),
        Some(&json!("#/definitions/io.k8s.api.core.v1.Pod"))
    );
    assert!(!document.to_string().contains("#/components/schemas/"));
}

#[test]
fn custom_resources_lose_what_kubectl_cannot_validate() {
    let document = document_with(
        &json!({"type": "object", "required": ["a"], "properties": {"spec": {
            "type": "object", "required": ["n"], "properties": {
                "n": {"type": "string", "nullable": true},
                "p": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    "properties": {"q": {"type": "string"}}},
                "o": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            },
        }}}),
    );
    assert_eq!(
        document["definitions"]["com.example.v1.Test"]["properties"]["spec"],
        json!({"type": "object", "properties": {
            "n": {}, "p": {"x-kubernetes-preserve-unknown-fields": true},
            "o": {"x-kubernetes-int-or-string": true},
        }})
    );
    let open =
        document_with(&json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}));
    assert_eq!(
        open["definitions"]["com.example.v1.Test"],
        json!({"type": "object", "x-kubernetes-group-version-kind": [
            {"group": "example.com", "kind": "Test", "version": "v1"},
        ]})
    );
}

#[test]
fn protobuf_has_the_fields_of_gnostic() {
    let document = json!({
        "swagger": "2.0", "info": {"title": "t", "version": "v"}, "paths": {},
        "definitions": {"A": {"type": "string", "x-a": 1}},
    });
    let schema: &[u8] = b"\xb2\x01\x08\x0a\x06string\xfa\x01\x0b\x0a\x03x-a\x12\x04\x12\x021\n";
    let mut expected = b"\x0a\x032.0\x12\x06\x0a\x01t\x12\x01v\x42\x00".to_vec();
    let entry_length = u8::try_from(3 + 2 + schema.len()).unwrap();
    expected.extend([0x4a, entry_length + 2, 0x0a, entry_length]);
    expected.extend(b"\x0a\x01A\x12");
    expected.push(u8::try_from(schema.len()).unwrap());
    expected.extend(schema);
    expected.extend(b"\x6a\x00");
    assert_eq!(encode(&document), expected);
}

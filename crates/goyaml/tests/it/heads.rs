//! `SimpleHead` of manifests, and the errors for wrong types.

use outrigger_goyaml::{Head, head};

#[test]
fn decodes_heads_like_go() {
    for (input, expected) in CASES {
        let found = match head(input.as_bytes(), "util.SimpleHead") {
            Ok(head) => show(head),
            Err(error) => error.full_text(),
        };
        assert_eq!(found, *expected, "{input:?}");
    }
}

/// `json.Marshal` of the struct.
fn show(head: Head) -> String {
    let mut fields = vec![format!("\"apiVersion\":{:?}", head.api_version)];
    if !head.kind.is_empty() {
        fields.push(format!("\"kind\":{:?}", head.kind));
    }
    if head.has_metadata {
        let annotations = head.annotations.map(|mut annotations| {
            annotations.sort();
            let entries = annotations.iter();
            let entries = entries.map(|(key, value)| format!("{key:?}:{value:?}"));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        });
        let annotations = annotations.unwrap_or_else(|| "null".into());
        fields.push(format!(
            "\"metadata\":{{\"name\":{:?},\"annotations\":{annotations}}}",
            head.name
        ));
    }
    format!("{{{}}}", fields.join(","))
}

const CASES: &[(&str, &str)] = &[
    (
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations:\n    b: c\n    d: 1\n",
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"annotations\":{\"b\":\"c\",\"d\":\"1\"}}}",
    ),
    (
        "kind: 1\napiVersion: 1.10\nmetadata: {name: true}\n",
        "{\"apiVersion\":\"1.1\",\"kind\":\"1\",\"metadata\":{\"name\":\"true\",\"annotations\":null}}",
    ),
    (
        "metadata:\n  annotations: {a: 1, b: 1.5, c: true, d: ~, e: 2001-01-01, f: .inf, g: 1e300, h: 18446744073709551615}\n",
        "{\"apiVersion\":\"\",\"metadata\":{\"name\":\"\",\"annotations\":{\"a\":\"1\",\"b\":\"1.5\",\"c\":\"true\",\"d\":\"\",\"e\":\"2001-01-01\",\"f\":\"+Inf\",\"g\":\"+Inf\",\"h\":\"18446744073709551615\"}}}",
    ),
    ("metadata:\n", "{\"apiVersion\":\"\"}"),
    (
        "metadata: {}\n",
        "{\"apiVersion\":\"\",\"metadata\":{\"name\":\"\",\"annotations\":null}}",
    ),
    (
        "metadata: {annotations: }\n",
        "{\"apiVersion\":\"\",\"metadata\":{\"name\":\"\",\"annotations\":null}}",
    ),
    (
        "metadata: {annotations: {}}\n",
        "{\"apiVersion\":\"\",\"metadata\":{\"name\":\"\",\"annotations\":{}}}",
    ),
    (
        "kind: A\nKind: B\nKIND: C\n",
        "{\"apiVersion\":\"\",\"kind\":\"A\"}",
    ),
    (
        "Metadata: {name: a}\nmetadata: {Annotations: {b: c}, annotations: {b: d, e: f}}\n",
        "{\"apiVersion\":\"\",\"metadata\":{\"name\":\"a\",\"annotations\":{\"b\":\"d\",\"e\":\"f\"}}}",
    ),
    (
        "\u{212a}ind: A\napiVer\u{17f}ion: v1\n",
        "{\"apiVersion\":\"v1\",\"kind\":\"A\"}",
    ),
    (
        "kind: A\nkind: B\nmetadata: {name: a}\nmetadata: {annotations: {b: c}}\n",
        "{\"apiVersion\":\"\",\"kind\":\"B\",\"metadata\":{\"name\":\"\",\"annotations\":{\"b\":\"c\"}}}",
    ),
    ("", "{\"apiVersion\":\"\"}"),
    ("# a\n", "{\"apiVersion\":\"\"}"),
    ("~", "{\"apiVersion\":\"\"}"),
    (
        "kind: [a]\n",
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go struct field SimpleHead.kind of type string",
    ),
    (
        "kind: {a: b}\napiVersion: [c]\n",
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go struct field SimpleHead.apiVersion of type string",
    ),
    (
        "metadata: a\n",
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go struct field SimpleHead.metadata of type struct { Name string \"json:\\\"name\\\"\"; Annotations map[string]string \"json:\\\"annotations\\\"\" }",
    ),
    (
        "metadata: 1\n",
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal number into Go struct field SimpleHead.metadata of type struct { Name string \"json:\\\"name\\\"\"; Annotations map[string]string \"json:\\\"annotations\\\"\" }",
    ),
    (
        "metadata: [a]\n",
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go struct field SimpleHead.metadata of type struct { Name string \"json:\\\"name\\\"\"; Annotations map[string]string \"json:\\\"annotations\\\"\" }",
    ),
    (
        "metadata: true\n",
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal bool into Go struct field SimpleHead.metadata of type struct { Name string \"json:\\\"name\\\"\"; Annotations map[string]string \"json:\\\"annotations\\\"\" }",
    ),
    (
        "metadata: {name: [a]}\n",
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go struct field .metadata.name of type string",
    ),
    (
        "metadata: {annotations: a}\n",
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go struct field .metadata.annotations of type map[string]string",
    ),
    (
        "metadata: {annotations: [a]}\n",
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go struct field .metadata.annotations of type map[string]string",
    ),
    (
        "metadata: {annotations: {a: [b]}}\n",
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go struct field .metadata.annotations of type string",
    ),
    (
        "metadata: {annotations: {a: {b: c}}}\n",
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal object into Go struct field .metadata.annotations of type string",
    ),
    (
        "a\n",
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go value of type util.SimpleHead",
    ),
    (
        "1\n",
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal number into Go value of type util.SimpleHead",
    ),
    (
        "[a]\n",
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type util.SimpleHead",
    ),
    (
        "true\n",
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal bool into Go value of type util.SimpleHead",
    ),
    (
        "spec: .nan\n",
        "error converting YAML to JSON: json: unsupported value: NaN",
    ),
    ("kind: .nan\n", "{\"apiVersion\":\"\",\"kind\":\"NaN\"}"),
    (
        "a: b: c\n",
        "error converting YAML to JSON: yaml: mapping values are not allowed in this context",
    ),
    (
        "kind: &a Pod\nmetadata: {name: *a}\n",
        "{\"apiVersion\":\"\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"Pod\",\"annotations\":null}}",
    ),
    (
        "metadata:\n  name: |\n    a\n  annotations:\n    b: >-\n      c\n      d\nspec: |\n  e\n",
        "{\"apiVersion\":\"\",\"metadata\":{\"name\":\"a\\n\",\"annotations\":{\"b\":\"c d\"}}}",
    ),
    (
        "metadata: &m {name: a}\nMetadata: ~\n",
        "{\"apiVersion\":\"\",\"metadata\":{\"name\":\"a\",\"annotations\":null}}",
    ),
];

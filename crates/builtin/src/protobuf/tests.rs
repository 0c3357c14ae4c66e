//! Bodies that Kubernetes' own codec wrote and what it takes them for (`cargo xtask gen kubernetes` makes them),
//! and bodies that nobody should send.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use outrigger_apimachinery::quantity;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// The two columns of a generated file.
fn rows(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once('\t').expect("a row has two columns"))
}

fn bodies() -> impl Iterator<Item = (Vec<u8>, Value)> {
    rows(include_str!("tests/pairs.txt")).map(|(body, object)| {
        let body = STANDARD.decode(body).unwrap();
        (body, serde_json::from_str(object).unwrap())
    })
}

#[test]
fn every_kind_reads_as_the_real_codec_reads_it() {
    let mut count = 0;
    for (body, object) in bodies() {
        assert_eq!(decode(&body).unwrap(), object);
        count += 1;
    }
    assert!(count > 300);
}

#[test]
fn quantities_are_shown_as_the_real_server_shows_them() {
    for (text, shown) in rows(include_str!("tests/quantities.txt")) {
        assert_eq!(
            quantity::canonical(text).as_deref().unwrap_or("!"),
            shown,
            "{text:?}"
        );
    }
}

/// A field with a span.
fn field(number: u8, span: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2], &varint(span.len())[..], span].concat()
}

fn varint(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
    bytes
}

fn envelope(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
    let type_meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [PREFIX, &field(1, &type_meta), &field(2, message)].concat()
}

fn config_map(message: &[u8]) -> Result<Value, Error> {
    decode(&envelope("v1", "ConfigMap", message))
}

#[track_caller]
fn check_fault(message: &[u8], text: &str) {
    assert_eq!(config_map(message).unwrap_err().to_string(), text);
}

#[test]
fn a_type_that_the_envelope_lacks_is_taken_from_the_caller() {
    let body = [PREFIX, &field(2, &[])].concat();
    assert_eq!(decode(&body), Err(Error::NoKind));
    assert_eq!(decode_as(&body, "", "ConfigMap"), Err(Error::NoApiVersion));
    let object = decode_as(&body, "v1", "ConfigMap").unwrap();
    assert_eq!(
        object,
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}})
    );
    let object = decode_as(&envelope("v1", "Secret", &[]), "v1", "ConfigMap").unwrap();
    assert_eq!(object["kind"], "Secret");
}

#[test]
fn bodies_that_are_not_for_us_are_refused() {
    assert_eq!(decode(b""), Err(Error::NoMessage));
    assert_eq!(decode(b"k8s\0"), Err(Error::NoMessage));
    assert_eq!(decode(br#"{"kind":"Pod"}"#), Err(Error::NoMessage));
    let unknown = decode(&envelope("example.test/v1", "Widget", &[])).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        r#"no kind "Widget" is known in version "example.test/v1", so its protobuf cannot be read"#
    );
    let encoded = [envelope("v1", "Pod", &[]), field(3, b"gzip")].concat();
    assert_eq!(
        decode(&encoded),
        Err(Error::Encoded {
            encoding: "gzip".to_owned()
        })
    );
}

#[test]
fn the_media_type_may_have_parameters_and_any_case() {
    assert!(is_protobuf("application/vnd.kubernetes.protobuf"));
    assert!(is_protobuf(
        "Application/Vnd.Kubernetes.Protobuf ; charset=utf-8"
    ));
    assert!(!is_protobuf("application/json"));
    assert!(!is_protobuf("application/vnd.kubernetes.protobufs"));
}

#[test]
fn malformed_messages_tell_where_and_why() {
    let annotation = |entry: &[u8]| field(1, &field(12, entry));
    check_fault(
        &[0x0a, 0x05],
        "the protobuf body is malformed at metadata: it ends too early",
    );
    check_fault(
        &[0x08, 0x01],
        "the protobuf body is malformed at metadata: it has wire type 0, not 2",
    );
    check_fault(
        &[0x00, 0x01],
        "the protobuf body is malformed: 0 is no field number",
    );
    check_fault(&[0x0f], "the protobuf body is malformed: 7 is no wire type");
    check_fault(
        &[0x0c],
        "the protobuf body is malformed: a group ends that never began",
    );
    check_fault(
        &[0xff; 12],
        "the protobuf body is malformed: a number has more than 64 bits",
    );
    check_fault(
        &annotation(&[field(1, b"a"), vec![0x10, 0x01]].concat()),
        r#"the protobuf body is malformed at metadata.annotations["a"]: it has wire type 0, not 2"#,
    );
    check_fault(
        &field(1, &field(13, &[0x08])),
        "the protobuf body is malformed at metadata.ownerReferences[0].kind: it has wire type 0, not 2",
    );
}

#[test]
fn fields_merge_as_the_go_decoder_merges_them() {
    let data = |key: &[u8], value: &[u8]| field(2, &[field(1, key), field(2, value)].concat());
    let time = |seconds: &[u8]| field(1, &field(8, seconds));
    let message = [
        field(1, &[field(1, b"old"), field(3, b"ns")].concat()),
        data(b"k", b"one"),
        field(1, &field(1, b"new")),
        data(b"k", b"two"),
        time(&[0x08, 0x05, 0x10, 0x07]),
        vec![0xf8, 0x3f, 0x01],
        time(&[0x10, 0x07]),
    ]
    .concat();
    assert_eq!(
        config_map(&message).unwrap(),
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "two"},
            "metadata": {"name": "new", "namespace": "ns", "creationTimestamp": "1970-01-01T00:00:00Z"},
        })
    );
}

#[test]
fn packed_numbers_are_a_list() {
    let security = field(14, &field(4, &[1, 2, 3]));
    let object = decode(&envelope("v1", "Pod", &field(2, &security))).unwrap();
    assert_eq!(
        object["spec"]["securityContext"]["supplementalGroups"],
        json!([1, 2, 3])
    );
}

fn nested_schema(levels: usize) -> Vec<u8> {
    let mut schema = Vec::new();
    for _ in 0..levels {
        // Field 28 of a schema is `not`, another schema.
        schema = [&[0xe2, 0x01], &varint(schema.len())[..], &schema].concat();
    }
    schema
}

#[test]
fn nesting_without_end_is_refused() {
    let crd = |schema: &[u8]| {
        let spec = field(7, &field(4, &field(1, schema)));
        decode(&envelope(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            &field(2, &spec),
        ))
    };
    assert!(crd(&nested_schema(100)).is_ok());
    let error = crd(&nested_schema(10_000)).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Malformed {
                fault: Fault::TooDeep,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_small_body_cannot_become_a_huge_object() {
    // Each pair of bytes is one more container without anything set.
    let containers = [0x12, 0x00].repeat(1_000_000);
    let error = decode(&envelope("v1", "Pod", &field(2, &containers))).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Malformed {
                fault: Fault::TooLarge,
                ..
            }
        ),
        "{error}"
    );
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(body in prop::collection::vec(any::<u8>(), 0..200), kind in 0usize..5) {
        let kinds = [
            ("v1", "Pod"), ("v1", "Secret"), ("apps/v1", "Deployment"), ("v1", "DeleteOptions"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ];
        let (api_version, kind) = kinds[kind];
        let _ = decode(&body);
        let _ = decode(&[PREFIX, &body].concat());
        let _ = decode(&envelope(api_version, kind, &body));
    }

    #[test]
    fn damaged_bodies_never_panic(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte: u8) {
        let bodies: Vec<_> = rows(include_str!("tests/pairs.txt")).collect();
        let mut body = STANDARD.decode(which.get(&bodies).0).unwrap();
        let at = at.index(body.len());
        let _ = decode(&body[..at]);
        body[at] = byte;
        let _ = decode(&body);
    }

    #[test]
    fn what_is_shown_of_a_quantity_is_shown_the_same_again(text in "[-+]?[0-9.]{0,30}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,12}") {
        if let Some(shown) = quantity::canonical(&text) {
            // A binary amount may become a decimal one, on the real server too.
            let becomes_decimal = text.ends_with('i') && !shown.ends_with('i');
            let again = quantity::canonical(&shown);
            prop_assert!(again.is_some());
            if !becomes_decimal {
                prop_assert_eq!(again, Some(shown));
            }
        }
    }
}

//! Lists that are rendered item by item have the text of the whole.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const FORMATS: [(Format, bool); 4] = [
    (Format::Json, false),
    (Format::Json, true),
    (Format::Yaml, false),
    (Format::Protobuf, false),
];

fn list(kind: &'static str, key: &'static str, items: Vec<Value>) -> ItemList<Value> {
    ItemList {
        fields: vec![
            ("kind", kind.into()),
            ("apiVersion", "meta.k8s.io/v1".into()),
            ("metadata", json!({"resourceVersion": "7"})),
        ],
        key,
        sources: items,
        item: Box::new(|item| Ok(item.clone())),
    }
}

fn chunks(list: ItemList<Value>, format: Format, pretty: bool) -> Result<Vec<Bytes>, Status> {
    let accept = Accept {
        format,
        pretty,
        ..Accept::any()
    };
    RenderedList::new(list, accept)?.collect()
}

/// The list as one value.
fn whole(list: &ItemList<Value>) -> Value {
    let fields = list.fields.iter();
    let mut whole: Map<_, _> = fields
        .map(|(key, value)| ((*key).to_owned(), value.clone()))
        .collect();
    whole.insert(list.key.to_owned(), list.sources.clone().into());
    whole.into()
}

#[track_caller]
fn check(key: &'static str, items: &[Value]) {
    for (format, pretty) in FORMATS {
        let list = list("Table", key, items.to_vec());
        let whole = whole(&list);
        let chunks = chunks(list, format, pretty);
        match format {
            Format::Yaml => {
                let text = chunks.ok().map(|chunks| chunks.concat());
                let expected = outrigger_goyaml::try_write_json(&whole).ok();
                let [text, expected] =
                    [text, expected].map(|text| text.map(|text| String::from_utf8(text).unwrap()));
                assert_eq!(text, expected);
            }
            // The fields have the order of kube-apiserver.
            Format::Json | Format::Protobuf => {
                let text = String::from_utf8(chunks.unwrap().concat()).unwrap();
                assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), whole);
                let lines = |text: &str| {
                    let lines = text
                        .lines()
                        .map(|line| line.trim_end_matches(',').to_owned());
                    let mut lines: Vec<_> = lines.collect();
                    lines.sort();
                    lines
                };
                let expected = serde_json::to_string_pretty(&whole).unwrap();
                assert!(!pretty || lines(&text) == lines(&expected), "{text}");
            }
        }
    }
}

#[test]
fn an_empty_list_and_multiline_texts_are_rendered_as_a_whole_would_be() {
    let long = "word ".repeat(40);
    let texts = [
        "a", "a\n", "a\n\n", "\n", " a\nb", "- x", "", "ü\u{85}", &long,
    ];
    let items: Vec<_> = texts.map(|text| json!({"a": text, "z": [text]})).into();
    for key in ["items", "rows"] {
        check(key, &[]);
        check(key, &items);
        check(
            key,
            &[
                json!({}),
                json!([]),
                json!([[1], []]),
                json!("x\n"),
                json!(null),
            ],
        );
    }
}

#[test]
fn a_protobuf_list_is_encoded_as_a_whole_would_be() {
    let item = |name: &str| {
        json!({
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
            "metadata": {"name": name, "labels": {"a": "b"}},
        })
    };
    for count in [0, 1, 3] {
        let items = (0..count).map(|number| item(&format!("o{number}")));
        let list = list("PartialObjectMetadataList", "items", items.collect());
        let expected = outrigger_protobuf::encode(&whole(&list)).unwrap();
        let chunks = chunks(list, Format::Protobuf, false).unwrap();
        assert_eq!(chunks.concat(), expected);
    }
}

#[test]
fn a_chunk_has_no_more_than_one_large_item() {
    let items = vec![json!({"text": "x".repeat(2 * CHUNK)}); 5];
    for (format, pretty) in FORMATS {
        let chunks = chunks(list("Table", "items", items.clone()), format, pretty).unwrap();
        assert!(chunks.len() >= 5);
        assert!(chunks.iter().all(|chunk| chunk.len() < 3 * CHUNK));
    }
}

#[test]
fn an_item_that_yaml_cannot_represent_fails_the_list() {
    let items = vec![json!("x"), json!({"text": "\u{7f}"})];
    assert!(chunks(list("Table", "items", items.clone()), Format::Yaml, false).is_err());
    check("items", &items);
}

#[test]
fn an_item_that_fails_ends_the_list() {
    let mut list = list("Table", "items", vec![json!(1), json!(2)]);
    list.item = Box::new(|_| Err(Status::internal("no")));
    let results: Vec<_> = RenderedList::new(list, Accept::any()).unwrap().collect();
    assert!(matches!(results.as_slice(), [Err(_)]));
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~\n\t]{0,12}".prop_map(Value::from),
        ".{0,100}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z:\n ]{0,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_list_is_rendered_as_a_whole_would_be(items in prop::collection::vec(json_value(), 0..4)) {
        check("items", &items);
    }
}

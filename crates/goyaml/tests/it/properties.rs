//! Properties that hold for every input.

use std::cmp::Ordering;

use outrigger_goyaml::{Error, Style, check, documents, head, natural_order, sort_natural};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::tree::{Tree, json, parse_tree};

/// Fragments of YAML that are combined at random.
const PIECES: &[&str] = &[
    "a",
    "b: ",
    "c:",
    ":",
    "- ",
    "-",
    "? ",
    "\n",
    "\n  ",
    "\n    ",
    "\n ",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "\"",
    "'",
    "|",
    ">-\n  x\n",
    "|2\n",
    "#",
    " # c\n",
    "&a ",
    "*a",
    "!!str ",
    "!!int ",
    "!!binary ",
    "!x ",
    "<<: ",
    "*a\n",
    "---\n",
    "\n...\n",
    "%YAML 1.1\n",
    "%TAG ! x\n",
    "\t",
    "\r\n",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "é",
    "1",
    "0x1f",
    ".inf",
    "~",
    "yes",
    "2001-01-01",
    "18446744073709551615",
    "\\n",
    "\\",
    "''",
    "\u{7}",
    "key: value\n",
    "kind: ",
    "metadata:\n",
    "annotations: ",
    "k: {a: b}\n",
];

fn soup() -> impl Strategy<Value = String> {
    vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat())
}

/// Strings that the conversion to JSON preserves, unlike NEL and some control characters.
fn text() -> impl Strategy<Value = String> {
    let characters = prop_oneof![
        8 => "[a-z]{1,8}",
        2 => "[0-9]{1,3}",
        3 => Just(" ".to_owned()),
        2 => "[:#?,'\"\\[\\]{}&*!|>%@`~=._-]",
        1 => prop::sample::select(&["\n", "\n\n", "\t", "\r", "\0", "\u{1b}", "\u{feff}"][..])
            .prop_map(str::to_owned),
        1 => "[é日😀\u{a0}]",
        1 => prop::sample::select(&["yes", "null", "1e3", "0x1f", "2001-01-01", "1:30", "<<"][..])
            .prop_map(str::to_owned),
    ];
    vec(characters, 0..30).prop_map(|parts| parts.concat())
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        Just(Tree::Null),
        any::<bool>().prop_map(Tree::Bool),
        any::<f64>()
            .prop_filter("JSON has no others", |value| value.is_finite())
            .prop_map(|value| Tree::Number(value + 0.0)), // A negative zero loses its sign.
        any::<i32>().prop_map(|value| Tree::Number(value.into())),
        text().prop_map(Tree::Text),
        text().prop_map(Tree::Text),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Tree::List),
            prop::collection::btree_map(text(), inner, 0..6)
                .prop_map(|entries| Tree::Map(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 256,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_written_is_read_back(tree in tree(), style in prop::sample::select(&[Style::Normal, Style::Pretty][..])) {
        // go-yaml writes a merge key without quotes, and v2 cannot read all tabs that v3 writes.
        let json = tree.to_json();
        prop_assume!(!json.contains("\"<<\":") && (style == Style::Normal || !json.contains("\\t")));
        // Helm cuts the last line break off.
        let text = tree.write(style, 0).unwrap() + "\n";
        let read = parse_tree(text.as_bytes()).map(|tree| tree.to_json());
        prop_assert_eq!(read, Ok(json), "{}", text);
    }

    #[test]
    fn bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        // Also compares check with parse.
        let _ = json(&bytes);
        let _ = head(&bytes, "util.SimpleHead");
        let _ = documents(&bytes).count();
    }

    #[test]
    fn pieces_of_yaml_never_panic(text in soup()) {
        let parsed = json(text.as_bytes());
        let found = head(text.as_bytes(), "util.SimpleHead");
        if parsed.is_err() && found.is_ok() {
            // A head has room for numbers that JSON has not.
            prop_assert!(matches!(check(text.as_bytes()), Err(Error::UnsupportedNumber(_))), "{}", text);
        }
    }

    #[test]
    fn damaged_documents_never_panic(tree in tree(), at in any::<prop::sample::Index>(), piece in prop::sample::select(PIECES)) {
        let mut text = tree.write(Style::Normal, 0).unwrap();
        let mut place = at.index(text.len() + 1);
        while !text.is_char_boundary(place) {
            place -= 1;
        }
        text.insert_str(place, piece);
        let _ = json(text.as_bytes());
    }

    #[test]
    fn line_ends_do_not_matter(tree in tree()) {
        let text = tree.write(Style::Normal, 0).unwrap();
        let returns = text.replace('\n', "\r\n");
        prop_assert_eq!(json(text.as_bytes()), json(returns.as_bytes()));
    }

    #[test]
    fn sorting_loses_nothing(mut keys in vec("[a-c0-3._-]{0,4}", 0..40)) {
        let mut sorted = keys.clone();
        sort_natural(&mut sorted, natural_order, |key| key);
        sorted.sort();
        keys.sort();
        prop_assert_eq!(sorted, keys);
    }

    #[test]
    fn the_order_of_two_keys_is_clear(a in "[a-cé0-3._-]{0,5}", b in "[a-cé0-3._-]{0,5}") {
        prop_assert_eq!(natural_order(&a, &b), natural_order(&b, &a).reverse());
        prop_assert_eq!(natural_order(&a, &b) == Ordering::Equal, a == b);
    }
}

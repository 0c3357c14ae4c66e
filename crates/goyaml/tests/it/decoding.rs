//! Decoding documents. All expected texts are recorded from Helm.

use crate::tree::{Case, check};

#[test]
fn resolves_plain_scalars_by_yaml_1_1() {
    check(PLAIN_SCALARS_GET_THE_TYPES_OF_YAML_1_1);
}

#[test]
fn converts_keys_to_strings() {
    check(KEYS_BECOME_TEXT);
}

#[test]
fn flow_and_block_collections_nest() {
    check(FLOW_AND_BLOCK_COLLECTIONS_NEST);
}

#[test]
fn folds_multi_line_scalars() {
    check(SCALARS_OF_MANY_LINES_ARE_FOLDED);
}

#[test]
fn decodes_irregular_characters_like_go_yaml() {
    check(ODD_CHARACTERS_TAKE_THE_EXACT_WAY);
}

#[test]
fn applies_anchors_aliases_and_merge_keys() {
    check(ANCHORS_ALIASES_AND_MERGE_KEYS_ARE_APPLIED);
}

#[test]
fn tags_determine_the_type() {
    check(TAGS_CHOOSE_THE_TYPE);
}

#[test]
fn decodes_only_the_first_document() {
    check(ONLY_THE_FIRST_DOCUMENT_COUNTS);
}

const PLAIN_SCALARS_GET_THE_TYPES_OF_YAML_1_1: &[Case] = &[
    ("a: [y, Y, yes, Yes, YES, on, On, ON, true, True, TRUE]".as_bytes(), Ok("{\"a\":[true,true,true,true,true,true,true,true,true,true,true]}")),
    ("a: [n, N, no, No, NO, off, Off, OFF, false, False, FALSE]".as_bytes(), Ok("{\"a\":[false,false,false,false,false,false,false,false,false,false,false]}")),
    ("a: [yEs, tRue, oN, nuLL, Nan]".as_bytes(), Ok("{\"a\":[\"yEs\",\"tRue\",\"oN\",\"nuLL\",\"Nan\"]}")),
    ("a: [~, null, Null, NULL, ]".as_bytes(), Ok("{\"a\":[null,null,null,null]}")),
    ("a:\nb: ~\n".as_bytes(), Ok("{\"a\":null,\"b\":null}")),
    ("a: [0, 1, -1, +1, 12_3, 0644, 0o17, 0x1F, 0b11, -0b11, 0b-11, 08, 0_8, 1__0]".as_bytes(), Ok("{\"a\":[0,1,-1,1,123,420,15,31,3,-3,-3,8,8,10]}")),
    ("a: [1.5, 1., .5, -.5, +.5, 1e3, 1E-3, 1.5e+3, .5_0, ._5, .5_, 1_0.5_0]".as_bytes(), Ok("{\"a\":[1.5,1,0.5,-0.5,0.5,1000,0.001,1500,0.5,\"._5\",\".5_\",10.5]}")),
    ("a: [1e400, 1e, e1, ., \"-\", +, .., 1.2.3, 0x, 0xg, 1:30, 0x1p-2]".as_bytes(), Ok("{\"a\":[\"1e400\",\"1e\",\"e1\",\".\",\"-\",\"+\",\"..\",\"1.2.3\",\"0x\",\"0xg\",\"1:30\",\"0x1p-2\"]}")),
    ("a: [9223372036854775807, 9223372036854775808, 18446744073709551615, 18446744073709551616, -9223372036854775808, -9223372036854775809, +18446744073709551615]".as_bytes(), Ok("{\"a\":[9223372036854776000,9223372036854776000,18446744073709552000,18446744073709552000,-9223372036854776000,-9223372036854776000,18446744073709552000]}")),
    ("a: [-0, -0.0, 0.0, 9007199254740993, 1e21, 1e20, 0.0000001]".as_bytes(), Ok("{\"a\":[0,-0,0,9007199254740992,1e+21,100000000000000000000,1e-7]}")),
    ("a: [2001-01-01, 2001-1-1, 2001-12-14t21:59:43.10-05:00, 2001-12-14 21:59:43.10, 2001-13-01]".as_bytes(), Ok("{\"a\":[\"2001-01-01\",\"2001-1-1\",\"2001-12-14t21:59:43.10-05:00\",\"2001-12-14 21:59:43.10\",\"2001-13-01\"]}")),
    ("a: [<<, =, \"yes\", '1', \"\", '']".as_bytes(), Ok("{\"a\":[\"<<\",\"=\",\"yes\",\"1\",\"\",\"\"]}")),
];

const KEYS_BECOME_TEXT: &[Case] = &[
    ("y: 1\nn: 2\n".as_bytes(), Ok("{\"false\":2,\"true\":1}")),
    ("on: 1\nOFF: 2\n".as_bytes(), Ok("{\"false\":2,\"true\":1}")),
    (
        "1: a\n0x10: b\n-1: c\n".as_bytes(),
        Ok("{\"-1\":\"c\",\"1\":\"a\",\"16\":\"b\"}"),
    ),
    (
        "1.5: a\n1e3: b\n.inf: c\n0.1: e\n".as_bytes(),
        Ok("{\".inf\":\"c\",\"0.1\":\"e\",\"1.5\":\"a\",\"1000\":\"b\"}"),
    ),
    ("1e300: d\n".as_bytes(), Ok("{\".inf\":\"d\"}")),
    (
        "2001-01-01: a\n\"1\": b\n".as_bytes(),
        Ok("{\"1\":\"b\",\"2001-01-01\":\"a\"}"),
    ),
    (
        "[a]: b\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: invalid map key: []interface {}{\"a\"}"),
    ),
    ("? a\n: b\n? c\n".as_bytes(), Ok("{\"a\":\"b\",\"c\":null}")),
    ("? |\n  x\n: y\n".as_bytes(), Ok("{\"x\\n\":true}")),
    ("a: 1\na: 2\n\"a\": 3\n".as_bytes(), Ok("{\"a\":3}")),
    (
        "{a, b: c, ? d, ? e : f}".as_bytes(),
        Ok("{\"a\":null,\"b\":\"c\",\"d\":null,\"e\":\"f\"}"),
    ),
    (
        "[a: b, c: d, ? e]".as_bytes(),
        Ok("[{\"a\":\"b\"},{\"c\":\"d\"},{\"e\":null}]"),
    ),
    ("\"\": x\n".as_bytes(), Ok("{\"\":\"x\"}")),
];

const FLOW_AND_BLOCK_COLLECTIONS_NEST: &[Case] = &[
    (
        "- - a\n  - b\n- c\n".as_bytes(),
        Ok("[[\"a\",\"b\"],\"c\"]"),
    ),
    (
        "a:\n- b\n- c:\n  d: e\nf: [g, {h: i}]\n".as_bytes(),
        Ok("{\"a\":[\"b\",{\"c\":null,\"d\":\"e\"}],\"f\":[\"g\",{\"h\":\"i\"}]}"),
    ),
    (
        "a: {b: [c, d], e: {}}\n".as_bytes(),
        Ok("{\"a\":{\"b\":[\"c\",\"d\"],\"e\":{}}}"),
    ),
    (
        "-\n  a: b\n-\n- ~\n".as_bytes(),
        Ok("[{\"a\":\"b\"},null,null]"),
    ),
    (
        "a:\n  - - x\n    - y\n  -   z: 1\n      w: 2\n".as_bytes(),
        Ok("{\"a\":[[\"x\",true],{\"w\":2,\"z\":1}]}"),
    ),
    ("[a,\n b,\n]".as_bytes(), Ok("[\"a\",\"b\"]")),
    ("{a: b,\n c: d}".as_bytes(), Ok("{\"a\":\"b\",\"c\":\"d\"}")),
    ("[]: x".as_bytes(), Ok("[]")),
    ("{}: x".as_bytes(), Ok("{}")),
    ("- []\n- {}\n".as_bytes(), Ok("[[],{}]")),
    ("a: []\nb: {}\n".as_bytes(), Ok("{\"a\":[],\"b\":{}}")),
];

const SCALARS_OF_MANY_LINES_ARE_FOLDED: &[Case] = &[
    (
        "a: b\n  c\n\n  d\ne: f\n".as_bytes(),
        Ok("{\"a\":\"b c\\nd\",\"e\":\"f\"}"),
    ),
    (
        "a: \"b\n  c\\n\n\n  d \\\n   e\"\n".as_bytes(),
        Ok("{\"a\":\"b c\\n\\nd e\"}"),
    ),
    ("a: 'b\n\n  c''d'\n".as_bytes(), Ok("{\"a\":\"b\\nc'd\"}")),
    (
        "a: |\n  b\n   c\n\nd: >\n  e\n  f\n\n   g\n  h\n".as_bytes(),
        Ok("{\"a\":\"b\\n c\\n\",\"d\":\"e f\\n\\n g\\nh\\n\"}"),
    ),
    (
        "a: |-\n  b\n\nc: |+\n  d\n\ne: >-\n  f\n\n".as_bytes(),
        Ok("{\"a\":\"b\",\"c\":\"d\\n\\n\",\"e\":\"f\"}"),
    ),
    (
        "a: |2\n    b\n   c\n".as_bytes(),
        Ok("{\"a\":\"  b\\n c\\n\"}"),
    ),
    ("a: >2-\n    b\n".as_bytes(), Ok("{\"a\":\"  b\"}")),
    ("- |1\n  a\n b\n".as_bytes(), Ok("[\" a\\nb\\n\"]")),
    ("a: |\n\n\n  b\n".as_bytes(), Ok("{\"a\":\"\\n\\nb\\n\"}")),
    ("a: | # comment\n  b\n".as_bytes(), Ok("{\"a\":\"b\\n\"}")),
    ("a: |\nb: c\n".as_bytes(), Ok("{\"a\":\"\",\"b\":\"c\"}")),
    (
        "a: \"\\x41\\u00e9\\U0001F600\\t\\e\\N\\_\\L\\P\"\n".as_bytes(),
        Ok("{\"a\":\"Aé😀\\t\\u001b\u{85}\u{a0}\\u2028\\u2029\"}"),
    ),
    (
        "a: |\n  \tb\n".as_bytes(),
        Err(
            "error converting YAML to JSON: yaml: line 2: found a tab character where an indentation space is expected",
        ),
    ),
    ("|\n a\n".as_bytes(), Ok("\"a\\n\"")),
    (
        "a: b # c\nd: e#f\n".as_bytes(),
        Ok("{\"a\":\"b\",\"d\":\"e#f\"}"),
    ),
];

const ODD_CHARACTERS_TAKE_THE_EXACT_WAY: &[Case] = &[
    (
        "a: 1\r\nb: |\r\n  x\r\n  y\r\n".as_bytes(),
        Ok("{\"a\":1,\"b\":\"x\\ny\\n\"}"),
    ),
    (
        "a: b\u{85}c: d\n".as_bytes(),
        Ok("{\"a\":\"b\",\"c\":\"d\"}"),
    ),
    (
        "a: \"b\u{2028}c\"\n".as_bytes(),
        Ok("{\"a\":\"b\\u2028c\"}"),
    ),
    (
        "a: |\n  b\u{2029}  c\n".as_bytes(),
        Ok("{\"a\":\"b\\u2029c\\n\"}"),
    ),
    ("\u{feff}a: 1\n".as_bytes(), Ok("{\"a\":1}")),
    (
        "\u{feff}\u{feff}a: 1\nb: 2\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: line 1: did not find expected key"),
    ),
    (b"\xff\xfea\x00:\x00 \x001\x00", Ok("{\"a\":1}")),
    (b"\xfe\xff\x00a\x00:\x00 \x00\xe9", Ok("{\"a\":\"é\"}")),
    ("é: ü\n".as_bytes(), Ok("{\"é\":\"ü\"}")),
    ("a: 日本\n".as_bytes(), Ok("{\"a\":\"日本\"}")),
    ("a: \"\u{85}\"\n".as_bytes(), Ok("{\"a\":\" \"}")),
];

const ANCHORS_ALIASES_AND_MERGE_KEYS_ARE_APPLIED: &[Case] = &[
    ("a: &x 1\nb: *x\n".as_bytes(), Ok("{\"a\":1,\"b\":1}")),
    (
        "a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  b: 3\n".as_bytes(),
        Ok("{\"a\":{\"b\":1,\"c\":2},\"d\":{\"b\":3,\"c\":2}}"),
    ),
    (
        "a: &x {b: 1}\nd:\n  b: 3\n  <<: *x\n".as_bytes(),
        Ok("{\"a\":{\"b\":1},\"d\":{\"b\":1}}"),
    ),
    (
        "a: &x {b: 1, c: 1}\ny: &y {b: 2, d: 2}\nz:\n  <<: [*x, *y]\n".as_bytes(),
        Ok("{\"a\":{\"b\":1,\"c\":1},\"true\":{\"b\":2,\"d\":2},\"z\":{\"b\":1,\"c\":1,\"d\":2}}"),
    ),
    ("<<: {a: 1}\n".as_bytes(), Ok("{\"a\":1}")),
    ("\"<<\": {a: 1}\n".as_bytes(), Ok("{\"<<\":{\"a\":1}}")),
    ("!!merge <<: {a: 1}\n".as_bytes(), Ok("{\"a\":1}")),
    (
        "- &a a\n- &a b\n- *a\n".as_bytes(),
        Ok("[\"a\",\"b\",\"b\"]"),
    ),
    ("&a a: *a\n".as_bytes(), Ok("{\"a\":\"a\"}")),
    (
        "a: &x !!str 1\nb: *x\n".as_bytes(),
        Ok("{\"a\":\"1\",\"b\":\"1\"}"),
    ),
    (
        "*a : 1\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: unknown anchor 'a' referenced"),
    ),
    ("a: &a\nb: *a\n".as_bytes(), Ok("{\"a\":null,\"b\":null}")),
];

const TAGS_CHOOSE_THE_TYPE: &[Case] = &[
    ("a: !!str 1\n".as_bytes(), Ok("{\"a\":\"1\"}")),
    ("a: ! 1\n".as_bytes(), Ok("{\"a\":\"1\"}")),
    ("a: !x 1\n".as_bytes(), Ok("{\"a\":\"1\"}")),
    ("a: !!int \"0x10\"\n".as_bytes(), Ok("{\"a\":16}")),
    ("a: !!float 1\n".as_bytes(), Ok("{\"a\":1}")),
    ("a: !!bool yes\n".as_bytes(), Ok("{\"a\":true}")),
    ("a: !!null \"\"\n".as_bytes(), Ok("{\"a\":null}")),
    ("a: !!str\n".as_bytes(), Ok("{\"a\":\"\"}")),
    ("a: !!binary YWJj\n".as_bytes(), Ok("{\"a\":\"abc\"}")),
    (
        "a: !!binary \"YWJj/w==\"\n".as_bytes(),
        Ok("{\"a\":\"abc�\"}"),
    ),
    (
        "a: !!timestamp 2001-01-01\n".as_bytes(),
        Ok("{\"a\":\"2001-01-01\"}"),
    ),
    (
        "a: !<tag:yaml.org,2002:str> 1\n".as_bytes(),
        Ok("{\"a\":\"1\"}"),
    ),
    (
        "%TAG !e! tag:yaml.org,2002:\n---\na: !e!str 1\n".as_bytes(),
        Ok("{\"a\":\"1\"}"),
    ),
    ("a: !!map {b: c}\n".as_bytes(), Ok("{\"a\":{\"b\":\"c\"}}")),
    ("a: !!seq [b]\n".as_bytes(), Ok("{\"a\":[\"b\"]}")),
    ("%YAML 1.1\n---\na: 1\n".as_bytes(), Ok("{\"a\":1}")),
];

const ONLY_THE_FIRST_DOCUMENT_COUNTS: &[Case] = &[
    ("".as_bytes(), Ok("null")),
    ("\n".as_bytes(), Ok("null")),
    ("# x\n".as_bytes(), Ok("null")),
    ("---\n".as_bytes(), Ok("null")),
    ("--- a\n".as_bytes(), Ok("\"a\"")),
    ("a: 1\n---\nb: [\n".as_bytes(), Ok("{\"a\":1}")),
    ("a: 1\n...\n}\n".as_bytes(), Ok("{\"a\":1}")),
    ("[a]\nb: c\n".as_bytes(), Ok("[\"a\"]")),
    ("\"a\"\nb: c\n".as_bytes(), Ok("\"a\"")),
    ("--- |\n a\n--- }\n".as_bytes(), Ok("\"a\\n\"")),
];

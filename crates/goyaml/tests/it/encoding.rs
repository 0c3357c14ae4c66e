//! Encoding values, which are given as JSON. All expected texts are recorded from Helm.

use outrigger_goyaml::Style;

use crate::tree::{Tree, parse_tree};

#[test]
fn to_yaml_matches_go_yaml_v2() {
    check(NORMAL, Style::Normal);
}

#[test]
fn to_yaml_pretty_matches_go_yaml_v3() {
    check(PRETTY, Style::Pretty);
}

#[test]
fn padding_precedes_every_line_and_changes_nothing_else() {
    for (style, cases) in [(Style::Normal, NORMAL), (Style::Pretty, PRETTY)] {
        for (json, expected) in cases {
            let padded = format!("    {}", expected.replace('\n', "\n    "));
            assert_eq!(
                tree(json).write(style, 4).as_deref(),
                Ok(&*padded),
                "{json}"
            );
        }
    }
}

#[track_caller]
fn check(cases: &[(&str, &str)], style: Style) {
    for (json, expected) in cases {
        assert_eq!(
            tree(json).write(style, 0).as_deref(),
            Ok(*expected),
            "{json}"
        );
    }
}

/// JSON is YAML.
fn tree(json: &str) -> Tree {
    parse_tree(json.as_bytes()).expect("the cases are valid")
}

const NORMAL: &[(&str, &str)] = &[
    ("null", "null"),
    ("true", "true"),
    ("false", "false"),
    ("\"a\"", "a"),
    ("\"\"", "\"\""),
    ("[]", "[]"),
    ("{}", "{}"),
    ("[1, 2]", "- 1\n- 2"),
    ("{\"a\": 1}", "a: 1"),
    (
        "{\"a\": [1, {\"b\": 2}], \"c\": {\"d\": []}, \"e\": {}}",
        "a:\n- 1\n- b: 2\nc:\n  d: []\ne: {}",
    ),
    ("[[1, 2], [3]]", "- - 1\n  - 2\n- - 3"),
    (
        "[{\"a\": 1, \"b\": 2}, {\"c\": [4]}]",
        "- a: 1\n  b: 2\n- c:\n  - 4",
    ),
    ("{\"a\": [[\"b\"]]}", "a:\n- - b"),
    (
        "[0, 1, -1, 1.5, 1000000, 1e+20, 1e+21, 9223372036854775807, 18446744073709551615, 18446744073709551616, 123456789.125, 0.0001, 1e-05, 1e-07, -0.0, 1005369574750092.2]",
        "- 0\n- 1\n- -1\n- 1.5\n- 1000000\n- 1e+20\n- 1e+21\n- 9223372036854776000\n- 1.8446744073709552e+19\n- 1.8446744073709552e+19\n- 1.23456789125e+08\n- 0.0001\n- 1e-05\n- 1e-07\n- 0\n- 1.0053695747500922e+15",
    ),
    (
        "[\"yes\", \"y\", \"on\", \"Off\", \"True\", \"null\", \"~\", \"1\", \"1e3\", \"0x1f\", \"0o17\", \"017\", \"1_000\", \"1.\", \"+1\", \".inf\", \"0b11\", \"2001-01-01\", \"1:30\", \"12:30:45\", \"0o-17\", \".5_0\"]",
        "- \"yes\"\n- \"y\"\n- \"on\"\n- \"Off\"\n- \"True\"\n- \"null\"\n- \"~\"\n- \"1\"\n- \"1e3\"\n- \"0x1f\"\n- \"0o17\"\n- \"017\"\n- \"1_000\"\n- \"1.\"\n- \"+1\"\n- \".inf\"\n- \"0b11\"\n- \"2001-01-01\"\n- \"1:30\"\n- \"12:30:45\"\n- 0o-17\n- \".5_0\"",
    ),
    (
        "[\"NaN\", \"<<\", \"=\", \"0.0.0.0\", \"1.2.3\", \"a:b\", \"it's\", \"a]\", \"a,b\", \"yEs\", \"-a\", \"?a\", \":a\", \"a#b\"]",
        "- NaN\n- <<\n- =\n- 0.0.0.0\n- 1.2.3\n- a:b\n- it's\n- a]\n- a,b\n- yEs\n- -a\n- ?a\n- :a\n- a#b",
    ),
    (
        "[\" a\", \"a \", \"a: b\", \"a #b\", \"# a\", \"- a\", \"-\", \"?\", \":\", \"@a\", \"`a\", \"%a\", \"!a\", \"&a\", \"*a\", \"{a\", \"[a\", \"'a\", \"\\\"a\", \"---\", \"...\", \"|\", \">\", \", a\"]",
        "- ' a'\n- 'a '\n- 'a: b'\n- 'a #b'\n- '# a'\n- '- a'\n- '-'\n- '?'\n- ':'\n- '@a'\n- '`a'\n- '%a'\n- '!a'\n- '&a'\n- '*a'\n- '{a'\n- '[a'\n- '''a'\n- '\"a'\n- '---'\n- '...'\n- '|'\n- '>'\n- ', a'",
    ),
    (
        "[\"a\\nb\", \"a\\nb\\n\", \"a\\nb\\n\\n\", \" a\\nb\", \"\\na\", \"a \\nb\", \"a\\tb\\nc\", \"a\\n b\", \"\\n\", \"\\n\\n\", \"a\\r\\nb\", \"a\\n\", \"a\\n\\nb\"]",
        "- |-\n  a\n  b\n- |\n  a\n  b\n- |+\n  a\n  b\n\n- |2-\n   a\n  b\n- |2-\n\n  a\n- \"a \\nb\"\n- \"a\\tb\\nc\"\n- |-\n  a\n   b\n- |2+\n\n- |2+\n\n\n- \"a\\r\\nb\"\n- |\n  a\n- |-\n  a\n\n  b",
    ),
    (
        "[\"a\\tb\", \"\\u0000\", \"\\u0007\\u001b\", \"\\ufeffab\", \"😀\", \"é\", \"日本\", \"\u{a0}\", \"a\\u2028b\", \"a\\\"b\\\\c\\td\", \"\u{200b}\"]",
        "- \"a\\tb\"\n- \"\\0\"\n- \"\\a\\e\"\n- \"\\uFEFF\\x61\\x62\"\n- \"\\U0001F600\"\n- é\n- 日本\n- \u{a0}\n- 'a\u{2028}  b'\n- \"a\\\"b\\\\c\\td\"\n- \u{200b}",
    ),
    (
        "{\"b\": 1, \"a\": 2, \"a10\": 3, \"a2\": 4, \"A\": 5, \"_\": 6, \"1\": 7, \"10\": 8, \"2\": 9, \"\": 10, \"~\": 11, \"a-b\": 12, \"a_b\": 13, \"a01\": 14, \"a1\": 15, \"é\": 16, \"Z\": 17}",
        "\"\": 10\n_: 6\n\"~\": 11\n\"1\": 7\n\"2\": 9\n\"10\": 8\nA: 5\nZ: 17\na: 2\na-b: 12\na_b: 13\na1: 15\na01: 14\na2: 4\na10: 3\nb: 1\né: 16",
    ),
    (
        "{\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\": 1, \"a\\nb\": [1], \"y\": {\"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz\": 2}}",
        "? |-\n  a\n  b\n: - 1\n? xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n: 1\n\"y\":\n  zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz: 2",
    ),
    (
        "{\"a\": \"lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua\"}",
        "a: lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt\n  ut labore et dolore magna aliqua",
    ),
    (
        "{\"a\": \"lorem ipsum: dolor sit amet consectetur adipiscing elit sed do eiusmod tempor  incididunt ut labore et dolore magna aliqua it's\"}",
        "a: 'lorem ipsum: dolor sit amet consectetur adipiscing elit sed do eiusmod tempor  incididunt\n  ut labore et dolore magna aliqua it''s'",
    ),
    (
        "{\"a\": \"lorem\\tipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt  ut labore  et dolore magna aliqua\"}",
        "a: \"lorem\\tipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor\n  incididunt  ut labore  et dolore magna aliqua\"",
    ),
    (
        "{\"a\": [\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx y z\"]}",
        "a:\n- xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n  y z",
    ),
    (
        "{\"a\": {\"b\": {\"c\": \"d\\ne\\n\", \"f\": [\"g\\nh\"]}}}",
        "a:\n  b:\n    c: |\n      d\n      e\n    f:\n    - |-\n      g\n      h",
    ),
];

const PRETTY: &[(&str, &str)] = &[
    ("null", "null"),
    ("true", "true"),
    ("false", "false"),
    ("\"a\"", "a"),
    ("\"\"", "\"\""),
    ("[]", "[]"),
    ("{}", "{}"),
    ("[1, 2]", "- 1\n- 2"),
    ("{\"a\": 1}", "a: 1"),
    (
        "{\"a\": [1, {\"b\": 2}], \"c\": {\"d\": []}, \"e\": {}}",
        "a:\n  - 1\n  - b: 2\nc:\n  d: []\ne: {}",
    ),
    ("[[1, 2], [3]]", "- - 1\n  - 2\n- - 3"),
    (
        "[{\"a\": 1, \"b\": 2}, {\"c\": [4]}]",
        "- a: 1\n  b: 2\n- c:\n    - 4",
    ),
    ("{\"a\": [[\"b\"]]}", "a:\n  - - b"),
    (
        "[0, 1, -1, 1.5, 1000000, 1e+20, 1e+21, 9223372036854775807, 18446744073709551615, 18446744073709551616, 123456789.125, 0.0001, 1e-05, 1e-07, -0.0, 1005369574750092.2]",
        "- 0\n- 1\n- -1\n- 1.5\n- 1e+06\n- 1e+20\n- 1e+21\n- 9.223372036854776e+18\n- 1.8446744073709552e+19\n- 1.8446744073709552e+19\n- 1.23456789125e+08\n- 0.0001\n- 1e-05\n- 1e-07\n- -0\n- 1.0053695747500922e+15",
    ),
    (
        "[\"yes\", \"y\", \"on\", \"Off\", \"True\", \"null\", \"~\", \"1\", \"1e3\", \"0x1f\", \"0o17\", \"017\", \"1_000\", \"1.\", \"+1\", \".inf\", \"0b11\", \"2001-01-01\", \"1:30\", \"12:30:45\", \"0o-17\", \".5_0\"]",
        "- \"yes\"\n- \"y\"\n- \"on\"\n- \"Off\"\n- \"True\"\n- \"null\"\n- \"~\"\n- \"1\"\n- \"1e3\"\n- \"0x1f\"\n- \"0o17\"\n- \"017\"\n- \"1_000\"\n- \"1.\"\n- \"+1\"\n- \".inf\"\n- \"0b11\"\n- \"2001-01-01\"\n- \"1:30\"\n- \"12:30:45\"\n- \"0o-17\"\n- \".5_0\"",
    ),
    (
        "[\"NaN\", \"<<\", \"=\", \"0.0.0.0\", \"1.2.3\", \"a:b\", \"it's\", \"a]\", \"a,b\", \"yEs\", \"-a\", \"?a\", \":a\", \"a#b\"]",
        "- NaN\n- <<\n- =\n- 0.0.0.0\n- 1.2.3\n- a:b\n- it's\n- a]\n- a,b\n- yEs\n- -a\n- ?a\n- :a\n- a#b",
    ),
    (
        "[\" a\", \"a \", \"a: b\", \"a #b\", \"# a\", \"- a\", \"-\", \"?\", \":\", \"@a\", \"`a\", \"%a\", \"!a\", \"&a\", \"*a\", \"{a\", \"[a\", \"'a\", \"\\\"a\", \"---\", \"...\", \"|\", \">\", \", a\"]",
        "- ' a'\n- 'a '\n- 'a: b'\n- 'a #b'\n- '# a'\n- '- a'\n- '-'\n- '?'\n- ':'\n- '@a'\n- '`a'\n- '%a'\n- '!a'\n- '&a'\n- '*a'\n- '{a'\n- '[a'\n- '''a'\n- '\"a'\n- '---'\n- '...'\n- '|'\n- '>'\n- ', a'",
    ),
    (
        "[\"a\\nb\", \"a\\nb\\n\", \"a\\nb\\n\\n\", \" a\\nb\", \"\\na\", \"a \\nb\", \"a\\tb\\nc\", \"a\\n b\", \"\\n\", \"\\n\\n\", \"a\\r\\nb\", \"a\\n\", \"a\\n\\nb\"]",
        "- |-\n  a\n  b\n- |\n  a\n  b\n- |+\n  a\n  b\n\n- |2-\n   a\n  b\n- |2-\n\n  a\n- \"a \\nb\"\n- |-\n  a\tb\n  c\n- |-\n  a\n   b\n- |2+\n\n- |2+\n\n\n- \"a\\r\\nb\"\n- |\n  a\n- |-\n  a\n\n  b",
    ),
    (
        "[\"a\\tb\", \"\\u0000\", \"\\u0007\\u001b\", \"\\ufeffab\", \"😀\", \"é\", \"日本\", \"\u{a0}\", \"a\\u2028b\", \"a\\\"b\\\\c\\td\", \"\u{200b}\"]",
        "- \"a\\tb\"\n- \"\\0\"\n- \"\\a\\e\"\n- \"\\uFEFF\\x61\\x62\"\n- \"\\U0001F600\"\n- é\n- 日本\n- \u{a0}\n- 'a\u{2028}  b'\n- \"a\\\"b\\\\c\\td\"\n- \u{200b}",
    ),
    (
        "{\"b\": 1, \"a\": 2, \"a10\": 3, \"a2\": 4, \"A\": 5, \"_\": 6, \"1\": 7, \"10\": 8, \"2\": 9, \"\": 10, \"~\": 11, \"a-b\": 12, \"a_b\": 13, \"a01\": 14, \"a1\": 15, \"é\": 16, \"Z\": 17}",
        "\"\": 10\n_: 6\n\"~\": 11\n\"1\": 7\n\"2\": 9\n\"10\": 8\nA: 5\nZ: 17\na: 2\na-b: 12\na_b: 13\na1: 15\na01: 14\na2: 4\na10: 3\nb: 1\né: 16",
    ),
    (
        "{\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\": 1, \"a\\nb\": [1], \"y\": {\"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz\": 2}}",
        "? |-\n  a\n  b\n: - 1\n? xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n: 1\n\"y\":\n  zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz: 2",
    ),
    (
        "{\"a\": \"lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua\"}",
        "a: lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua",
    ),
    (
        "{\"a\": \"lorem ipsum: dolor sit amet consectetur adipiscing elit sed do eiusmod tempor  incididunt ut labore et dolore magna aliqua it's\"}",
        "a: 'lorem ipsum: dolor sit amet consectetur adipiscing elit sed do eiusmod tempor  incididunt ut labore et dolore magna aliqua it''s'",
    ),
    (
        "{\"a\": \"lorem\\tipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt  ut labore  et dolore magna aliqua\"}",
        "a: \"lorem\\tipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt  ut labore  et dolore magna aliqua\"",
    ),
    (
        "{\"a\": [\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx y z\"]}",
        "a:\n  - xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx y z",
    ),
    (
        "{\"a\": {\"b\": {\"c\": \"d\\ne\\n\", \"f\": [\"g\\nh\"]}}}",
        "a:\n  b:\n    c: |\n      d\n      e\n    f:\n      - |-\n        g\n        h",
    ),
];

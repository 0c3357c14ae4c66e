//! Errors. All expected texts are recorded from Helm.

use crate::tree::{Case, check};

#[test]
fn reports_syntax_errors_with_the_messages_and_lines_of_go_yaml() {
    check(MISTAKES_HAVE_THE_WORDS_AND_LINES_OF_GO_YAML);
}

#[test]
fn rejects_keys_and_numbers_that_json_does_not_have() {
    check(KEYS_AND_NUMBERS_WITHOUT_JSON_FORM_ARE_REFUSED);
}

#[test]
fn reports_forbidden_bytes_chunk_by_chunk() {
    check(FORBIDDEN_BYTES_ARE_REPORTED_PIECE_BY_PIECE);
}

const MISTAKES_HAVE_THE_WORDS_AND_LINES_OF_GO_YAML: &[Case] = &[
    (
        "a: b: c\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: mapping values are not allowed in this context"),
    ),
    (
        "a: 1\nb: c: d\n".as_bytes(),
        Err(
            "error converting YAML to JSON: yaml: line 2: mapping values are not allowed in this context",
        ),
    ),
    (
        "a:\n\tb\n".as_bytes(),
        Err(
            "error converting YAML to JSON: yaml: line 2: found character that cannot start any token",
        ),
    ),
    (
        "a: 1\n\tb: 2\n".as_bytes(),
        Err(
            "error converting YAML to JSON: yaml: line 2: found a tab character that violates indentation",
        ),
    ),
    (
        "a: [b\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: line 1: did not find expected ',' or ']'"),
    ),
    (
        "a: 1\nb: [c\nd: e\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: line 2: did not find expected ',' or ']'"),
    ),
    (
        "a: {b\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: line 1: did not find expected ',' or '}'"),
    ),
    (
        "a: {b: c\n d: e}\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: line 1: did not find expected ',' or '}'"),
    ),
    (
        "- a\nb: c\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: line 1: did not find expected '-' indicator"),
    ),
    (
        "a: 1\n- b\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: line 1: did not find expected key"),
    ),
    (
        "a\nb: c\n".as_bytes(),
        Err(
            "error converting YAML to JSON: yaml: line 2: mapping values are not allowed in this context",
        ),
    ),
    (
        "a: b\n c: d\n".as_bytes(),
        Err(
            "error converting YAML to JSON: yaml: line 2: mapping values are not allowed in this context",
        ),
    ),
    (
        "a:\n  b: 1\n c: 2\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: line 2: did not find expected key"),
    ),
    (
        "a: \"b\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: line 2: found unexpected end of stream"),
    ),
    (
        "a: 1\nb: \"c\n---\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: line 3: found unexpected document indicator"),
    ),
    (
        "a: @b\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: found character that cannot start any token"),
    ),
    (
        "a: `b\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: found character that cannot start any token"),
    ),
    (
        "a: %b\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: found character that cannot start any token"),
    ),
    (
        "a: *b\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: unknown anchor 'b' referenced"),
    ),
    (
        "a: & b\n".as_bytes(),
        Err(
            "error converting YAML to JSON: yaml: did not find expected alphabetic or numeric character",
        ),
    ),
    (
        "a: * b\n".as_bytes(),
        Err(
            "error converting YAML to JSON: yaml: did not find expected alphabetic or numeric character",
        ),
    ),
    (
        "a: &b *c\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: did not find expected key"),
    ),
    (
        "a: !e!b c\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: found undefined tag handle"),
    ),
    (
        "a: !<b c\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: did not find the expected '>'"),
    ),
    (
        "a: \"\\q\"\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: found unknown escape character"),
    ),
    (
        "a: \"\\xzz\"\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: did not find expected hexdecimal number"),
    ),
    (
        "a: \"\\ud800\"\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: found invalid Unicode character escape code"),
    ),
    (
        "a: |0\n  b\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: found an indentation indicator equal to 0"),
    ),
    (
        "a: |x\n  b\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: did not find expected comment or line break"),
    ),
    (
        "a: |\n  b\n\tc\n".as_bytes(),
        Err(
            "error converting YAML to JSON: yaml: line 3: found a tab character where an indentation space is expected",
        ),
    ),
    (
        "a: |\n\tb\n".as_bytes(),
        Err(
            "error converting YAML to JSON: yaml: line 2: found a tab character where an indentation space is expected",
        ),
    ),
    (
        "%YAML 1.2\n---\na\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: found incompatible YAML document"),
    ),
    (
        "%YAML 1\n---\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: did not find expected digit or '.' character"),
    ),
    (
        "%YAML 1.1\n%YAML 1.1\n---\na".as_bytes(),
        Err("error converting YAML to JSON: yaml: line 1: found duplicate %YAML directive"),
    ),
    (
        "%FOO\n---\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: found unknown directive name"),
    ),
    (
        "%TAG !a! x\n%TAG !a! y\n---\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: line 1: found duplicate %TAG directive"),
    ),
    (
        "%TAG !a\n---\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: did not find expected '!'"),
    ),
    (
        "%\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: could not find expected directive name"),
    ),
    ("a: 1\n%YAML 1.1\n".as_bytes(), Ok("{\"a\":1}")),
    (
        "a: - b\n".as_bytes(),
        Err(
            "error converting YAML to JSON: yaml: block sequence entries are not allowed in this context",
        ),
    ),
    (
        "- - a\n - b\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: line 1: did not find expected '-' indicator"),
    ),
    (
        "? a\n? b\nc\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: line 4: could not find expected ':'"),
    ),
    (
        "a: ]\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: did not find expected node content"),
    ),
    (
        "}".as_bytes(),
        Err("error converting YAML to JSON: yaml: did not find expected node content"),
    ),
    (
        "a: !!x%zz b\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: did not find URI escaped octet"),
    ),
    (
        "a: b\n  - c\n  d: e\n".as_bytes(),
        Err(
            "error converting YAML to JSON: yaml: line 3: mapping values are not allowed in this context",
        ),
    ),
    (
        "[a, b]: c: d\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: mapping values are not allowed in this context"),
    ),
    (
        "a: !!int x\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: cannot decode !!str `x` as a !!int"),
    ),
    (
        "a: !!bool 1\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: cannot decode !!int `1` as a !!bool"),
    ),
    (
        "a: !!float 18446744073709551615\n".as_bytes(),
        Err(
            "error converting YAML to JSON: yaml: cannot decode !!int `18446744073709551615` as a !!float",
        ),
    ),
    (
        "a: !!null x\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: cannot decode !!str `x` as a !!null"),
    ),
    (
        "a: !!timestamp x\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: cannot decode !!str `x` as a !!timestamp"),
    ),
    (
        "a: !!binary \"?\"\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: !!binary value contains invalid base64 data"),
    ),
    (
        "a: 'b".as_bytes(),
        Err("error converting YAML to JSON: yaml: found unexpected end of stream"),
    ),
];

const KEYS_AND_NUMBERS_WITHOUT_JSON_FORM_ARE_REFUSED: &[Case] = &[
    (
        "null: a\n".as_bytes(),
        Err(
            "error converting YAML to JSON: unsupported map key of type: %!s(<nil>), key: <nil>, value: \"a\"",
        ),
    ),
    (
        "~: {a: 1}\n".as_bytes(),
        Err(
            "error converting YAML to JSON: unsupported map key of type: %!s(<nil>), key: <nil>, value: map[interface {}]interface {}{\"a\":1}",
        ),
    ),
    (
        ": a\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: did not find expected key"),
    ),
    (
        "18446744073709551615: [a, 1, 1.5, true, null]\n".as_bytes(),
        Err(
            "error converting YAML to JSON: unsupported map key of type: uint64, key: 0xffffffffffffffff, value: []interface {}{\"a\", 1, 1.5, true, interface {}(nil)}",
        ),
    ),
    (
        "? [a, {b: c}]\n: d\n".as_bytes(),
        Err(
            "error converting YAML to JSON: yaml: invalid map key: []interface {}{\"a\", map[interface {}]interface {}{\"b\":\"c\"}}",
        ),
    ),
    (
        "{a: b}: c\n".as_bytes(),
        Err(
            "error converting YAML to JSON: yaml: invalid map key: map[interface {}]interface {}{\"a\":\"b\"}",
        ),
    ),
    (
        "? {1: a, b: ~, true: c, 1.5: d}\n: e\n".as_bytes(),
        Err(
            "error converting YAML to JSON: yaml: invalid map key: map[interface {}]interface {}{\"b\":interface {}(nil), 1:\"a\", 1.5:\"d\", true:\"c\"}",
        ),
    ),
    (
        "a: .inf\n".as_bytes(),
        Err("error converting YAML to JSON: json: unsupported value: +Inf"),
    ),
    (
        "a: -.inf\n".as_bytes(),
        Err("error converting YAML to JSON: json: unsupported value: -Inf"),
    ),
    (
        "a: [1, .nan]\n".as_bytes(),
        Err("error converting YAML to JSON: json: unsupported value: NaN"),
    ),
    (
        "b: .nan\na: .inf\n".as_bytes(),
        Err("error converting YAML to JSON: json: unsupported value: +Inf"),
    ),
    (
        "<<: 1\n".as_bytes(),
        Err(
            "error converting YAML to JSON: yaml: map merge requires map or sequence of maps as the value",
        ),
    ),
    (
        "<<: [1]\n".as_bytes(),
        Err(
            "error converting YAML to JSON: yaml: map merge requires map or sequence of maps as the value",
        ),
    ),
    (
        "a: &a 1\n<<: *a\n".as_bytes(),
        Err(
            "error converting YAML to JSON: yaml: map merge requires map or sequence of maps as the value",
        ),
    ),
    (
        "a: &a [*a]\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: anchor 'a' value contains itself"),
    ),
    (
        "a: &a {b: *a}\n".as_bytes(),
        Err("error converting YAML to JSON: yaml: anchor 'a' value contains itself"),
    ),
];

const FORBIDDEN_BYTES_ARE_REPORTED_PIECE_BY_PIECE: &[Case] = &[
    ("a: \u{0}".as_bytes(), Err("error converting YAML to JSON: yaml: control characters are not allowed")),
    ("a: \u{7}\n".as_bytes(), Err("error converting YAML to JSON: yaml: control characters are not allowed")),
    ("a: \u{7f}\n".as_bytes(), Err("error converting YAML to JSON: yaml: control characters are not allowed")),
    (b"a: \xff\x0a", Err("error converting YAML to JSON: yaml: invalid leading UTF-8 octet")),
    (b"a: \xc3\x0a", Err("error converting YAML to JSON: yaml: invalid trailing UTF-8 octet")),
    (b"a: \xc3", Err("error converting YAML to JSON: yaml: incomplete UTF-8 octet sequence")),
    (b"a: \xe0\x80\x80\x0a", Err("error converting YAML to JSON: yaml: invalid length of a UTF-8 sequence")),
    (b"a: \xed\xa0\x80\x0a", Err("error converting YAML to JSON: yaml: invalid Unicode character")),
    ("a: ￿\n".as_bytes(), Err("error converting YAML to JSON: yaml: control characters are not allowed")),
    ("a: b: c\n\u{7}".as_bytes(), Err("error converting YAML to JSON: yaml: control characters are not allowed")),
    ("a: b: c\n########################################################################################################################################################################################################################################################################################################################################################################################################################################################################################################################################################################################################################\n\u{7}".as_bytes(), Err("error converting YAML to JSON: yaml: mapping values are not allowed in this context")),
    ("a: 1\n---\n########################################################################################################################################################################################################################################################################################################################################################################################################################################################################################################################################################################################################################\n\u{7}".as_bytes(), Ok("{\"a\":1}")),
    (b"\xff\xfea\x00:", Err("error converting YAML to JSON: yaml: incomplete UTF-16 character")),
    (b"\xff\xfe\x00\xdc", Err("error converting YAML to JSON: yaml: unexpected low surrogate area")),
    (b"\xff\xfe\x00\xd8a\x00", Err("error converting YAML to JSON: yaml: expected low surrogate area")),
];

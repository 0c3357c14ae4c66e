//! Documents that would exhaust stack or memory.

use std::borrow::Cow;

use outrigger_goyaml::{Builder, Emitter, Error, Style, check, head, parse};

/// Builds nothing, so that dropping needs no deep recursion.
struct Nothing;

impl Builder for Nothing {
    type Value = ();

    fn null(&mut self) {}
    fn bool(&mut self, _: bool) {}
    fn int(&mut self, _: i64) {}
    fn uint(&mut self, _: u64) {}
    fn float(&mut self, _: f64) {}
    fn string(&mut self, _: Cow<'_, str>) {}
    fn list(&mut self, _: Vec<()>) {}
    fn map(&mut self, _: Vec<(Cow<'_, str>, ())>) {}
}

#[track_caller]
fn outcome(text: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    let parsed = parse(bytes, &mut Nothing);
    assert_eq!(parsed, check(bytes));
    let _ = head(bytes, "util.SimpleHead");
    parsed.map_err(|error| error.full_text())
}

#[test]
fn flow_collections_nest_ten_thousand_deep() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert_eq!(outcome(&nested(10_000)), Ok(()));
    assert_eq!(
        outcome(&nested(10_001)),
        Err("error converting YAML to JSON: yaml: exceeded max depth of 10000".into())
    );
    assert_eq!(
        outcome(&"{a: ".repeat(100_000)),
        Err("error converting YAML to JSON: yaml: exceeded max depth of 10000".into())
    );
}

#[test]
fn block_collections_nest_ten_thousand_deep() {
    let nested = |depth: usize| "- ".repeat(depth) + "a";
    assert_eq!(outcome(&nested(10_000)), Ok(()));
    assert_eq!(
        outcome(&nested(10_001)),
        Err("error converting YAML to JSON: yaml: exceeded max depth of 10000".into())
    );
    let lines = |count: usize| {
        let first = "- ".repeat(9_990) + "a:\n";
        let rest = (0..count).map(|depth| " ".repeat(2 * 9_990 + 1 + depth) + "a:\n");
        first + &rest.collect::<String>()
    };
    assert_eq!(outcome(&lines(9)), Ok(()));
    assert_eq!(
        outcome(&lines(20)),
        Err("error converting YAML to JSON: yaml: line 11: exceeded max depth of 10000".into())
    );
}

#[test]
fn rejects_flow_in_block_collections_beyond_the_json_limit() {
    let text = "- ".repeat(9_000) + &"[".repeat(9_000) + &"]".repeat(9_000);
    assert_eq!(
        outcome(&text),
        Err("error unmarshaling JSON: while decoding JSON: exceeded max depth".into())
    );
}

#[test]
fn rejects_excessive_aliasing() {
    let levels = (1..10).map(|level| {
        let alias = format!("*a{}", level - 1);
        format!("a{level}: &a{level} [{alias}, {alias}, {alias}, {alias}, {alias}]\n")
    });
    let bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned() + &levels.collect::<String>();
    assert_eq!(
        outcome(&bomb),
        Err("error converting YAML to JSON: yaml: document contains excessive aliasing".into())
    );
}

#[test]
fn chains_of_aliases_do_not_overflow_the_stack() {
    let levels = (1..800).map(|level| format!("a{level}: &a{level} [*a{}]\n", level - 1));
    let chain = "a0: &a0 [x]\n".to_owned() + &levels.collect::<String>();
    // 800 levels, each expanded in full, are many values in few bytes.
    assert_eq!(
        outcome(&chain),
        Err("error converting YAML to JSON: yaml: document contains excessive aliasing".into())
    );
}

#[test]
fn a_key_ends_within_1024_characters() {
    assert_eq!(outcome(&("é".repeat(1024) + ": a\n")), Ok(()));
    assert_eq!(
        outcome(&("é".repeat(1025) + ": a\n")),
        Err(
            "error converting YAML to JSON: yaml: mapping values are not allowed in this context"
                .into()
        )
    );
    assert_eq!(
        outcome(&("a: b\n".to_owned() + &"c".repeat(1025) + ": d\n")),
        Err("error converting YAML to JSON: yaml: line 2: could not find expected ':'".into())
    );
}

#[test]
fn rejects_encoding_what_go_rejects() {
    let refused = |push: &dyn Fn(&mut Emitter<'_>)| {
        let mut out = b"before ".to_vec();
        let mut emitter = Emitter::new(&mut out, Style::Normal, 2);
        push(&mut emitter);
        let error = emitter.finish().expect_err("it has no YAML form");
        assert_eq!(out, b"before   ");
        error
    };
    assert_eq!(
        refused(&|out| out.float(f64::NAN)),
        Error::UnsupportedNumber("NaN")
    );
    assert_eq!(
        refused(&|out| out.string("a\u{7F}")),
        Error::Encoding("control characters are not allowed")
    );
    let long_key = refused(&|out| {
        out.begin_map(1);
        out.key(&"k".repeat(1023));
        out.null();
        out.end_map();
    });
    assert_eq!(
        long_key.to_string(),
        "yaml: did not find expected ',' or '}'"
    );
    let deep = refused(&|out| (0..10_001).for_each(|_| out.begin_list(1)));
    assert_eq!(deep.to_string(), "yaml: exceeded max depth of 10000");
}

//! Engines with several files: precedence of definitions, output, missing templates.

use outrigger_gotmpl::function::Dialect;
use outrigger_gotmpl::value::Value;
use outrigger_gotmpl::{Engine, Limits, parse};

use outrigger_gotmpl::function::NullHost;

/// Adds the files in order and renders the last one.
fn render(files: &[(&str, &str)]) -> Result<String, String> {
    let mut engine = Engine::new(Dialect::HELM_4, Limits::default());
    for (name, text) in files {
        let parsed = parse(name, *text, &Dialect::HELM_4).map_err(|error| error.to_string())?;
        engine.add(parsed);
    }
    let (name, _) = files.last().ok_or("no file")?;
    let mut out = Vec::new();
    let result = engine.render(name, &Value::map(Vec::new()), &NullHost, &mut out);
    result.map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

#[test]
fn a_later_definition_replaces_an_earlier_one_unless_it_is_empty() {
    let earlier = ("b", r#"{{ define "x" }}earlier{{ end }}"#);
    for (text, expected) in [
        (
            r#"{{ define "x" }}later{{ end }}{{ include "x" . }}"#,
            "later",
        ),
        (
            r#"{{ define "x" }} {{/* nothing */}}{{ end }}{{ include "x" . }}"#,
            "earlier",
        ),
        (r#"{{ include "x" . }}{{ include "b" . }}"#, "earlier"),
    ] {
        assert_eq!(render(&[earlier, ("a", text)]).as_deref(), Ok(expected));
    }
}

#[test]
fn a_file_can_define_another_file() {
    let other = ("b", r#"{{ define "a" }}taken{{ end }}"#);
    assert_eq!(render(&[other, ("a", "own")]).as_deref(), Ok("own"));
    assert_eq!(render(&[other, ("a", " ")]).as_deref(), Ok("taken"));
    let itself = ("a", r#"{{ define "a" }}taken{{ end }}"#);
    assert_eq!(render(&[itself]).as_deref(), Ok("taken"));
}

#[test]
fn an_unknown_file_is_an_error() {
    let engine = Engine::new(Dialect::HELM_4, Limits::default());
    let error = engine.execute("a", &Value::Nil, &NullHost, &mut Vec::new());
    let error = error.expect_err("there is no file").helm4_text();
    assert_eq!(
        error,
        r#"template: no template "a" associated with template "gotpl""#
    );
}

#[test]
fn appends_output_and_only_render_removes_no_value() {
    let mut engine = Engine::new(Dialect::HELM_4, Limits::default());
    let parsed = parse("a", "{{ .x }}.", &Dialect::HELM_4).expect("it parses");
    engine.add(parsed);
    let mut out = b"<no value>".to_vec();
    let data = Value::map(Vec::new());
    let raw = engine.execute("a", &data, &NullHost, &mut out);
    let helm = engine.render("a", &data, &NullHost, &mut out);
    assert_eq!((raw, helm), (Ok(()), Ok(())));
    assert_eq!(out, b"<no value><no value>..");
}

#[test]
fn append_changes_no_other_list() {
    for (template, expected) in [
        (
            "{{ $l := list 1 }}{{ $m := $l }}{{ $l = append $l 2 }}{{ $l = append $l 3 }}{{ $m }}{{ $l }}",
            "[1][1 2 3]",
        ),
        (
            "{{ $l := list 1 2 }}{{ range $l }}{{ $l = append $l . }}{{ end }}{{ $l }}",
            "[1 2 1 2]",
        ),
        (
            "{{ $l := list 1 }}{{ $l = append $l $l }}{{ $l = append $l (len $l) }}{{ $l }}",
            "[1 [1] 2]",
        ),
        (
            "{{ $l := list 1 }}{{ $l = append (append $l 2) (len $l) }}{{ $l }}",
            "[1 2 1]",
        ),
        (
            "{{ $l := list }}{{ range until 5 }}{{ $l = . | append $l }}{{ end }}{{ $l }}{{ slice $l 0 }}",
            "[0 1 2 3 4][0 1 2 3 4]",
        ),
        (
            "{{ $l := list 1 }}{{ $d := dict \"l\" $l }}{{ $l = append $l 2 }}{{ $d }}{{ $l }}",
            "map[l:[1]][1 2]",
        ),
        (
            "{{ $l := until 2 }}{{ $l = append $l 2 }}{{ typeOf $l }}{{ $l }}",
            "[]interface {}[0 1 2]",
        ),
        (
            "{{ $l := list 1 }}{{ $l = append $l 2 }}{{ $l = append $l 3 }}{{ slice $l 0 4 }}",
            "[1 2 3 <nil>]",
        ),
    ] {
        assert_eq!(
            render(&[("a", template)]).as_deref(),
            Ok(expected),
            "{template}"
        );
    }
}

#[test]
fn complex_constants_are_reported_as_not_supported() {
    for constant in ["1i", "0i", "-2.5i", "0x1p-2i", "1+2i", "1e3-4i"] {
        let found = render(&[("a", &format!("{{{{ {constant} }}}}"))]);
        let expected =
            format!("template: a:1: complex constants are not supported: \"{constant}\"");
        assert_eq!(found, Err(expected));
    }
    let out_of_range = render(&[("a", "{{ 1e999i }}")]);
    let expected = "template: a:1: illegal number syntax: \"1e999i\"";
    assert_eq!(out_of_range.unwrap_err(), expected);
}

#[test]
fn a_file_in_utf_16_is_text_without_actions() {
    let utf_16: Vec<u8> = "\u{feff}a: {{ .Values.a }}\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let mut engine = Engine::new(Dialect::HELM_4, Limits::default());
    engine.add(parse("a", utf_16.clone(), &Dialect::HELM_4).expect("it parses"));
    let mut out = Vec::new();
    let rendered = engine.render("a", &Value::map(Vec::new()), &NullHost, &mut out);
    assert_eq!((rendered, out), (Ok(()), utf_16));
}

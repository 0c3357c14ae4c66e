//! Small templates, compared with the recorded output or error of Helm 3.17.3 and Helm 4.2.4.
//!
//! The files in `templates/` were recorded from the engines of both Helms. Each case is a template and its output or
//! error, once if both agree. The template is the file `templates/t.yaml` of a chart named `c`.

use outrigger_gotmpl::function::Dialect;
use outrigger_gotmpl::value::{Map, MapType, Value};
use outrigger_gotmpl::{Engine, Limits, json, parse};

use outrigger_gotmpl::function::NullHost;

const NAME: &str = "c/templates/t.yaml";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Normal,
    Strict,
    Lint,
}

struct Case<'t> {
    template: &'t str,
    /// For Helm 3 and for Helm 4: whether it fails, and the text.
    expected: [(bool, &'t str); 2],
}

/// Splits a file at its `####` lines.
fn cases(file: &str) -> Vec<Case<'_>> {
    let mut cases: Vec<Case<'_>> = Vec::new();
    for section in file.split("#### ").skip(1) {
        let (title, text) = section.split_once('\n').expect("a title ends its line");
        let text = text.strip_suffix('\n').unwrap_or(text);
        let is_error = title.starts_with("error");
        if title == "template" {
            cases.push(Case {
                template: text,
                expected: [(false, ""); 2],
            });
            continue;
        }
        let case = cases.last_mut().expect("a template comes first");
        if !title.ends_with("helm 4") {
            case.expected[0] = (is_error, text);
        }
        if !title.ends_with("helm 3") {
            case.expected[1] = (is_error, text);
        }
    }
    cases
}

fn named(value: Value, name: &'static str) -> Value {
    match value {
        Value::Map(map) => Value::Map(map.retyped(MapType::Named(name))),
        other => other,
    }
}

/// The parts of a chart's template context that the cases use.
fn context(values_type: &'static str) -> Value {
    let values =
        json::decode(include_bytes!("templates/values.json")).expect("the values are JSON");
    let text = |text: &str| Value::str(text);
    let template = Value::map(vec![
        ("Name".into(), text(NAME)),
        ("BasePath".into(), text("c/templates")),
    ]);
    let release = Value::map(vec![("Name".into(), text("r"))]);
    let root = Map::default();
    root.set("Values".into(), named(values, values_type));
    root.set("Release".into(), release);
    root.set("Template".into(), named(template, values_type));
    named(Value::Map(root), values_type)
}

fn run(template: &str, mode: Mode, is_helm4: bool) -> Result<String, String> {
    let (dialect, values_type) = if is_helm4 {
        (Dialect::HELM_4, "common.Values")
    } else {
        (Dialect::HELM_3, "chartutil.Values")
    };
    let parsed = parse(NAME, template, &dialect).map_err(|error| error.helm_text())?;
    let limits = Limits {
        stack_bytes: STACK / 2,
        ..Limits::default()
    };
    let mut engine = Engine::new(dialect, limits)
        .strict(mode == Mode::Strict)
        .lint(mode == Mode::Lint);
    engine.add(parsed);
    let mut out = Vec::new();
    engine
        .render(NAME, &context(values_type), &NullHost, &mut out)
        .map_err(|error| {
            if is_helm4 {
                error.helm4_text()
            } else {
                error.helm3_text()
            }
        })?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Helm allows a thousand nested includes, which need a large stack in a debug build.
const STACK: usize = 128 << 20;

fn check(file: &'static str, mode: Mode) {
    let thread = std::thread::Builder::new().stack_size(STACK);
    let checks = thread.spawn(move || check_all(file, mode));
    let checks = checks.expect("a thread can be started").join();
    checks.expect("all cases are as expected");
}

fn check_all(file: &str, mode: Mode) {
    let mut wrong = Vec::new();
    for case in cases(file) {
        for (i, (is_error, text)) in case.expected.into_iter().enumerate() {
            let found = run(case.template, mode, i == 1);
            let expected = if is_error { Err(text) } else { Ok(text) };
            let found = found.as_deref().map_err(String::as_str);
            if found != expected {
                let template = case.template;
                wrong.push(format!(
                    "{template}\n  expected {expected:?}\n  found    {found:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

macro_rules! check_files {
    ($($test:ident: $file:literal, $mode:expr;)*) => {
        $(
            #[test]
            fn $test() {
                check(include_str!($file), $mode);
            }
        )*
    };
}

check_files! {
    constants_have_go_syntax: "templates/literals.txt", Mode::Normal;
    tokens_and_trimming_are_as_in_go: "templates/lex.txt", Mode::Normal;
    statements_parse_as_in_go: "templates/parse.txt", Mode::Normal;
    errors_name_the_right_line: "templates/multiline.txt", Mode::Normal;
    fields_and_methods_resolve_as_in_go: "templates/fields.txt", Mode::Normal;
    arguments_are_checked_as_in_go: "templates/args.txt", Mode::Normal;
    comparisons_and_logic_are_as_in_go: "templates/compare.txt", Mode::Normal;
    collections_and_variables_are_as_in_go: "templates/collections.txt", Mode::Normal;
    includes_and_tpl_are_as_in_helm: "templates/includes.txt", Mode::Normal;
    values_print_as_in_go: "templates/printing.txt", Mode::Normal;
    missing_keys_fail_in_strict_mode: "templates/strict.txt", Mode::Strict;
    required_and_fail_pass_while_linting: "templates/lint.txt", Mode::Lint;
}

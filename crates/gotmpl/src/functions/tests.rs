//! Every function, compared with the recorded output of Helm 3.17.3 and 4.2.4.
//!
//! Case files contain templates, each followed by Helm's result: `= "text"` or `! "error"`. `3` and `4` before the marker
//! mean that the results differ; `b` after it means that the text is base64, because it is not UTF-8.

pub(crate) mod host;
mod properties;

use super::table;
use crate::function::Dialect;
use crate::value::{MapType, Value};
use crate::{Engine, Limits, json, parse};
use host::FixedHost;

/// The values that the templates were rendered with.
const VALUES: &str = include_str!("tests/cases/values.json");

/// The output of Helm, or its error.
type Expected = Result<Vec<u8>, String>;

struct Case<'t> {
    template: &'t str,
    helm_3: Expected,
    helm_4: Expected,
}

fn read_cases(text: &str) -> Vec<Case<'_>> {
    let mut lines = text.lines().peekable();
    let mut cases = Vec::new();
    while let Some(template) = lines.next() {
        let first = lines.next().expect("an expectation follows each template");
        let (helm_3, helm_4) = match first.strip_prefix('3') {
            Some(line) => {
                let second = lines.next().and_then(|line| line.strip_prefix('4'));
                (
                    read_expected(line),
                    read_expected(second.expect("Helm 4 follows Helm 3")),
                )
            }
            None => (read_expected(first), read_expected(first)),
        };
        cases.push(Case {
            template,
            helm_3,
            helm_4,
        });
    }
    cases
}

fn read_expected(line: &str) -> Expected {
    let (mark, text) = line.split_once(' ').expect("a mark and a text");
    if mark == "=b" {
        return outrigger_gostd::base64::decode(text.as_bytes()).map_err(|error| error.to_string());
    }
    let Ok(Value::Str(text)) = json::decode(text.as_bytes()) else {
        panic!("no JSON string: {line}");
    };
    match mark {
        "=" => Ok(text.as_bytes().to_vec()),
        "!" => Err(text.to_text().into_owned()),
        _ => panic!("unknown mark: {line}"),
    }
}

/// The output of the template, or the message of the function that failed.
fn render(template: &str, dialect: &Dialect, host: &FixedHost) -> Expected {
    let Ok(Value::Map(values)) = json::decode(VALUES.as_bytes()) else {
        panic!("the values are no JSON object");
    };
    let name = if dialect.must_to_functions {
        "common.Values"
    } else {
        "chartutil.Values"
    };
    let values = Value::Map(values.retyped(MapType::Named(name)));
    let data = Value::map(vec![("Values".into(), values)]);
    let mut engine = Engine::new(dialect.clone(), Limits::default());
    engine.add(parse("case", template, dialect).map_err(|error| error.to_string())?);
    let mut out = Vec::new();
    engine
        .execute("case", &data, host, &mut out)
        .map_err(|error| {
            let text = error.to_string();
            let message = text
                .rsplit_once("error calling ")
                .and_then(|(_, call)| call.split_once(": "));
            message.map_or_else(|| text.clone(), |(_, message)| message.to_owned())
        })?;
    Ok(out)
}

#[track_caller]
fn check(text: &str) {
    let host = FixedHost::default();
    let mut wrong = Vec::new();
    let cases = read_cases(text);
    for case in &cases {
        for (dialect, expected) in [
            (&Dialect::HELM_3, &case.helm_3),
            (&Dialect::HELM_4, &case.helm_4),
        ] {
            let found = render(case.template, dialect, &host);
            if found != *expected {
                let helm = if dialect.must_to_functions { 4 } else { 3 };
                let show = |result: &Expected| match result {
                    Ok(text) => format!("= {:?}", String::from_utf8_lossy(text)),
                    Err(error) => format!("! {error:?}"),
                };
                wrong.push(format!(
                    "{} (Helm {helm})\n  helm {}\n  ours {}",
                    case.template,
                    show(expected),
                    show(&found)
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        2 * cases.len(),
        wrong.join("\n")
    );
}

macro_rules! families {
    ($($name:ident: $file:literal,)*) => {$(
        #[test]
        fn $name() {
            check(include_str!(concat!("tests/cases/", $file)));
        }
    )*};
}

families! {
    toml_agrees_with_helm: "toml.txt",
    keys_and_passwords_agree_with_helm: "crypto.txt",
    urls_agree_with_helm: "urls.txt",
    dates_agree_with_helm: "dates.txt",
    random_calls_agree_with_helm: "random.txt",
    regular_expressions_agree_with_helm: "regex.txt",
    encodings_and_paths_agree_with_helm: "paths.txt",
    formats_agree_with_helm: "fmt.txt",
    functions_on_lists_agree_with_helm: "lists.txt",
    functions_on_maps_agree_with_helm: "dicts.txt",
    functions_on_numbers_and_types_agree_with_helm: "numeric.txt",
    functions_on_strings_agree_with_helm: "strings.txt",
    functions_on_versions_agree_with_helm: "versions.txt",
    json_agrees_with_helm: "json.txt",
}

#[test]
fn every_function_has_its_go_signature() {
    let mut found: Vec<String> = table()
        .iter()
        .map(|function| {
            let mut params: Vec<String> = function
                .params
                .iter()
                .map(|ty| ty.name().to_owned())
                .collect();
            if let Some(last) = params.last_mut().filter(|_| function.variadic) {
                last.insert_str(0, "...");
            }
            format!(
                "{} ({}) {}",
                function.name,
                params.join(", "),
                function.result.name()
            )
        })
        .collect();
    found.sort_unstable();
    let expected: Vec<&str> = include_str!("tests/cases/signatures.txt").lines().collect();
    assert_eq!(found, expected);
}

#[test]
fn only_helm_4_has_must_to_toml() {
    let host = FixedHost::default();
    let helm_4 = |template| render(template, &Dialect::HELM_4, &host);
    assert_eq!(
        helm_4(r#"{{ mustToToml (dict "a" 1) }}"#),
        Ok(b"a = 1\n".to_vec())
    );
    let nil_element = "toml: cannot encode array with nil element";
    assert_eq!(
        helm_4("{{ mustToToml (list nil) }}"),
        Err(nil_element.into())
    );
    let nothing = "reflect: call of reflect.Value.Type on zero Value";
    assert_eq!(helm_4("{{ mustToToml nil }}"), Err(nothing.into()));
    let undefined =
        render("{{ mustToToml 1 }}", &Dialect::HELM_3, &host).expect_err("unknown to Helm 3");
    assert!(
        undefined.contains(r#"function "mustToToml" not defined"#),
        "{undefined}"
    );
}

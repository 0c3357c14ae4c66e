//! Tests of `--set` flags with recorded results of both Helm versions. Each line of the data file is one command line.

use super::*;

const CASES: &str = include_str!("../../tests/data/set_cases.jsonl");

fn options(args: &serde_json::Value) -> ValuesOptions {
    let mut options = ValuesOptions::default();
    for argument in args.as_array().unwrap() {
        let text = argument[1].as_str().unwrap().to_owned();
        match argument[0].as_str().unwrap() {
            "--set" => options.set.push(text),
            "--set-string" => options.string.push(text),
            "--set-json" => options.json.push(text),
            "--set-file" => options.file.push(text),
            "--set-literal" => options.literal.push(text),
            other => panic!("unknown flag {other}"),
        }
    }
    options
}

fn read_file(name: &str) -> Result<Vec<u8>, ReadFileError> {
    match name {
        "f.txt" => Ok(b"file text\n".to_vec()),
        other => Err(ReadFileError(format!(
            "open {other}: no such file or directory"
        ))),
    }
}

/// The output of the template `{{ .Values | toJson }}`, or the error.
fn result(options: &ValuesOptions, profile: Profile) -> String {
    match options.merge(profile, &mut read_file) {
        Ok(values) => {
            let text = json::encode(&Value::Map(values), true).unwrap();
            format!("V {}", String::from_utf8(text).unwrap())
        }
        Err(error) => format!("E {error}"),
    }
}

#[test]
fn set_flags_have_the_results_of_both_helm_versions() {
    let mut failures = Vec::new();
    for line in CASES.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let options = options(&case["args"]);
        for (profile, name) in [(Profile::Helm3, "helm3"), (Profile::Helm4, "helm4")] {
            let expected = case[name].as_str().unwrap();
            let found = result(&options, profile);
            if found != expected {
                failures.push(format!(
                    "{name} {}\n  helm: {expected}\n  ours: {found}",
                    case["args"]
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn numbers_of_set_are_integers_and_json_numbers_are_floats() {
    let options = ValuesOptions {
        set: vec!["a=5".to_owned(), "b=true".to_owned()],
        json: vec!["c=5".to_owned()],
        string: vec!["d=5".to_owned()],
        ..ValuesOptions::default()
    };
    let values = options.merge(Profile::Helm4, &mut read_file).unwrap();
    let types: Vec<String> = values
        .entries()
        .iter()
        .map(|(_, v)| v.type_name())
        .collect();
    assert_eq!(types, ["int64", "bool", "float64", "string"]);
}

/// Each list began to count anew, and the values of an App of TKEStack overflowed the controller's stack.
#[test]
fn lists_in_maps_in_lists_are_nested_to_a_limit() {
    for (text, expected) in [
        (format!("a{}=1", "[0].a".repeat(100_000)), false),
        (format!("a{}=1", "[0]".repeat(100_000)), false),
        (format!("a{}=1", "[0].a".repeat(200)), true),
    ] {
        let options = ValuesOptions {
            set: vec![text],
            ..ValuesOptions::default()
        };
        assert_eq!(
            options.merge(Profile::Helm4, &mut read_file).is_ok(),
            expected
        );
    }
}

#[test]
fn an_expression_that_ends_unexpectedly_is_not_complete() {
    let check = |text: &str| {
        let options = ValuesOptions {
            set: vec![text.to_owned()],
            ..ValuesOptions::default()
        };
        options.check_complete().is_ok()
    };
    for text in ["a[0=3", "a=1,b[0=3", "a[0", "a[0]", "a[0].b[1"] {
        assert!(!check(text), "{text}");
    }
    for text in [
        "",
        "a=",
        "a=1",
        "a[0]=",
        "a[0]=3",
        "a={x,y}",
        "a.b=1,c[0].d=2",
        "a[0=3]",
    ] {
        assert!(check(text), "{text}");
    }
}

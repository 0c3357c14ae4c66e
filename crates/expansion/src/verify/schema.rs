//! The values of the package, overridden by those of the site, meet `values.schema.json`.
//!
//! They are checked as the values of a chart, so that a schema means the same in both.

use outrigger_chart::{File, Profile, RenderOptions, load, render, template_value};
use outrigger_gotmpl::function::NullHost;
use outrigger_gotmpl::value::Value;
use serde_json::json;

use super::Subject;
use super::charts::one_line;
use crate::definition::SCHEMA;
use crate::finding::Finding;

/// The name of the chart, which is removed from messages.
const NAME: &str = "values";

pub(super) fn check(subject: Subject<'_>, findings: &mut Vec<Finding>) {
    if subject.scanned.file(SCHEMA).is_none() {
        return;
    }
    let Some(schema) = subject.scanned.bytes(SCHEMA) else {
        findings.push(Finding::fatal(SCHEMA, "is too large"));
        return;
    };
    if let Err(error) = serde_json::from_slice::<serde_json::Value>(schema) {
        let finding = Finding::fatal(SCHEMA, "is not valid JSON").at(error.line());
        findings.push(finding);
        return;
    }
    if let Some(message) = problem(subject, schema) {
        let hint = "values are those of values.yaml, of values in expansion.yaml, and of the site";
        findings.push(Finding::fatal(SCHEMA, message).hint(hint));
    }
}

/// Why the values are not valid.
fn problem(subject: Subject<'_>, schema: &[u8]) -> Option<String> {
    let metadata = format!("apiVersion: v2\nname: {NAME}\nversion: 0.0.0\n");
    let files = vec![
        File {
            name: "Chart.yaml".to_owned(),
            data: metadata.as_bytes().into(),
        },
        File {
            name: SCHEMA.to_owned(),
            data: schema.into(),
        },
    ];
    let chart = match load::from_files(files, Profile::Helm4, &mut |_| {}) {
        Ok(chart) => chart,
        Err(error) => return Some(one_line(&error)),
    };
    let Value::Map(values) = template_value(&json!(subject.package.values)) else {
        return None;
    };
    let options = RenderOptions::new(Profile::Helm4, NAME, "default");
    let rendered = render(&chart, &values, &options, &NullHost, &mut |_| {});
    rendered.err().map(|error| shown(&error.to_string()))
}

/// `at '/zone': got number, want string`, without what Helm says about charts.
fn shown(message: &str) -> String {
    let lines = message.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && *line != format!("{NAME}:"));
    let lines = lines.filter(|line| !line.contains("in the following chart(s)"));
    let lines: Vec<&str> = lines.map(|line| line.trim_start_matches("- ")).collect();
    format!("the values do not meet it: {}", lines.join("; "))
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value as Json};

    use crate::scan::{Content, Entry, File, Scanned};
    use crate::verify_with;

    fn scanned(schema: &str) -> Scanned {
        let file = |text: &str| {
            Entry::File(File {
                size: text.len() as u64,
                mode: 0o644,
                content: Content::Bytes(text.as_bytes().to_vec()),
            })
        };
        let entries = [
            ("expansion.yaml", "name: demo\nversion: 1.0.0\n"),
            ("values.yaml", "zone: south\nport: 80\n"),
            ("values.schema.json", schema),
        ];
        let entries = entries.map(|(path, text)| (path.to_owned(), file(text)));
        Scanned {
            folder_name: "demo".to_owned(),
            entries: entries.into(),
            archive: None,
        }
    }

    fn messages(schema: &str, site: &Json) -> Vec<String> {
        let site: Map<String, Json> = site.as_object().cloned().unwrap_or_default();
        let findings = verify_with(&scanned(schema), &site);
        findings.iter().map(ToString::to_string).collect()
    }

    const SCHEMA: &str = r#"{"type": "object", "required": ["zone"], "properties": {
        "zone": {"type": "string"}, "port": {"type": "integer", "minimum": 1}
    }, "additionalProperties": false}"#;

    #[test]
    fn values_of_package_and_site_meet_the_schema() {
        assert_eq!(
            messages(SCHEMA, &serde_json::json!({"zone": "north"})),
            [""; 0]
        );
    }

    #[test]
    fn values_of_the_site_that_do_not_are_named() {
        let wrong = serde_json::json!({"zone": 1, "port": 0, "prot": 2});
        let [message] = &messages(SCHEMA, &wrong)[..] else {
            panic!("one finding is expected");
        };
        assert!(message.contains("the values do not meet it: "), "{message}");
        for word in ["zone", "port", "prot"] {
            assert!(message.contains(word), "{message}");
        }
    }

    #[test]
    fn a_schema_that_is_not_json_is_a_finding() {
        let [message] = &messages("{\n]", &Json::Null)[..] else {
            panic!("one finding is expected");
        };
        assert!(message.contains("is not valid JSON"), "{message}");
    }
}

//! Renders files of a package: Go templates with the values of the package. A missing value is an error.
//!
//! Templates reach nothing outside: no files, no clock, no randomness.

use outrigger_chart::template_value;
use outrigger_gotmpl::function::{Dialect, NullHost};
use outrigger_gotmpl::{Engine, Limits, parse};
use serde_json::Value;

/// Limits on one file, so that one that never ends fails after about a second.
const LIMITS: Limits = Limits {
    include_depth: 100,
    template_depth: 1000,
    stack_bytes: 1 << 20,
    output_bytes: 64 << 20,
    value_bytes: 64 << 20,
    memory_bytes: 256 << 20,
    steps: 5_000_000,
};

/// Why a file cannot be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("does not render: {message}")]
pub struct Error {
    pub line: Option<usize>,
    pub message: String,
    /// Whether the text is no template at all.
    pub is_syntax: bool,
}

/// Renders the text of a file.
pub fn render(text: &str, data: &Value) -> Result<Vec<u8>, Error> {
    // Messages have the location after this name.
    const NAME: &str = "file";
    let parsed = parse(NAME, text, &Dialect::HELM_4).map_err(|error| Error {
        line: Some(error.line),
        message: error.message,
        is_syntax: true,
    })?;
    let mut engine = Engine::new(Dialect::HELM_4, LIMITS).strict(true);
    engine.add(parsed);
    let mut output = Vec::new();
    let executed = engine.execute(NAME, &template_value(data), &NullHost, &mut output);
    executed.map_err(|error| located(NAME, &error.to_string()))?;
    Ok(output)
}

/// Splits `template: NAME:LINE:COLUMN: executing "NAME" at <NODE>: MESSAGE`.
fn located(name: &str, text: &str) -> Error {
    let rest = text.strip_prefix(&format!("template: {name}:"));
    let line = rest.and_then(|rest| rest.split(':').next()?.parse().ok());
    let executing = format!("executing {name:?} at ");
    let message = text.split_once(&executing).map_or(text, |(_, rest)| rest);
    Error {
        line,
        message: message.to_owned(),
        is_syntax: false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str) -> Result<String, Error> {
        let data = json!({"Values": {"port": 1_000_000, "on": false, "hosts": ["a", "b"]}});
        render(text, &data).map(|output| String::from_utf8(output).unwrap())
    }

    #[test]
    fn values_are_printed_as_they_are_written() {
        let text = "{{ .Values.port }} {{ .Values.on }} {{ join \",\" .Values.hosts }}";
        assert_eq!(check(text).unwrap(), "1000000 false a,b");
    }

    #[test]
    fn errors_have_a_line() {
        let error = check("a\n\n{{ .Values.gone }}\n").unwrap_err();
        let message = "<.Values.gone>: map has no entry for key \"gone\"".to_owned();
        assert_eq!((error.line, error.message), (Some(3), message));
        assert!(!error.is_syntax);
        assert_eq!(check("a\n{{ if }}\n").unwrap_err().line, Some(2));
    }

    #[test]
    fn templates_that_never_end_are_errors() {
        assert!(
            check("{{ range until 100000 }}{{ range until 100000 }}x{{ end }}{{ end }}").is_err()
        );
    }
}

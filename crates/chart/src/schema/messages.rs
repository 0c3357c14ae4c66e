//! The errors of the newest drafts in the words of Helm 4.

use std::fmt::Write;

use boon::{CompileError, ErrorKind, InstanceToken, ValidationError};
use serde_json::{Number, Value as Json};

use outrigger_gotmpl::go;

/// All errors as an indented list, with a final line break.
pub(super) fn validation(error: &ValidationError<'_, '_>) -> String {
    let mut out = String::new();
    // Helm cuts the line that names the schema, so the list begins with its causes.
    if let ErrorKind::Schema { .. } = error.kind {
        for cause in &error.causes {
            list(&mut out, cause, 1);
        }
    } else {
        list(&mut out, error, 1);
    }
    let mut out = out.strip_prefix('\n').unwrap_or(&out).to_owned();
    out.push('\n');
    out
}

fn list(out: &mut String, error: &ValidationError<'_, '_>, indent: usize) {
    let is_transparent =
        error.causes.len() == 1 && matches!(error.kind, ErrorKind::Reference { .. });
    let mut below = indent;
    if !is_transparent {
        out.push('\n');
        for _ in 1..indent {
            out.push_str("  ");
        }
        let location = pointer(&error.instance_location.tokens);
        let _ = write!(out, "- at {}: ", quote(&location));
        describe(out, &error.kind);
        below += 1;
    }
    for cause in &error.causes {
        list(out, cause, below);
    }
}

fn pointer(tokens: &[InstanceToken<'_>]) -> String {
    let mut out = String::new();
    for token in tokens {
        out.push('/');
        match token {
            InstanceToken::Prop(name) => {
                out.push_str(&name.replace('~', "~0").replace('/', "~1"));
            }
            InstanceToken::Item(index) => {
                let _ = write!(out, "{index}");
            }
        }
    }
    out
}

#[expect(clippy::too_many_lines, reason = "one line per kind of error")]
fn describe(out: &mut String, kind: &ErrorKind<'_, '_>) {
    let text = match kind {
        ErrorKind::Group | ErrorKind::Reference { .. } => "validation failed".to_owned(),
        ErrorKind::Schema { url } => format!("jsonschema validation failed with {}", quote(url)),
        ErrorKind::ContentSchema => "'contentSchema' failed".to_owned(),
        ErrorKind::PropertyName { prop } => format!("invalid propertyName {}", quote(prop)),
        ErrorKind::RefCycle {
            url,
            kw_loc1,
            kw_loc2,
        } => format!(
            "both {kw_loc1} and {kw_loc2} resolve to {} causing reference cycle",
            go::quote(url)
        ),
        ErrorKind::FalseSchema => "false schema".to_owned(),
        ErrorKind::Type { got, want } => {
            let want: Vec<String> = want.iter().map(|wanted| wanted.to_string()).collect();
            format!("got {got}, want {}", want.join(" or "))
        }
        ErrorKind::Enum { want } => allowed(want),
        ErrorKind::Const { want } => match want {
            Json::Array(_) | Json::Object(_) => "'const' failed".to_owned(),
            want => format!("value must be {}", display(want)),
        },
        ErrorKind::Format { got, want, err } => {
            format!("{} is not valid {want}: {err}", display(got))
        }
        ErrorKind::MinProperties { got, want } => counts("minProperties", *got, *want),
        ErrorKind::MaxProperties { got, want } => counts("maxProperties", *got, *want),
        ErrorKind::AdditionalProperties { got } => {
            let names = joined(got.iter().map(AsRef::as_ref));
            format!("additional properties {names} not allowed")
        }
        ErrorKind::Required { want } => match want.as_slice() {
            [only] => format!("missing property {}", quote(only)),
            several => format!("missing properties {}", joined(several.iter().copied())),
        },
        ErrorKind::Dependency { prop, missing }
        | ErrorKind::DependentRequired { prop, missing } => {
            let missing = joined(missing.iter().copied());
            format!("properties {missing} required, if {} exists", quote(prop))
        }
        ErrorKind::MinItems { got, want } => counts("minItems", *got, *want),
        ErrorKind::MaxItems { got, want } => counts("maxItems", *got, *want),
        ErrorKind::Contains => "no items match contains schema".to_owned(),
        ErrorKind::MinContains { got, want } if got.is_empty() => format!(
            "min {} items required to match contains schema, but none matched",
            grouped(*want)
        ),
        ErrorKind::MinContains { got, want } => contained("min", got, *want),
        ErrorKind::MaxContains { got, want } => contained("max", got, *want),
        ErrorKind::UniqueItems {
            got: [first, second],
        } => format!(
            "items at {} and {} are equal",
            grouped(*first),
            grouped(*second)
        ),
        ErrorKind::AdditionalItems { got } => {
            format!("last {} additionalItem(s) not allowed", grouped(*got))
        }
        ErrorKind::MinLength { got, want } => counts("minLength", *got, *want),
        ErrorKind::MaxLength { got, want } => counts("maxLength", *got, *want),
        ErrorKind::Pattern { got, want } => {
            format!("{} does not match pattern {}", quote(got), quote(want))
        }
        ErrorKind::ContentEncoding { want, err } => {
            format!("value is not {} encoded: {err}", quote(want))
        }
        ErrorKind::ContentMediaType { want, err, .. } => {
            format!("value if not of mediatype {}: {err}", quote(want))
        }
        ErrorKind::Minimum { got, want } => numbers("minimum", got, want),
        ErrorKind::Maximum { got, want } => numbers("maximum", got, want),
        ErrorKind::ExclusiveMinimum { got, want } => numbers("exclusiveMinimum", got, want),
        ErrorKind::ExclusiveMaximum { got, want } => numbers("exclusiveMaximum", got, want),
        ErrorKind::MultipleOf { got, want } => numbers("multipleOf", got, want),
        ErrorKind::Not => "'not' failed".to_owned(),
        ErrorKind::AllOf => "'allOf' failed".to_owned(),
        ErrorKind::AnyOf => "'anyOf' failed".to_owned(),
        ErrorKind::OneOf(None) => "'oneOf' failed, none matched".to_owned(),
        ErrorKind::OneOf(Some((first, second))) => format!(
            "'oneOf' failed, subschemas {}, {} matched",
            grouped(*first),
            grouped(*second)
        ),
    };
    out.push_str(&text);
}

fn allowed(want: &[Json]) -> String {
    if want.iter().any(|item| item.is_array() || item.is_object()) {
        return "'enum' failed".to_owned();
    }
    let shown: Vec<String> = want.iter().map(display).collect();
    match shown.as_slice() {
        [only] => format!("value must be {only}"),
        several => format!("value must be one of {}", several.join(", ")),
    }
}

fn counts(keyword: &str, got: usize, want: usize) -> String {
    format!("{keyword}: got {}, want {}", grouped(got), grouped(want))
}

fn contained(side: &str, got: &[usize], want: usize) -> String {
    let places: Vec<String> = got.iter().map(ToString::to_string).collect();
    format!(
        "{side} {} items required to match contains schema, but matched {} items at {}",
        grouped(want),
        grouped(got.len()),
        places.join(" ")
    )
}

fn numbers(keyword: &str, got: &Number, want: &Number) -> String {
    format!(
        "{keyword}: got {}, want {}",
        localized(got),
        localized(want)
    )
}

/// A whole number with commas, as the English printer of Go writes it.
fn grouped(number: usize) -> String {
    group(&number.to_string())
}

fn group(digits: &str) -> String {
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number as the English printer of Go writes a float: commas, and at most three decimals are not cut.
fn localized(number: &Number) -> String {
    let x = number.as_f64().unwrap_or_default();
    let text = format!("{}", x.abs());
    let sign = if x < 0.0 { "-" } else { "" };
    match text.split_once('.') {
        Some((whole, decimals)) => format!("{sign}{}.{decimals}", group(whole)),
        None => format!("{sign}{}", group(&text)),
    }
}

/// A value as Go's `%v` prints it, text in quotes.
fn display(value: &Json) -> String {
    match value {
        Json::String(text) => quote(text),
        Json::Array(_) | Json::Object(_) => "value".to_owned(),
        Json::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

fn joined<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.map(quote).collect();
    quoted.join(", ")
}

/// Single quotes around what Go's `%q` would print.
fn quote(text: &str) -> String {
    let quoted = go::quote(text);
    let inner = &quoted[1..quoted.len() - 1];
    let inner = inner.replace("\\\"", "\"").replace('\'', "\\'");
    format!("'{inner}'")
}

/// Why a schema itself cannot be used.
pub(super) fn compile(error: &CompileError) -> String {
    match error {
        CompileError::ValidationError { url, src } => {
            let details = validation(src);
            format!(
                "{} is not valid against metaschema: {}",
                go::quote(url),
                details.trim_end()
            )
        }
        CompileError::LoadUrlError { url, src } => {
            format!("failing loading {}: {src}", go::quote(url))
        }
        CompileError::UnsupportedUrlScheme { url } => {
            format!("no URLLoader registered for {}", go::quote(url))
        }
        CompileError::JsonPointerNotFound(location) => {
            format!("json-pointer in {} not found", go::quote(location))
        }
        CompileError::InvalidRegex { url, regex, src } => {
            let (regex, url) = (go::quote(regex), go::quote(url));
            format!("invalid regex {regex} at {url}: {src}")
        }
        other => other.to_string(),
    }
}

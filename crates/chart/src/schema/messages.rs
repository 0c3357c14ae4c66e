//! Converts errors of boon to the messages of Helm 4, santhosh-tekuri/jsonschema.

use std::fmt::Write;

use boon::{CompileError, ErrorKind, InstanceToken, ValidationError};
use serde_json::{Number, Value as Json};

use outrigger_gostd::strconv;

use super::formats;

/// All errors as an indented list, with a final newline. Helm removes the line with the URL of the schema.
pub(super) fn validation(error: &ValidationError<'_, '_>) -> String {
    let mut out = String::new();
    list_all(&mut out, error);
    let mut out = out.strip_prefix('\n').unwrap_or(&out).to_owned();
    out.push('\n');
    out
}

/// The causes below the line with the URL of the schema.
fn list_all(out: &mut String, error: &ValidationError<'_, '_>) {
    if let ErrorKind::Schema { url } = error.kind {
        list_causes(out, error, url, 1);
    } else {
        list(out, error, error.schema_url, 1);
    }
}

/// The causes of a schema or of a reference. Several causes are a group, whose line is only printed if the group is
/// inside alternatives.
fn list_causes(out: &mut String, error: &ValidationError<'_, '_>, base: &str, indent: usize) {
    let shared = shared_schema(&error.causes);
    let tokens = error
        .causes
        .first()
        .map_or(&[][..], |cause| &cause.instance_location.tokens);
    let depth = shared.map_or(0, |shared| {
        let path = error.causes[0]
            .schema_url
            .strip_prefix(shared)
            .unwrap_or_default();
        tokens.len().saturating_sub(depth_of(path))
    });
    let wrappers = shared.map_or_else(Vec::new, |shared| omitted_wrappers(base, shared, depth));
    let (mut base, mut indent) = (base, indent);
    if let Some(shared) = shared.filter(|_| !wrappers.is_empty()) {
        for wrapper in wrappers {
            line(out, &tokens[..wrapper.depth], wrapper.text, indent);
            indent += 1;
        }
        line(out, &tokens[..depth], "validation failed", indent);
        indent += 1;
        base = shared;
    }
    for cause in &error.causes {
        list(out, cause, base, indent);
    }
}

/// The innermost schema that contains all errors.
fn shared_schema<'s>(causes: &[ValidationError<'s, '_>]) -> Option<&'s str> {
    let [first, rest @ ..] = causes else {
        return None;
    };
    if rest.is_empty() {
        return None;
    }
    let mut shared = first.schema_url;
    for cause in rest {
        while !is_below(cause.schema_url, shared) {
            shared = shared.rsplit_once('/')?.0;
        }
    }
    // An index or a name is part of the preceding keyword: the schema ends before the keyword.
    let last = shared.rsplit('/').next().unwrap_or_default();
    let is_keyword = matches!(
        last,
        "properties" | "patternProperties" | "allOf" | "anyOf" | "oneOf"
    );
    if is_keyword {
        shared = shared.rsplit_once('/')?.0;
    }
    Some(shared)
}

fn is_below(url: &str, base: &str) -> bool {
    url.strip_prefix(base)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Lists an error and its causes. `base` is the URL of the schema that was validated.
fn list(out: &mut String, error: &ValidationError<'_, '_>, base: &str, indent: usize) {
    let tokens = &error.instance_location.tokens;
    let mut indent = indent;
    for wrapper in omitted_wrappers(base, error.schema_url, tokens.len()) {
        line(out, &tokens[..wrapper.depth], wrapper.text, indent);
        indent += 1;
    }
    let is_transparent =
        error.causes.len() == 1 && matches!(error.kind, ErrorKind::Reference { .. });
    if !is_transparent {
        line(out, tokens, &description(&error.kind), indent);
        indent += 1;
    }
    if let ErrorKind::Reference { url, .. } = error.kind {
        list_causes(out, error, url, indent);
        return;
    }
    for cause in &error.causes {
        let base = match &error.kind {
            ErrorKind::AllOf => alternative(error.schema_url, "allOf", cause.schema_url),
            ErrorKind::AnyOf => alternative(error.schema_url, "anyOf", cause.schema_url),
            ErrorKind::OneOf(_) => alternative(error.schema_url, "oneOf", cause.schema_url),
            _ => error.schema_url.to_owned(),
        };
        list(out, cause, &base, indent);
    }
}

fn line(out: &mut String, location: &[InstanceToken<'_>], text: &str, indent: usize) {
    out.push('\n');
    for _ in 1..indent {
        out.push_str("  ");
    }
    let _ = write!(out, "- at {}: {text}", quote(&pointer(location)));
}

/// The line of a group of alternatives with a single error. boon omits the group, Helm prints it. The URL of the failed
/// schema shows which groups are omitted.
struct Wrapper {
    text: &'static str,
    /// The depth of the group in the values.
    depth: usize,
}

fn omitted_wrappers(base: &str, url: &str, depth: usize) -> Vec<Wrapper> {
    let Some(path) = url.strip_prefix(base) else {
        return Vec::new();
    };
    let total = depth_of(path);
    let mut current = 0;
    let mut wrappers = Vec::new();
    for keyword in keywords(path) {
        let text = match keyword {
            "allOf" => "'allOf' failed",
            "anyOf" => "'anyOf' failed",
            "oneOf" => "'oneOf' failed, none matched",
            other => {
                current += usize::from(descends(other));
                continue;
            }
        };
        let depth = depth.saturating_sub(total - current);
        wrappers.push(Wrapper { text, depth });
    }
    wrappers
}

/// The depth in the values that a path through a schema corresponds to.
fn depth_of(path: &str) -> usize {
    keywords(path).filter(|keyword| descends(keyword)).count()
}

/// Whether a keyword applies to the children of a value.
fn descends(keyword: &str) -> bool {
    matches!(
        keyword,
        "properties"
            | "patternProperties"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "additionalItems"
            | "unevaluatedItems"
            | "items"
            | "prefixItems"
    )
}

/// The keywords of a path through a schema, without their names and indices.
fn keywords(path: &str) -> impl Iterator<Item = &str> {
    let mut tokens = path.split('/').filter(|token| !token.is_empty()).peekable();
    std::iter::from_fn(move || {
        let keyword = tokens.next()?;
        let is_index = |next: &&str| next.bytes().all(|b| b.is_ascii_digit());
        match keyword {
            "properties" | "patternProperties" | "dependentSchemas" | "dependencies" | "$defs"
            | "definitions" => {
                tokens.next();
            }
            "allOf" | "anyOf" | "oneOf" | "items" | "prefixItems" => {
                tokens.next_if(is_index);
            }
            _ => {}
        }
        Some(keyword)
    })
}

/// The URL of the alternative that contains a cause.
fn alternative(group: &str, keyword: &str, cause: &str) -> String {
    let prefix = format!("{group}/{keyword}/");
    let index = cause
        .strip_prefix(&prefix)
        .and_then(|rest| rest.split('/').next());
    index.map_or_else(|| group.to_owned(), |index| format!("{prefix}{index}"))
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
fn description(kind: &ErrorKind<'_, '_>) -> String {
    match kind {
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
            strconv::quote(url)
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
            let reason = got.as_str().and_then(|text| formats::error(want, text));
            let reason = reason.unwrap_or_else(|| err.to_string());
            format!("{} is not valid {want}: {reason}", display(got))
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
    }
}

fn allowed(want: &[Json]) -> String {
    if want.iter().any(|item| item.is_array() || item.is_object()) {
        return "'enum' failed".to_owned();
    }
    let values: Vec<String> = want.iter().map(display).collect();
    match values.as_slice() {
        [only] => format!("value must be {only}"),
        several => format!("value must be one of {}", several.join(", ")),
    }
}

fn counts(keyword: &str, got: usize, want: usize) -> String {
    format!("{keyword}: got {}, want {}", grouped(got), grouped(want))
}

fn contained(side: &str, got: &[usize], want: usize) -> String {
    let indices: Vec<String> = got.iter().map(ToString::to_string).collect();
    format!(
        "{side} {} items required to match contains schema, but matched {} items at {}",
        grouped(want),
        grouped(got.len()),
        indices.join(" ")
    )
}

fn numbers(keyword: &str, got: &Number, want: &Number) -> String {
    format!(
        "{keyword}: got {}, want {}",
        localized(got),
        localized(want)
    )
}

/// An integer with thousands separators, as Go's message printer for English formats it.
fn grouped(number: usize) -> String {
    group(&number.to_string())
}

fn group(digits: &str) -> String {
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A float with thousands separators, or with a superscript exponent where `%v` has one, as Go's message printer for
/// English formats it.
fn localized(number: &Number) -> String {
    let text = strconv::format_float(number.as_f64().unwrap_or_default(), b'g', None);
    if let Some((mantissa, exponent)) = text.split_once('e') {
        let exponent: String = exponent.chars().filter_map(superscript).collect();
        return format!("{mantissa}×10{exponent}");
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.as_str()),
    };
    match digits.split_once('.') {
        Some((whole, decimals)) => format!("{sign}{}.{decimals}", group(whole)),
        None => format!("{sign}{}", group(digits)),
    }
}

fn superscript(c: char) -> Option<char> {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    match c {
        '-' => Some('⁻'),
        c => DIGITS.get(c.to_digit(10)? as usize).copied(),
    }
}

/// Go's `%v` of a value, with quoted strings.
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

/// Go's `%q` with single quotes.
fn quote(text: &str) -> String {
    let quoted = strconv::quote(text);
    let inner = &quoted[1..quoted.len() - 1];
    let inner = inner.replace("\\\"", "\"").replace('\'', "\\'");
    format!("'{inner}'")
}

/// The error about an invalid schema.
pub(super) fn compile(error: &CompileError) -> String {
    match error {
        CompileError::ValidationError { url, src } => {
            let mut text = format!("{} is not valid against metaschema: ", strconv::quote(url));
            text.push_str(&description(&src.kind));
            list_all(&mut text, src);
            text
        }
        CompileError::LoadUrlError { url, src } => {
            format!("failing loading {}: {src}", strconv::quote(url))
        }
        CompileError::UnsupportedUrlScheme { url } => {
            format!("no URLLoader registered for {}", strconv::quote(url))
        }
        CompileError::JsonPointerNotFound(location) => {
            format!("json-pointer in {} not found", strconv::quote(location))
        }
        CompileError::InvalidRegex { url, regex, src } => {
            let (regex, url) = (strconv::quote(regex), strconv::quote(url));
            format!("invalid regex {regex} at {url}: {src}")
        }
        // Its own text asks to report a bug, also for a pattern that is too large.
        CompileError::Bug(cause) => format!("failed to compile the schema: {cause}"),
        other => other.to_string(),
    }
}

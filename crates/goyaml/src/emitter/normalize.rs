//! The effect of the conversion to JSON on a string: `toYaml` marshals to JSON, which go-yaml then parses.

use std::borrow::Cow;

use crate::error::Error;

/// The maximum length of a simple key.
const MAX_JSON_KEY: usize = 1024;

/// The string after the conversion. go-yaml folds an unescaped NEL as a line break, and rejects some characters that JSON
/// does not escape, and long keys.
pub(super) fn through_json(text: &str, is_key: bool) -> Result<Cow<'_, str>, Error> {
    if is_key && is_too_long(text) {
        return Err(key_error());
    }
    if text.is_ascii() && !text.as_bytes().contains(&0x7F) {
        return Ok(Cow::Borrowed(text));
    }
    let is_forbidden =
        |c: char| matches!(c, '\u{7F}'..='\u{9F}' | '\u{FFFE}' | '\u{FFFF}') && c != '\u{85}';
    if text.contains(is_forbidden) {
        return Err(Error::Encoding("control characters are not allowed"));
    }
    if !text.contains('\u{85}') {
        return Ok(Cow::Borrowed(text));
    }
    if is_key {
        return Err(key_error());
    }
    fold(text).map(Cow::Owned)
}

fn key_error() -> Error {
    Error::Syntax {
        line: None,
        problem: "did not find expected ',' or '}'",
    }
}

fn is_too_long(key: &str) -> bool {
    // A character takes at most six characters in JSON, and there are two quotes.
    key.len() > (MAX_JSON_KEY - 2) / 6
        && 2 + key.chars().map(json_length).sum::<usize>() > MAX_JSON_KEY
}

fn json_length(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{C}' => 2,
        '\0'..='\u{1F}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => 6,
        _ => 1,
    }
}

/// Folds each run of NELs and the spaces around it as a double-quoted scalar does.
fn fold(text: &str) -> Result<String, Error> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{85}') {
        out.push_str(rest[..at].trim_end_matches(' '));
        let after = rest[at..].trim_start_matches(['\u{85}', ' ']);
        let run = &rest[at..rest.len() - after.len()];
        let breaks = run.matches('\u{85}').count();
        match breaks {
            1 => out.push(' '),
            _ => out.extend(std::iter::repeat_n('\n', breaks - 1)),
        }
        if run.ends_with('\u{85}') && starts_document(after) {
            return Err(Error::Syntax {
                line: Some(2),
                problem: "found unexpected document indicator",
            });
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

fn starts_document(line: &str) -> bool {
    let after = line
        .strip_prefix("---")
        .or_else(|| line.strip_prefix("..."));
    after.is_some_and(|after| after.starts_with([' ', '\u{85}']))
}

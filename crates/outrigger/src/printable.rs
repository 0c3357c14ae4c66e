//! Text of charts, repositories, clusters and machines, as a terminal may show it: a terminal obeys escape sequences, and
//! with them such a text could rewrite what was printed, or write to the clipboard.
//!
//! The printer, the reports on stderr, the live area and the log call this for everything that they write, so that no
//! command can forget it. Colors are added afterwards.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// A text as one line, without control characters, escape sequences and marks that change the direction of text.
pub(crate) fn line(text: &str) -> String {
    lines(text).replace(['\n', '\t'], " ")
}

/// The lines of a message as one. Lines that begin an enumeration, or belong to one, are not separated from it.
pub(crate) fn joined(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    for line in lines.map(line) {
        let continues = joined.ends_with([':', ';', ',', '.']) || line.starts_with(['-', '|']);
        match (joined.is_empty(), continues) {
            (true, _) => {}
            (false, true) => joined.push(' '),
            (false, false) => joined.push_str("; "),
        }
        joined.push_str(&line);
    }
    joined
}

/// The beginning of a line that fits into the columns, with `…` if something is missing.
pub(crate) fn cut(line: &str, columns: usize) -> String {
    if line.width() <= columns {
        return line.to_owned();
    }
    let mut width = 1;
    let kept = line.chars().take_while(|c| {
        width += c.width().unwrap_or(0);
        width <= columns
    });
    let kept: String = kept.collect();
    format!("{}…", kept.trim_end())
}

/// A text with its line feeds and tabs, and else without what a terminal obeys.
pub(crate) fn lines(text: &str) -> String {
    let mut text = without_escape_sequences(text);
    text.retain(|c| matches!(c, '\n' | '\t') || !is_obeyed(c));
    text
}

/// Data of which nothing may be missing: what a terminal obeys is written as in JSON, such as `\u001b`.
pub(crate) fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let is_line_end = c == '\n' || c == '\r' && chars.peek() == Some(&'\n');
        if is_obeyed(c) && !is_line_end && c != '\t' {
            shown.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Whether a terminal does something else with a character than to show it.
fn is_obeyed(c: char) -> bool {
    c.is_control() || is_separator(c) || is_direction(c)
}

fn is_separator(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

/// Whether a character changes the direction of text, so that it reads as another one.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Removes escape sequences with their parameters and texts. Of one that does not end, only the beginning is removed, so
/// that it hides nothing.
fn without_escape_sequences(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        rest = match c {
            '\x1b' => after_escape(rest),
            '\u{9b}' => after_control_sequence(rest),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => after_string(rest),
            c => {
                kept.push(c);
                rest
            }
        };
    }
    kept
}

/// What follows ESC and its sequence.
fn after_escape(rest: &str) -> &str {
    let mut chars = rest.chars();
    match chars.next() {
        Some('[') => after_control_sequence(chars.as_str()),
        Some(']' | 'P' | 'X' | '^' | '_') => after_string(chars.as_str()),
        // Intermediate characters, then a final one, such as `ESC ( B`.
        Some(' '..='/') => {
            let last = rest.trim_start_matches(|c: char| (' '..='/').contains(&c));
            last.strip_prefix(|c: char| ('0'..='~').contains(&c))
                .unwrap_or(last)
        }
        Some('0'..='~') => chars.as_str(),
        _ => rest,
    }
}

/// What follows parameters and one final character.
fn after_control_sequence(rest: &str) -> &str {
    let last = rest.trim_start_matches(|c: char| (' '..='?').contains(&c));
    last.strip_prefix(|c: char| ('@'..='~').contains(&c))
        .unwrap_or(last)
}

/// What follows a text up to BEL or ST, if it ends in this line.
fn after_string(rest: &str) -> &str {
    let line = rest.split('\n').next().unwrap_or_default();
    let Some(end) = line.find(['\x07', '\x1b', '\u{9c}']) else {
        return rest;
    };
    let after = &rest[end..];
    after.strip_prefix("\x1b\\").unwrap_or_else(|| {
        let mut chars = after.chars();
        match chars.next() {
            // Another sequence follows.
            Some('\x1b') => after,
            _ => chars.as_str(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_of_other_systems_do_not_reach_the_terminal() {
        let cases = [
            ("a\x1b[31mred\x1b[0m", "ared"),
            ("\x1b]52;c;ZXZpbA==\x07clip", "clip"),
            ("\x1b]0;title\x1b\\text", "text"),
            ("\x1b]0;title\x1b[31mtext", "text"),
            ("\u{9d}0;title\u{9c}text", "text"),
            ("\u{9b}2Jtext\u{202e}\x07\r", "text"),
            ("\x1b(0text\x1b7\x1bc", "text"),
            ("Failed\rReady\u{2028}", "FailedReady"),
            ("two\nlines\tand a tab", "two lines and a tab"),
            ("日本 …", "日本 …"),
        ];
        for (text, expected) in cases {
            assert_eq!(line(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_sequence_that_does_not_end_hides_nothing() {
        assert_eq!(line("\x1b]0;the error"), "0;the error");
        assert_eq!(line("\x1b[日本"), "日本");
        assert_eq!(line("\x1b[3"), "");
        assert_eq!(line("text\x1b"), "text");
        assert_eq!(line("\x1b\x1b[31mred"), "red");
    }

    #[test]
    fn several_lines_stay_several_lines() {
        assert_eq!(
            lines("one\r\n\x1b]0;two\nthree\x1b[2J\n"),
            "one\n0;two\nthree\n"
        );
    }

    #[test]
    fn the_lines_of_a_message_are_joined_as_sentences() {
        let schema = "values don't meet the schema(s) in the following chart(s):\nweb:\n- at '/a': got string\n";
        assert_eq!(
            joined(schema),
            "values don't meet the schema(s) in the following chart(s): web: - at '/a': got string"
        );
        let timeout = "Deployment web not ready. message: Available: 0/1\ntimed out waiting";
        assert_eq!(
            joined(timeout),
            "Deployment web not ready. message: Available: 0/1; timed out waiting"
        );
        assert_eq!(joined("\x1b[31mone\r\n\n  two  "), "one; two");
    }

    #[test]
    fn data_is_escaped_without_losing_anything() {
        let json = serde_json::to_string("esc\x1b csi\u{9b} rlo\u{202e} del\x7f").unwrap();
        let shown = escaped(&json);
        assert_eq!(shown, r#""esc\u001b csi\u009b rlo\u202e del\u007f""#);
        let parsed: String = serde_json::from_str(&shown).unwrap();
        assert_eq!(parsed, "esc\x1b csi\u{9b} rlo\u{202e} del\x7f");
        assert_eq!(escaped("a: b\r\n\tc\rd"), "a: b\r\n\tc\\u000dd");
    }
}

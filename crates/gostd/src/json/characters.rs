//! Characters in JSON texts that Go's decoder replaces, where RFC 8259 leaves the behavior open.

use std::borrow::Cow;

/// Replaces escapes of surrogates without a partner, and bytes that are not UTF-8, by U+FFFD, as `json.Unmarshal` does.
/// The text must be valid JSON otherwise.
pub fn replace_invalid_characters(json: &[u8]) -> Cow<'_, [u8]> {
    let text = match String::from_utf8_lossy(json) {
        Cow::Borrowed(_) => Cow::Borrowed(json),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    };
    let lone = lone_surrogates(&text);
    if lone.is_empty() {
        return text;
    }
    let mut text = text.into_owned();
    for at in lone {
        text[at..at + 6].copy_from_slice(br"\ufffd");
    }
    Cow::Owned(text)
}

/// Where the escapes of surrogates without a partner begin.
fn lone_surrogates(text: &[u8]) -> Vec<usize> {
    let mut lone = Vec::new();
    let mut at = 0;
    while let Some(backslash) = memchr::memchr(b'\\', &text[at..]) {
        at += backslash;
        match escaped_unit(&text[at..]) {
            Some(0xd800..=0xdbff)
                if matches!(escaped_unit(&text[at + 6..]), Some(0xdc00..=0xdfff)) =>
            {
                at += 12;
            }
            Some(0xd800..=0xdfff) => {
                lone.push(at);
                at += 6;
            }
            Some(_) => at += 6,
            // Another escape: a backslash that is escaped begins none.
            None => at = text.len().min(at + 2),
        }
    }
    lone
}

/// The UTF-16 code unit of an escape `\uXXXX` at the start of the text.
fn escaped_unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(br"\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_surrogates_without_a_partner_are_replaced() {
        for (text, expected) in [
            (r#""\ud800""#, r#""\ufffd""#),
            (r#""x\uDC00y""#, r#""x\ufffdy""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ud800\ud800\udc00""#, r#""\ufffd\ud800\udc00""#),
            (r#""\udc00\ud800""#, r#""\ufffd\ufffd""#),
            (r#""\\ud800\\\ud800""#, r#""\\ud800\\\ufffd""#),
            (r#""\ud800\n""#, r#""\ufffd\n""#),
        ] {
            let replaced = replace_invalid_characters(text.as_bytes());
            assert_eq!(String::from_utf8_lossy(&replaced), expected, "{text}");
        }
        assert_eq!(
            *replace_invalid_characters(b"\"\xff\""),
            *"\"\u{fffd}\"".as_bytes()
        );
    }
}

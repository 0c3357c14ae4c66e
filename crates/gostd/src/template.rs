//! `text/template`: the escapes for HTML and JavaScript.

use crate::unicode::{RUNE_ERROR, decode_rune, is_print};

/// `template.HTMLEscape`
pub fn html_escape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            0 => out.extend_from_slice("\u{fffd}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            other => out.push(*other),
        }
    }
    out
}

/// `template.JSEscape`
pub fn js_escape(text: &[u8]) -> Vec<u8> {
    let mut rest = text;
    let mut out = Vec::with_capacity(text.len());
    while let Some(first) = rest.first() {
        let (c, length) = decode_rune(rest).unwrap_or((RUNE_ERROR, 1));
        match first {
            b'\\' => out.extend_from_slice(br"\\"),
            b'\'' => out.extend_from_slice(br"\'"),
            b'"' => out.extend_from_slice(br#"\""#),
            b'<' | b'>' | b'&' | b'=' | 0..b' ' => push_unicode(&mut out, c),
            0x80.. if !is_print(c) => push_unicode(&mut out, c),
            _ => out.extend_from_slice(&rest[..length]),
        }
        rest = &rest[length..];
    }
    out
}

fn push_unicode(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(format!("\\u{:04X}", u32::from(c)).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_as_go_does() {
        assert_eq!(
            html_escape(b"<a href=\"x\">it's\0</a>"),
            "&lt;a href=&#34;x&#34;&gt;it&#39;s\u{fffd}&lt;/a&gt;".as_bytes()
        );
        assert_eq!(
            js_escape("it's <\"a\\b\">=\n\u{fc}\u{ad}".as_bytes()),
            "it\\'s \\u003C\\\"a\\\\b\\\"\\u003E\\u003D\\u000A\u{fc}\\u00AD".as_bytes()
        );
    }
}

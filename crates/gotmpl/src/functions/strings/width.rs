//! Truncating and wrapping text to a width in bytes.

use memchr::memrchr;

use crate::function::Call;
use crate::functions::args::{bytes, int, string};
use crate::functions::{CallResult, MAX_TEXT, too_large};
use crate::value::Value;

pub(super) fn abbrev(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let width = int(args, 0);
    if width < 4 {
        return Ok(Value::Str(string(args, 1)));
    }
    Ok(Value::str(abbreviated(bytes(args, 1), 0, width)))
}

pub(super) fn abbrev_both(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let (left, right) = (int(args, 0), int(args, 1));
    if right < 4 || (left > 0 && right < 7) {
        return Ok(Value::Str(string(args, 2)));
    }
    Ok(Value::str(abbreviated(bytes(args, 2), left, right)))
}

/// At most `width` bytes from about `offset` on, with `...` in place of omitted text.
fn abbreviated(text: &[u8], offset: i64, width: i64) -> Vec<u8> {
    let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
    if length <= width {
        return text.to_vec();
    }
    let room = width - 3;
    let mut offset = offset.min(length);
    // A very small offset overflows in Go.
    if length.wrapping_sub(offset) < room {
        offset = length - room;
    }
    let at = |position: i64| usize::try_from(position).unwrap_or(0).min(text.len());
    if offset <= 4 {
        return [&text[..at(room)], b"..."].concat();
    }
    if width < 7 {
        return Vec::new();
    }
    if offset + room < length {
        let tail = abbreviated(&text[at(offset)..], 0, room);
        return [b"...", &tail[..]].concat();
    }
    [b"...", &text[at(length - room)..]].concat()
}

pub(super) fn wrap(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    wrapped(bytes(args, 1), int(args, 0), b"\n", false)
}

pub(super) fn wrap_with(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let separator = bytes(args, 1);
    let separator = if separator.is_empty() {
        b"\n"
    } else {
        separator
    };
    wrapped(bytes(args, 2), int(args, 0), separator, true)
}

/// Breaks lines at spaces, and words that exceed the width only with `cut_words`.
fn wrapped(text: &[u8], width: i64, separator: &[u8], cut_words: bool) -> CallResult {
    let width = usize::try_from(width).unwrap_or(0).max(1);
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    while text.len() - from > width {
        if text[from] == b' ' {
            from += 1;
            continue;
        }
        let end = from + width;
        let (line_end, next) = if let Some(space) = memrchr(b' ', &text[from..=end]) {
            (from + space, from + space + 1)
        } else if cut_words {
            (end, end)
        } else if let Some(space) = memchr::memchr(b' ', &text[end..]) {
            (end + space, end + space + 1)
        } else {
            break;
        };
        out.extend_from_slice(&text[from..line_end]);
        out.extend_from_slice(separator);
        if out.len() > MAX_TEXT {
            return Err(too_large());
        }
        from = next;
    }
    out.extend_from_slice(&text[from..]);
    Ok(Value::str(out))
}

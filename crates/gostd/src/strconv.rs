//! `strconv`: numbers and literals to text and back.

mod float;
mod parse;
mod quote;
mod unquote;

pub use float::{append_float, format_float, format_float32};
pub use parse::{NumError, parse_float, parse_int, parse_uint};
pub use quote::{
    append_quote, can_backquote, quote, quote_bytes, quote_rune, quote_rune_to_ascii,
    quote_to_ascii,
};
pub use unquote::{SyntaxError, Unquoted, unquote, unquote_char};

/// `strconv.AppendInt` to base 10.
#[inline]
pub fn append_int(out: &mut Vec<u8>, n: i64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = n.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if n < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

//! `fmt` for template values: `print`, `printf`, `toString` and the output of actions.
//!
//! Texts that are longer than [`MAX_TEXT`] are truncated; the executor rejects them. A wrong verb is not an error; it prints a marker such as `%!d(string=x)`.

mod directive;
mod printer;

use outrigger_gostd::strconv;

use crate::traversal::MAX_TEXT;
use crate::value::{Kind, StructField, Value};
use printer::Printer;

/// `fmt.Sprintf`.
pub fn sprintf(format: &[u8], args: &[Value]) -> Vec<u8> {
    let mut out = Vec::with_capacity(format.len() + 16 * args.len());
    directive::print(&mut out, format, args);
    out
}

/// `fmt.Sprint`: a space between two operands when neither is a string.
pub fn sprint(args: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut after_string = true;
    for (at, arg) in args.iter().enumerate() {
        let is_string = arg.kind() == Kind::String;
        if at > 0 && !is_string && !after_string {
            out.push(b' ');
        }
        write_display(&mut out, arg);
        after_string = is_string;
        if out.len() > MAX_TEXT {
            break;
        }
    }
    out
}

/// `fmt.Sprintln`: spaces between all operands and a newline at the end.
pub fn sprintln(args: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        write_display(&mut out, arg);
        if out.len() > MAX_TEXT {
            break;
        }
    }
    out.push(b'\n');
    out
}

/// The `%v` form of a struct, or of a pointer to one.
pub(crate) fn display_struct(type_name: &str, fields: &[StructField]) -> String {
    let mut out = Vec::new();
    Printer::new(&mut out).structure(type_name, fields, 'v');
    String::from_utf8_lossy(&out).into_owned()
}

/// Appends the `%v` form.
pub fn write_display(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Str(text) => out.extend_from_slice(text.as_bytes()),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int(n) | Value::Int64(n) => strconv::append_int(out, *n),
        Value::Float(x) => strconv::append_float(out, *x, b'g', None),
        other => Printer::new(out).print(other, 'v'),
    }
}

/// The `%v` form.
pub fn display(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write_display(&mut out, value);
    out
}

/// The `%v` form as text; bytes that are not UTF-8 become U+FFFD.
pub fn display_text(value: &Value) -> String {
    String::from_utf8_lossy(&display(value)).into_owned()
}

//! The `%#v` form of decoded values, for error messages.

use std::fmt::Write;

use outrigger_gostd::strconv::{format_float, quote};

use crate::document::Decoded;
use crate::resolve::Resolved;

/// An element of the output.
enum Part {
    Value(usize),
    Text(&'static str),
}

/// The `%#v` form of a value; null is `<nil>`, but `interface {}(nil)` inside a collection.
pub(crate) fn go_syntax(values: &[Decoded<'_>], root: usize) -> String {
    if let Decoded::Scalar(Resolved::Null, _) = values[root] {
        return "<nil>".to_owned();
    }
    let mut out = String::new();
    let mut parts = vec![Part::Value(root)];
    while let Some(part) = parts.pop() {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Value(at) => match &values[at] {
                Decoded::Scalar(resolved, text) => push_scalar(&mut out, *resolved, text),
                Decoded::List(items) => {
                    out.push_str("[]interface {}{");
                    parts.push(Part::Text("}"));
                    push_separated(&mut parts, items.iter().map(|&item| vec![item]));
                }
                Decoded::Map(entries) => {
                    out.push_str("map[interface {}]interface {}{");
                    parts.push(Part::Text("}"));
                    let mut entries = entries.clone();
                    entries.sort_by(|a, b| rank(&values[a.0]).cmp(&rank(&values[b.0])));
                    push_separated(
                        &mut parts,
                        entries.iter().map(|&(key, value)| vec![key, value]),
                    );
                }
            },
        }
    }
    out
}

/// Pushes members onto the stack, the first on top.
fn push_separated(parts: &mut Vec<Part>, members: impl DoubleEndedIterator<Item = Vec<usize>>) {
    let mut is_last = true;
    for member in members.rev() {
        if !is_last {
            parts.push(Part::Text(", "));
        }
        is_last = false;
        for (at, &value) in member.iter().enumerate().rev() {
            parts.push(Part::Value(value));
            if at > 0 {
                parts.push(Part::Text(":"));
            }
        }
    }
}

/// Go sorts keys by type first, in an order that depends on the binary; this is the order of Helm 3 and 4.
fn rank<'k>(key: &'k Decoded<'_>) -> (u8, i128, &'k str) {
    let Decoded::Scalar(resolved, text) = key else {
        return (0, 0, "");
    };
    match *resolved {
        Resolved::Null => (0, 0, ""),
        Resolved::Timestamp | Resolved::Text => (1, 0, text),
        Resolved::Uint(value) => (2, i128::from(value), ""),
        Resolved::Int(value) => (3, i128::from(value), ""),
        Resolved::Float(value) => (4, float_rank(value), ""),
        Resolved::Bool(value) => (5, i128::from(value), ""),
    }
}

fn float_rank(value: f64) -> i128 {
    let bits = i128::from((value + 0.0).to_bits() & !(1 << 63));
    match value {
        value if value.is_nan() => i128::MIN,
        value if value < 0.0 => -bits,
        _ => bits,
    }
}

fn push_scalar(out: &mut String, resolved: Resolved, text: &str) {
    // Writing to a string cannot fail.
    let _ = match resolved {
        Resolved::Null => write!(out, "interface {{}}(nil)"),
        Resolved::Bool(value) => write!(out, "{value}"),
        Resolved::Int(value) => write!(out, "{value}"),
        Resolved::Uint(value) => write!(out, "{value:#x}"),
        Resolved::Float(value) => write!(out, "{}", format_float(value, b'g', None)),
        Resolved::Timestamp | Resolved::Text => write!(out, "{}", quote(text)),
    };
}

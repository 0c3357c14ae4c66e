//! Checks literals beyond their types: durations, timestamps, regular expressions, formats, and homogeneous lists and maps.

use outrigger_gostd::regexp::{self, CachedRegexp};

use super::Checked;
use crate::allowance::{RegexError, regex_program};
use crate::ast::{Call, Expr, Kind, Literal};
use crate::functions::{check_format, function};
use crate::meter::Meter;
use crate::plan::literal_value;
use crate::types::Type;

/// Reports what is wrong with literals.
pub(super) fn validate(checked: &Checked, mut report: impl FnMut(&Expr, String)) {
    let mut pending = vec![(&checked.root, false)];
    while let Some((expr, in_format)) = pending.pop() {
        let mut in_format = in_format;
        match &expr.kind {
            Kind::Call(call) => {
                in_format |= &*call.function == "format";
                validate_call(checked, expr, call, &mut report);
            }
            Kind::List(list) if !in_format => {
                let types = list.elements.iter().enumerate().map(|(i, element)| {
                    let is_optional = list.optionals.contains(&i);
                    (element, member_type(checked, element, is_optional))
                });
                let mismatch = mismatches(types).next();
                if let Some((element, message)) = mismatch {
                    report(element, message);
                }
            }
            Kind::Map(entries) if !in_format => {
                let keys = entries
                    .iter()
                    .map(|entry| (&entry.key, member_type(checked, &entry.key, false)));
                let values = entries.iter().map(|entry| {
                    (
                        &entry.value,
                        member_type(checked, &entry.value, entry.optional),
                    )
                });
                for (expr, message) in mismatches(keys).chain(mismatches(values)) {
                    report(expr, message);
                }
            }
            _ => {}
        }
        pending.extend(expr.children().into_iter().map(|child| (child, in_format)));
    }
}

fn member_type<'c>(checked: &'c Checked, expr: &Expr, is_optional: bool) -> &'c Type {
    let type_ = checked.type_of(expr);
    match type_.optional_value() {
        Some(value) if is_optional => value,
        _ => type_,
    }
}

/// The members whose type differs from that of the first one.
fn mismatches<'e>(
    mut types: impl Iterator<Item = (&'e Expr, &'e Type)>,
) -> impl Iterator<Item = (&'e Expr, String)> {
    let first = types.next().map(|(_, type_)| type_);
    types.filter_map(move |(expr, type_)| {
        let first = first?;
        (first != type_).then(|| (expr, format!("expected type '{first}' but found '{type_}'")))
    })
}

fn validate_call(
    checked: &Checked,
    expr: &Expr,
    call: &Call,
    report: &mut impl FnMut(&Expr, String),
) {
    let literal = call.args.first().and_then(|arg| match &arg.kind {
        Kind::Literal(literal) => Some((arg, literal)),
        _ => None,
    });
    match (&*call.function, literal) {
        (name @ ("duration" | "timestamp"), Some((arg, literal))) => {
            let convert = function(name);
            let mut meter = Meter::new(u64::MAX);
            let mut args = [literal_value(literal)];
            if convert.is_some_and(|convert| convert.dispatch(&mut meter, &mut args).is_err()) {
                report(arg, format!("invalid {name} argument"));
            }
        }
        ("matches", Some((arg, Literal::String(text)))) => {
            match regex_program(&CachedRegexp::new(text)) {
                Ok(_) => {}
                Err(RegexError::Invalid(error @ regexp::Error::TooLarge { .. })) => {
                    report(arg, error.to_string());
                }
                Err(_) => report(arg, "invalid matches argument".to_owned()),
            }
        }
        ("format", _) => validate_format(checked, expr, call, report),
        _ => {}
    }
}

fn validate_format(
    checked: &Checked,
    expr: &Expr,
    call: &Call,
    report: &mut impl FnMut(&Expr, String),
) {
    let format = call.target.as_ref().and_then(Expr::as_string);
    let args = match call.args.as_slice() {
        [
            Expr {
                kind: Kind::List(list),
                ..
            },
        ] => &list.elements,
        _ => return,
    };
    let Some(format) = format else { return };
    let types: Vec<Type> = args
        .iter()
        .map(|arg| checked.type_of(arg).clone())
        .collect();
    if let Some((index, message)) = check_format(format, &types) {
        let wrong = index.and_then(|index| args.get(index));
        report(wrong.unwrap_or(expr), message);
    }
}

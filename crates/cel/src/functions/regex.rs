//! Regular expressions. Literal ones are compiled when the expression is.

use outrigger_gostd::regexp::{self, Regexp};

use super::{Function, int, text};
use crate::error::Error;
use crate::meter::Meter;
use crate::types::Type;
use crate::value::Value;

type Result<T> = std::result::Result<T, Error>;

pub(super) fn functions() -> Vec<Function> {
    use Type::{Bool, Int, String};
    let strings = || Type::list(String);
    vec![
        Function::new("matches")
            .declared("matches", [String, String], Bool)
            .declared_member("matches_string", [String, String], Bool)
            .singleton(matches),
        Function::new("find").member("string_find_string", [String, String], String, find),
        Function::new("findAll")
            .member(
                "string_find_all_string",
                [String, String],
                strings(),
                find_all,
            )
            .member(
                "string_find_all_string_int",
                [String, String, Int],
                strings(),
                find_all,
            ),
    ]
}

/// Calls `matches`, `find` or `findAll` with a compiled expression.
pub(crate) fn call<'v>(
    function: &str,
    regex: &Regexp,
    args: &[Value<'v>],
    meter: &mut Meter,
) -> Result<Value<'v>> {
    let subject = text(args.first().ok_or(Error::NoSuchOverload)?)?;
    let slice = |range: std::ops::Range<usize>| subject.get(range).unwrap_or_default();
    match function {
        "matches" => Ok(Value::Bool(regex.is_match(subject.as_bytes()))),
        "find" => {
            let found = regex.find(subject.as_bytes()).map_or("", slice);
            meter.copy(found.len())?;
            Ok(Value::string(found))
        }
        _ => {
            let limit = args.get(2).map(int).transpose()?.unwrap_or(-1);
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            meter.copy(subject.len())?;
            // The subject bounds the number of matches, and the meter has counted it.
            let limits = regexp::Limits {
                matches: usize::MAX,
                bytes: usize::MAX,
                interrupted: &|| false,
            };
            let found = regex.find_all(subject.as_bytes(), limit, &limits);
            let found = found.ok_or(Error::TooLarge)?;
            Ok(Value::strings(found.into_iter().map(slice)))
        }
    }
}

fn pattern<'a>(args: &'a [Value<'_>]) -> Result<&'a str> {
    text(args.get(1).ok_or(Error::NoSuchOverload)?)
}

fn matches<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    if !matches!(args.first(), Some(Value::String(_))) {
        return Err(Error::function("no such overload: matches"));
    }
    let regex = meter.regex(pattern(args)?).map_err(Error::function)?;
    call("matches", &regex, args, meter)
}

fn illegal(error: &str) -> Error {
    Error::function(format!("Illegal regex: {error}"))
}

fn find<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let regex = meter
        .regex(pattern(args)?)
        .map_err(|error| illegal(&error))?;
    call("find", &regex, args, meter)
}

fn find_all<'v>(meter: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let regex = meter
        .regex(pattern(args)?)
        .map_err(|error| illegal(&error))?;
    call("findAll", &regex, args, meter)
}

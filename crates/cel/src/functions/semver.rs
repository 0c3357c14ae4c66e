//! Semantic versions, as `github.com/blang/semver` parses them.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use outrigger_gostd::strconv::quote;

use super::{Function, text};
use crate::error::Error;
use crate::meter::Meter;
use crate::types::Type;
use crate::value::{Opaque, Value};

type Result<T> = std::result::Result<T, Error>;

/// A semantic version.
#[derive(Debug)]
pub struct Version {
    numbers: [u64; 3],
    prerelease: Vec<Identifier>,
    build: Vec<String>,
}

/// A part of a pre-release. Numbers precede texts.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Text(String),
}

impl Version {
    fn parse(text: &str) -> std::result::Result<Self, String> {
        if text.is_empty() {
            return Err("Version string empty".to_owned());
        }
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err("No Major.Minor.Patch elements found".to_owned());
        };
        let (rest, build) = match rest.split_once('+') {
            Some((rest, build)) => (rest, Some(build)),
            None => (rest, None),
        };
        let (patch, prerelease) = match rest.split_once('-') {
            Some((patch, prerelease)) => (patch, Some(prerelease)),
            None => (rest, None),
        };
        let numbers = [
            number("major", "Major", major)?,
            number("minor", "Minor", minor)?,
            number("patch", "Patch", patch)?,
        ];
        let prerelease = prerelease.into_iter().flat_map(|text| text.split('.'));
        let prerelease = prerelease
            .map(identifier)
            .collect::<std::result::Result<_, _>>()?;
        let build = build.into_iter().flat_map(|text| text.split('.'));
        let build = build.map(metadata).collect::<std::result::Result<_, _>>()?;
        Ok(Self {
            numbers,
            prerelease,
            build,
        })
    }

    /// Parses a version after removing a `v`, leading zeros, and adding missing numbers.
    fn parse_normalized(text: &str) -> std::result::Result<Self, String> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_leading_zeros).collect();
        if parts.len() < 3 {
            if parts.last().is_some_and(|part| part.contains(['+', '-'])) {
                let message = "short version cannot contain PreRelease/Build meta data";
                return Err(message.to_owned());
            }
            parts.resize(3, "0".to_owned());
        }
        Self::parse(&parts.join("."))
    }

    /// The order of versions; build metadata do not count.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let by_number = self.numbers.cmp(&other.numbers);
        by_number.then_with(|| match (&*self.prerelease, &*other.prerelease) {
            ([], []) => Ordering::Equal,
            ([], _) => Ordering::Greater,
            (_, []) => Ordering::Less,
            (one, other) => one.cmp(other),
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        for (i, part) in self.prerelease.iter().enumerate() {
            let separator = if i == 0 { '-' } else { '.' };
            match part {
                Identifier::Number(number) => write!(f, "{separator}{number}")?,
                Identifier::Text(text) => write!(f, "{separator}{text}")?,
            }
        }
        for (i, part) in self.build.iter().enumerate() {
            let separator = if i == 0 { '+' } else { '.' };
            write!(f, "{separator}{part}")?;
        }
        Ok(())
    }
}

fn without_leading_zeros(part: &str) -> String {
    if part.len() <= 1 {
        return part.to_owned();
    }
    let trimmed = part.trim_start_matches('0');
    if trimmed.starts_with(|c: char| c.is_ascii_digit()) {
        trimmed.to_owned()
    } else {
        format!("0{trimmed}")
    }
}

fn is_number(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit())
}

fn is_identifier(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

fn has_leading_zeros(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0')
}

fn parse_number(text: &str) -> std::result::Result<u64, String> {
    text.parse().map_err(|_| {
        let reason = if text.is_empty() {
            "invalid syntax"
        } else {
            "value out of range"
        };
        format!("strconv.ParseUint: parsing {}: {reason}", quote(text))
    })
}

fn number(name: &str, title: &str, text: &str) -> std::result::Result<u64, String> {
    let shown = quote(text);
    if !is_number(text) {
        return Err(format!(
            "Invalid character(s) found in {name} number {shown}"
        ));
    }
    if has_leading_zeros(text) {
        return Err(format!(
            "{title} number must not contain leading zeroes {shown}"
        ));
    }
    parse_number(text)
}

fn identifier(text: &str) -> std::result::Result<Identifier, String> {
    let shown = quote(text);
    if text.is_empty() {
        return Err("Prerelease is empty".to_owned());
    }
    if is_number(text) {
        if has_leading_zeros(text) {
            let message = "Numeric PreRelease version must not contain leading zeroes";
            return Err(format!("{message} {shown}"));
        }
        return parse_number(text).map(Identifier::Number);
    }
    if !is_identifier(text) {
        return Err(format!("Invalid character(s) found in prerelease {shown}"));
    }
    Ok(Identifier::Text(text.to_owned()))
}

fn metadata(text: &str) -> std::result::Result<String, String> {
    if text.is_empty() {
        return Err("Build meta data is empty".to_owned());
    }
    if !is_identifier(text) {
        let shown = quote(text);
        return Err(format!(
            "Invalid character(s) found in build meta data {shown}"
        ));
    }
    Ok(text.to_owned())
}

fn version() -> Type {
    Type::object("kubernetes.Semver")
}

pub(super) fn functions() -> Vec<Function> {
    use Type::{Bool, Int, String};
    let two = || [version(), version()];
    vec![
        Function::new("semver")
            .global("string_to_semver", [String], version(), parse)
            .global("string_bool_to_semver", [String, Bool], version(), parse),
        Function::new("isSemver")
            .global("is_semver_string", [String], Bool, is_semver)
            .global("is_semver_string_bool", [String, Bool], Bool, is_semver),
        Function::new("isGreaterThan").member("semver_is_greater_than", two(), Bool, |_, args| {
            Ok(Value::Bool(compare(args)?.is_gt()))
        }),
        Function::new("isLessThan").member("semver_is_less_than", two(), Bool, |_, args| {
            Ok(Value::Bool(compare(args)?.is_lt()))
        }),
        Function::new("compareTo").member("semver_compare_to", two(), Int, |_, args| {
            Ok(Value::Int(compare(args)? as i64))
        }),
        Function::new("major").member("semver_major", [version()], Int, |_, args| part(args, 0)),
        Function::new("minor").member("semver_minor", [version()], Int, |_, args| part(args, 1)),
        Function::new("patch").member("semver_patch", [version()], Int, |_, args| part(args, 2)),
    ]
}

fn parsed(args: &[Value<'_>]) -> Result<std::result::Result<Version, String>> {
    match args {
        [value] | [value, Value::Bool(false)] => Ok(Version::parse(text(value)?)),
        [value, Value::Bool(true)] => Ok(Version::parse_normalized(text(value)?)),
        _ => Err(Error::NoSuchOverload),
    }
}

fn parse<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    let version = parsed(args)?.map_err(Error::function)?;
    Ok(Value::Opaque(Opaque::Semver(Arc::new(version))))
}

fn is_semver<'v>(_: &mut Meter, args: &mut [Value<'v>]) -> Result<Value<'v>> {
    Ok(Value::Bool(parsed(args)?.is_ok()))
}

fn compare(args: &[Value<'_>]) -> Result<Ordering> {
    match args {
        [
            Value::Opaque(Opaque::Semver(one)),
            Value::Opaque(Opaque::Semver(other)),
        ] => Ok(one.compare(other)),
        _ => Err(Error::NoSuchOverload),
    }
}

fn part<'v>(args: &[Value<'v>], index: usize) -> Result<Value<'v>> {
    let [Value::Opaque(Opaque::Semver(version))] = args else {
        return Err(Error::NoSuchOverload);
    };
    let number = version.numbers.get(index).copied().unwrap_or(0);
    Ok(Value::Int(number.cast_signed()))
}

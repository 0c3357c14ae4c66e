//! Constraints such as `>=1.14 <2 || ~3.1`, and the reasons why a version does not satisfy one.

use std::cmp::Ordering;
use std::fmt;

use super::Edition;
use super::version::{Version, compare_identifiers, is_identifiers};
use crate::strconv::quote;

/// Limits of v3.5.
const MAX_LENGTH: usize = 512;
const MAX_GROUPS: usize = 32;

/// Why a constraint does not parse, with the message of the library in the given [`Edition`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConstraintError {
    #[error("constraint string is too long (max {MAX_LENGTH} bytes)")]
    TooLong,
    #[error("too many constraint groups (max {MAX_GROUPS})")]
    TooManyGroups,
    #[error("improper constraint: {}", match .edition {
        Edition::V3_3 => .text.clone(),
        Edition::V3_5 => quote(.text),
    })]
    Improper { text: String, edition: Edition },
    #[error("constraint {}", match .edition {
        Edition::V3_3 => "Parser Error",
        Edition::V3_5 => "parser error",
    })]
    Version { edition: Edition },
}

/// Groups joined by `||`. A version satisfies the constraint if it satisfies all comparisons of one group.
#[derive(Debug, Clone)]
pub struct Constraint {
    groups: Vec<Vec<Comparison>>,
    edition: Edition,
}

#[derive(Debug, Clone)]
struct Comparison {
    operator: &'static str,
    /// The version as written, such as `1.x`.
    original: String,
    version: Version,
    /// A segment is missing or a wildcard.
    dirty: bool,
    minor_dirty: bool,
    patch_dirty: bool,
}

/// Longer operators first, so that `>=` is not parsed as `>`.
const OPERATORS: [&str; 11] = ["!=", ">=", "=>", "<=", "=<", "~>", "=", ">", "<", "~", "^"];

impl Constraint {
    pub fn parse(text: &str) -> Result<Self, ConstraintError> {
        Self::parse_in(text, Edition::default())
    }

    /// `semver.NewConstraint` of the given edition, which also applies to [`Self::check`] and [`Self::validate`].
    pub fn parse_in(text: &str, edition: Edition) -> Result<Self, ConstraintError> {
        if edition == Edition::V3_5 && text.len() > MAX_LENGTH {
            return Err(ConstraintError::TooLong);
        }
        let text = rewrite_hyphen_ranges(text);
        let alternatives: Vec<&str> = text.split("||").collect();
        if edition == Edition::V3_5 && alternatives.len() > MAX_GROUPS {
            return Err(ConstraintError::TooManyGroups);
        }
        let groups = alternatives
            .into_iter()
            .map(|group| parse_group(group, edition))
            .collect::<Result<_, _>>()?;
        Ok(Self { groups, edition })
    }

    pub fn check(&self, version: &Version) -> bool {
        self.groups.iter().any(|group| {
            let accepts = contains_prerelease(group);
            group
                .iter()
                .all(|comparison| comparison.check(version, accepts, self.edition).is_ok())
        })
    }

    /// `Constraints.Validate`: one message for each comparison that `version` does not satisfy.
    pub fn validate(&self, version: &Version) -> Result<(), Vec<String>> {
        let mut messages = Vec::new();
        let mut has_prerelease_message = false;
        for group in &self.groups {
            let accepts = contains_prerelease(group);
            let mut satisfied = true;
            for comparison in group {
                let accepted = match self.edition {
                    Edition::V3_3 => !comparison.version.prerelease().is_empty(),
                    Edition::V3_5 => accepts,
                };
                let result = if version.prerelease().is_empty() || accepted {
                    comparison.check(version, accepts, self.edition)
                } else {
                    Err(Mismatch::Prerelease)
                };
                let Err(mismatch) = result else { continue };
                satisfied = false;
                if mismatch == Mismatch::Prerelease
                    && std::mem::replace(&mut has_prerelease_message, true)
                {
                    continue;
                }
                messages.push(mismatch.message(version, &comparison.original, self.edition));
            }
            if satisfied {
                return Ok(());
            }
        }
        Err(messages)
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, group) in self.groups.iter().enumerate() {
            if at > 0 {
                f.write_str(" || ")?;
            }
            for (at, comparison) in group.iter().enumerate() {
                if at > 0 {
                    f.write_str(" ")?;
                }
                write!(f, "{}{}", comparison.operator, comparison.original)?;
            }
        }
        Ok(())
    }
}

fn contains_prerelease(group: &[Comparison]) -> bool {
    group.iter().any(|c| !c.version.prerelease().is_empty())
}

/// Comparisons separated by space or comma.
fn parse_group(text: &str, edition: Edition) -> Result<Vec<Comparison>, ConstraintError> {
    let improper = || ConstraintError::Improper {
        text: text.to_owned(),
        edition,
    };
    // The syntax of the whole group is checked before its versions are parsed.
    let mut written = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    loop {
        let operator = OPERATORS
            .iter()
            .copied()
            .find(|op| rest.starts_with(op))
            .unwrap_or_default();
        rest = rest[operator.len()..].trim_start_matches(is_space);
        let length = leading_version_length(rest).ok_or_else(improper)?;
        let (version, after) = rest.split_at(length);
        written.push((operator, version));
        let trimmed = after.trim_start_matches(is_space);
        if trimmed.is_empty() {
            break;
        }
        rest = match trimmed.strip_prefix(',') {
            Some(rest) => rest.trim_start_matches(is_space),
            None if trimmed.len() < after.len() => trimmed,
            None => return Err(improper()),
        };
    }
    written
        .into_iter()
        .map(|(operator, version)| Comparison::new(operator, version, edition))
        .collect()
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c')
}

fn is_number_or_wildcard(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '|' | 'x' | 'X' | '*')
}

/// The length of the version, perhaps with wildcards, that `text` starts with; `None` if there is none.
fn leading_version_length(text: &str) -> Option<usize> {
    let mut at = usize::from(text.starts_with('v'));
    let run = |from: usize| {
        let tail = &text[from..];
        tail.find(|c| !is_number_or_wildcard(c))
            .unwrap_or(tail.len())
    };
    let major = run(at);
    if major == 0 {
        return None;
    }
    at += major;
    for _ in 0..2 {
        if text[at..].starts_with('.') && run(at + 1) > 0 {
            at += 1 + run(at + 1);
        } else {
            break;
        }
    }
    for mark in ['-', '+'] {
        if let Some(tail) = text[at..].strip_prefix(mark) {
            at += identifiers_length(tail).map_or(0, |length| length + 1);
        }
    }
    Some(at)
}

/// The length of the dot-separated identifiers that `text` starts with.
fn identifiers_length(text: &str) -> Option<usize> {
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '.'))
        .unwrap_or(text.len());
    let mut candidate = &text[..end];
    if let Some(double) = candidate.find("..") {
        candidate = &candidate[..double];
    }
    let candidate = candidate.strip_suffix('.').unwrap_or(candidate);
    is_identifiers(candidate).then_some(candidate.len())
}

/// `1.2 - 1.4` becomes `>= 1.2, <= 1.4 `.
fn rewrite_hyphen_ranges(text: &str) -> String {
    let mut out = text.to_owned();
    let mut from = 0;
    while let Some(found) = find_hyphen_range(text, from) {
        let whole = &text[found.start..found.end];
        let replacement = format!(">= {}, <= {} ", found.low, found.high);
        out = out.replacen(whole, &replacement, 1);
        from = found.end;
    }
    out
}

struct HyphenRange<'t> {
    start: usize,
    end: usize,
    low: &'t str,
    high: &'t str,
}

/// The first hyphen range at or after `from`, including the spaces around it.
fn find_hyphen_range(text: &str, from: usize) -> Option<HyphenRange<'_>> {
    (from..text.len())
        .filter(|at| text.is_char_boundary(*at))
        .find_map(|start| {
            let low_text = text[start..].trim_start_matches(is_space);
            let (low, rest) = low_text.split_at(leading_version_length(low_text)?);
            let hyphen = rest.trim_start_matches(is_space);
            let after = hyphen.strip_prefix('-')?;
            let high_text = after.trim_start_matches(is_space);
            if hyphen.len() == rest.len() || high_text.len() == after.len() {
                return None;
            }
            let (high, rest) = high_text.split_at(leading_version_length(high_text)?);
            let end = text.len() - rest.trim_start_matches(is_space).len();
            Some(HyphenRange {
                start,
                end,
                low,
                high,
            })
        })
}

/// Why a version does not satisfy a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mismatch {
    Prerelease,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    DifferentMajor,
    DifferentMajorOrMinor,
    DifferentMinor,
    DifferentMinorOfMajorZero,
    DifferentPatch,
}

impl Mismatch {
    fn message(self, version: &Version, constraint: &str, edition: Edition) -> String {
        let (v, c) = match edition {
            Edition::V3_3 => (version.to_string(), constraint.to_owned()),
            Edition::V3_5 => (quote(&version.to_string()), quote(constraint)),
        };
        match self {
            Self::Prerelease => {
                format!(
                    "{v} is a prerelease version and the constraint is only looking for release versions"
                )
            }
            Self::Equal => format!("{v} is equal to {c}"),
            Self::NotEqual => format!("{v} is not equal to {c}"),
            Self::Less => format!("{v} is less than {c}"),
            Self::LessOrEqual => format!("{v} is less than or equal to {c}"),
            Self::Greater => format!("{v} is greater than {c}"),
            Self::GreaterOrEqual => format!("{v} is greater than or equal to {c}"),
            Self::DifferentMajor => format!("{v} does not have same major version as {c}"),
            Self::DifferentMajorOrMinor => {
                format!("{v} does not have same major and minor version as {c}")
            }
            Self::DifferentMinor => format!("{v} does not have same minor version as {c}"),
            Self::DifferentMinorOfMajorZero => format!(
                "{v} does not have same minor version as {c}. Expected minor versions to match when constraint \
                 major version is 0"
            ),
            Self::DifferentPatch => format!(
                "{v} does not equal {c}. Expect version and constraint to equal when major and minor versions are 0"
            ),
        }
    }
}

fn require(holds: bool, mismatch: Mismatch) -> Result<(), Mismatch> {
    if holds { Ok(()) } else { Err(mismatch) }
}

impl Comparison {
    fn new(
        operator: &'static str,
        written: &str,
        edition: Edition,
    ) -> Result<Self, ConstraintError> {
        let split = written.find(['-', '+']).unwrap_or(written.len());
        let (numbers, tail) = written.split_at(split);
        let prerelease = &tail[..tail.find('+').unwrap_or(tail.len())];
        let mut segments = numbers.strip_prefix('v').unwrap_or(numbers).split('.');
        let major = segments.next().unwrap_or_default();
        let (minor, patch) = (segments.next(), segments.next());
        let (dirty, minor_dirty, patch_dirty, exact) = if is_wildcard(Some(major)) {
            (true, false, false, format!("0.0.0{prerelease}"))
        } else if is_wildcard(minor) {
            (true, true, false, format!("{major}.0.0{prerelease}"))
        } else if is_wildcard(patch) {
            let minor = minor.unwrap_or_default();
            (true, false, true, format!("{major}.{minor}.0{prerelease}"))
        } else {
            (false, false, false, written.to_owned())
        };
        let version =
            Version::parse_in(&exact, edition).map_err(|_| ConstraintError::Version { edition })?;
        Ok(Self {
            operator,
            original: written.to_owned(),
            version,
            dirty,
            minor_dirty,
            patch_dirty,
        })
    }

    fn check(
        &self,
        version: &Version,
        group_accepts: bool,
        edition: Edition,
    ) -> Result<(), Mismatch> {
        let accepted = match edition {
            Edition::V3_3 => {
                !self.version.prerelease().is_empty() || (self.operator == "!=" && !self.dirty)
            }
            Edition::V3_5 => group_accepts,
        };
        require(
            version.prerelease().is_empty() || accepted,
            Mismatch::Prerelease,
        )?;
        let order = version.compare(&self.version);
        match self.operator {
            "!=" => self.check_not_equal(version),
            ">" => self.check_greater(version),
            "<" => require(order == Ordering::Less, Mismatch::GreaterOrEqual),
            ">=" | "=>" => require(order != Ordering::Less, Mismatch::Less),
            "<=" | "=<" => self.check_less_or_equal(version),
            "~" | "~>" => self.check_tilde(version),
            "^" => self.check_caret(version),
            _ if self.dirty => self.check_tilde(version),
            _ => require(order == Ordering::Equal, Mismatch::NotEqual),
        }
    }

    fn check_not_equal(&self, version: &Version) -> Result<(), Mismatch> {
        let own = &self.version;
        if self.dirty {
            if own.major != version.major {
                return Ok(());
            }
            if own.minor != version.minor && !self.minor_dirty {
                return Ok(());
            }
            if self.minor_dirty {
                return Err(Mismatch::Equal);
            }
            if own.patch != version.patch && !self.patch_dirty {
                return Ok(());
            }
            if self.patch_dirty {
                let differ =
                    compare_identifiers(version.prerelease(), own.prerelease()) != Ordering::Equal;
                return require(differ, Mismatch::Equal);
            }
        }
        require(version.compare(own) != Ordering::Equal, Mismatch::Equal)
    }

    fn check_greater(&self, version: &Version) -> Result<(), Mismatch> {
        let own = &self.version;
        let is_greater = if !self.dirty
            || version.major == own.major && !self.minor_dirty && !self.patch_dirty
        {
            version.compare(own) == Ordering::Greater
        } else if version.major != own.major {
            version.major > own.major
        } else {
            // `>11` accepts 12 and later, `>11.1` accepts 11.2 and later.
            !self.minor_dirty && version.minor > own.minor
        };
        require(is_greater, Mismatch::LessOrEqual)
    }

    fn check_less_or_equal(&self, version: &Version) -> Result<(), Mismatch> {
        let own = &self.version;
        let is_greater = if self.dirty {
            version.major > own.major
                || (version.major == own.major && version.minor > own.minor && !self.minor_dirty)
        } else {
            version.compare(own) == Ordering::Greater
        };
        require(!is_greater, Mismatch::Greater)
    }

    fn check_tilde(&self, version: &Version) -> Result<(), Mismatch> {
        let own = &self.version;
        require(version.compare(own) != Ordering::Less, Mismatch::Less)?;
        let is_zero = own.major == 0 && own.minor == 0 && own.patch == 0;
        if is_zero && !self.minor_dirty && !self.patch_dirty {
            return Ok(());
        }
        require(version.major == own.major, Mismatch::DifferentMajor)?;
        require(
            version.minor == own.minor || self.minor_dirty,
            Mismatch::DifferentMajorOrMinor,
        )
    }

    fn check_caret(&self, version: &Version) -> Result<(), Mismatch> {
        let own = &self.version;
        require(version.compare(own) != Ordering::Less, Mismatch::Less)?;
        if own.major > 0 || self.minor_dirty {
            return require(version.major == own.major, Mismatch::DifferentMajor);
        }
        require(version.major == 0, Mismatch::DifferentMajor)?;
        if own.minor > 0 || self.patch_dirty {
            return require(
                version.minor == own.minor,
                Mismatch::DifferentMinorOfMajorZero,
            );
        }
        require(version.minor == 0, Mismatch::DifferentMinor)?;
        require(version.patch == own.patch, Mismatch::DifferentPatch)
    }
}

/// A segment that is missing or a wildcard.
fn is_wildcard(segment: Option<&str>) -> bool {
    matches!(segment, None | Some("x" | "X" | "*"))
}

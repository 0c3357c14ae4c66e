//! Parsing, comparing and incrementing versions.

use std::cmp::Ordering;
use std::fmt;

use super::Edition;

/// `semver.MaxVersionLen` of v3.5.
const MAX_LENGTH: usize = 256;

/// A semantic version, with the text that it was parsed from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    pub major: u64,
    pub minor: u64,
    pub patch: u64,
    prerelease: String,
    metadata: String,
    original: String,
}

/// Why a version does not parse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    Invalid,
    Empty,
    InvalidCharacters,
    SegmentStartsWithZero,
    InvalidMetadata,
    InvalidPrerelease,
    TooLong,
    /// A segment without digits in `StrictNewVersion`.
    EmptyNumber,
    /// A segment that does not fit 64 bits; `StrictNewVersion` returns the error of strconv alone.
    OutOfRange {
        digits: String,
        strict: bool,
    },
}

impl Error {
    /// The message of the library in `edition`.
    pub fn message(&self, edition: Edition) -> String {
        let (new, old) = match self {
            Self::Invalid => ("invalid semantic version", "Invalid Semantic Version"),
            Self::Empty => ("version string empty", "Version string empty"),
            Self::InvalidCharacters => (
                "invalid characters in version",
                "Invalid characters in version",
            ),
            Self::SegmentStartsWithZero => (
                "version segment starts with 0",
                "Version segment starts with 0",
            ),
            Self::InvalidMetadata => ("invalid metadata string", "Invalid Metadata string"),
            Self::InvalidPrerelease => ("invalid prerelease string", "Invalid Prerelease string"),
            Self::EmptyNumber => return "strconv.ParseUint: parsing \"\": invalid syntax".into(),
            Self::TooLong => return format!("version string is too long (max {MAX_LENGTH} bytes)"),
            Self::OutOfRange { digits, strict } => {
                let prefix = match (strict, edition) {
                    (true, _) => "",
                    (false, Edition::V3_3) => "Error parsing version segment: ",
                    (false, Edition::V3_5) => "error parsing version segment: ",
                };
                return format!(
                    "{prefix}strconv.ParseUint: parsing \"{digits}\": value out of range"
                );
            }
        };
        match edition {
            Edition::V3_3 => old.into(),
            Edition::V3_5 => new.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message(Edition::default()))
    }
}

impl std::error::Error for Error {}

impl Version {
    /// `semver.NewVersion`: accepts a leading `v`, missing segments and leading zeros.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::parse_in(text, Edition::default())
    }

    /// `semver.NewVersion` of the given edition.
    pub fn parse_in(text: &str, edition: Edition) -> Result<Self, Error> {
        if edition == Edition::V3_5 && text.len() > MAX_LENGTH {
            return Err(Error::TooLong);
        }
        let parts = Segments::split(text).ok_or(Error::Invalid)?;
        let version = Self {
            major: parse_segment(parts.major, false)?,
            minor: parts
                .minor
                .map_or(Ok(0), |digits| parse_segment(digits, false))?,
            patch: parts
                .patch
                .map_or(Ok(0), |digits| parse_segment(digits, false))?,
            prerelease: parts.prerelease.to_owned(),
            metadata: parts.metadata.to_owned(),
            original: text.to_owned(),
        };
        if !version.prerelease.is_empty() {
            validate_prerelease(&version.prerelease, edition)?;
        }
        if !version.metadata.is_empty() {
            validate_metadata(&version.metadata, edition)?;
        }
        Ok(version)
    }

    /// `semver.StrictNewVersion`: accepts only what the specification allows.
    pub fn parse_strict(text: &str) -> Result<Self, Error> {
        Self::parse_strict_in(text, Edition::default())
    }

    /// `semver.StrictNewVersion` of the given edition.
    pub fn parse_strict_in(text: &str, edition: Edition) -> Result<Self, Error> {
        if text.is_empty() {
            return Err(Error::Empty);
        }
        if edition == Edition::V3_5 && text.len() > MAX_LENGTH {
            return Err(Error::TooLong);
        }
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(Error::Invalid);
        };
        let (rest, metadata) = match rest.split_once('+') {
            Some((rest, metadata)) => {
                validate_metadata(metadata, edition)?;
                (rest, metadata)
            }
            None => (rest, ""),
        };
        let (patch, prerelease) = match rest.split_once('-') {
            Some((patch, prerelease)) => {
                validate_prerelease(prerelease, edition)?;
                (patch, prerelease)
            }
            None => (rest, ""),
        };
        for segment in [major, minor, patch] {
            if !is_digits(segment) {
                return Err(Error::InvalidCharacters);
            }
            if segment.len() > 1 && segment.starts_with('0') {
                return Err(Error::SegmentStartsWithZero);
            }
        }
        Ok(Self {
            major: parse_segment(major, true)?,
            minor: parse_segment(minor, true)?,
            patch: parse_segment(patch, true)?,
            prerelease: prerelease.to_owned(),
            metadata: metadata.to_owned(),
            original: text.to_owned(),
        })
    }

    pub fn prerelease(&self) -> &str {
        &self.prerelease
    }

    pub fn metadata(&self) -> &str {
        &self.metadata
    }

    /// The text that the version was parsed from.
    pub fn original(&self) -> &str {
        &self.original
    }

    /// Compares by precedence. Unlike `==`, ignores metadata and the original text.
    pub fn compare(&self, other: &Self) -> Ordering {
        (self.major, self.minor, self.patch)
            .cmp(&(other.major, other.minor, other.patch))
            .then_with(|| compare_prerelease(&self.prerelease, &other.prerelease))
    }

    /// `IncPatch`: of a prerelease, the release that it precedes. `None` on overflow.
    #[must_use]
    pub fn inc_patch(&self) -> Option<Self> {
        let patch = if self.prerelease.is_empty() {
            self.patch.checked_add(1)?
        } else {
            self.patch
        };
        Some(self.incremented(self.major, self.minor, patch))
    }

    #[must_use]
    pub fn inc_minor(&self) -> Option<Self> {
        Some(self.incremented(self.major, self.minor.checked_add(1)?, 0))
    }

    #[must_use]
    pub fn inc_major(&self) -> Option<Self> {
        Some(self.incremented(self.major.checked_add(1)?, 0, 0))
    }

    fn incremented(&self, major: u64, minor: u64, patch: u64) -> Self {
        Self {
            major,
            minor,
            patch,
            prerelease: String::new(),
            metadata: String::new(),
            original: self.original.clone(),
        }
        .with_canonical_original()
    }

    pub fn with_prerelease(&self, prerelease: &str, edition: Edition) -> Result<Self, Error> {
        if !prerelease.is_empty() {
            validate_prerelease(prerelease, edition)?;
        }
        let next = Self {
            prerelease: prerelease.to_owned(),
            ..self.clone()
        };
        Ok(next.with_canonical_original())
    }

    pub fn with_metadata(&self, metadata: &str, edition: Edition) -> Result<Self, Error> {
        if !metadata.is_empty() {
            validate_metadata(metadata, edition)?;
        }
        let next = Self {
            metadata: metadata.to_owned(),
            ..self.clone()
        };
        Ok(next.with_canonical_original())
    }

    /// Sets the original text to the canonical form, with the `v` if it had one.
    fn with_canonical_original(mut self) -> Self {
        let prefix = if self.original.starts_with('v') {
            "v"
        } else {
            ""
        };
        self.original = format!("{prefix}{self}");
        self
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.prerelease.is_empty() {
            write!(f, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

/// The segments of a version for `NewVersion`.
struct Segments<'t> {
    major: &'t str,
    minor: Option<&'t str>,
    patch: Option<&'t str>,
    prerelease: &'t str,
    metadata: &'t str,
}

impl<'t> Segments<'t> {
    fn split(text: &'t str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (text, metadata) = match text.split_once('+') {
            Some((before, metadata)) => (before, Some(metadata)),
            None => (text, None),
        };
        let (numbers, prerelease) = match text.split_once('-') {
            Some((before, prerelease)) => (before, Some(prerelease)),
            None => (text, None),
        };
        let mut segments = numbers.split('.');
        let (major, minor, patch) = (segments.next()?, segments.next(), segments.next());
        let extra_segment = segments.next().is_some();
        let numeric = |segment: &str| !segment.is_empty() && is_digits(segment);
        let well_formed = !extra_segment
            && [Some(major), minor, patch]
                .into_iter()
                .flatten()
                .all(numeric)
            && [prerelease, metadata]
                .into_iter()
                .flatten()
                .all(is_identifiers);
        well_formed.then(|| Self {
            major,
            minor,
            patch,
            prerelease: prerelease.unwrap_or_default(),
            metadata: metadata.unwrap_or_default(),
        })
    }
}

pub(super) fn is_identifiers(text: &str) -> bool {
    text.split('.')
        .all(|part| !part.is_empty() && is_allowed(part))
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

fn is_allowed(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn parse_segment(digits: &str, strict: bool) -> Result<u64, Error> {
    if digits.is_empty() {
        return Err(Error::EmptyNumber);
    }
    digits.parse().map_err(|_| Error::OutOfRange {
        digits: digits.to_owned(),
        strict,
    })
}

fn validate_prerelease(text: &str, edition: Edition) -> Result<(), Error> {
    for part in text.split('.') {
        if part.is_empty() && edition == Edition::V3_5 {
            return Err(Error::InvalidPrerelease);
        }
        if is_digits(part) {
            if part.len() > 1 && part.starts_with('0') {
                return Err(Error::SegmentStartsWithZero);
            }
        } else if !is_allowed(part) {
            return Err(Error::InvalidPrerelease);
        }
    }
    Ok(())
}

fn validate_metadata(text: &str, edition: Edition) -> Result<(), Error> {
    let bad = |part: &str| !is_allowed(part) || (part.is_empty() && edition == Edition::V3_5);
    if text.split('.').any(bad) {
        return Err(Error::InvalidMetadata);
    }
    Ok(())
}

/// A release is greater than its prereleases.
fn compare_prerelease(left: &str, right: &str) -> Ordering {
    match (left.is_empty(), right.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    compare_identifiers(left, right)
}

pub(super) fn compare_identifiers(left: &str, right: &str) -> Ordering {
    let mut left = left.split('.');
    let mut right = right.split('.');
    loop {
        let (a, b) = (left.next(), right.next());
        if a.is_none() && b.is_none() {
            return Ordering::Equal;
        }
        let order = compare_identifier(a.unwrap_or_default(), b.unwrap_or_default());
        if order != Ordering::Equal {
            return order;
        }
    }
}

fn compare_identifier(a: &str, b: &str) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    if a.is_empty() || b.is_empty() {
        return if a.is_empty() {
            Ordering::Less
        } else {
            Ordering::Greater
        };
    }
    let number = |text: &str| text.parse::<u64>().ok().filter(|_| is_digits(text));
    match (number(a), number(b)) {
        (None, None) => a.cmp(b),
        // Numeric identifiers have lower precedence.
        (None, Some(_)) => Ordering::Greater,
        (Some(x), Some(y)) if x > y => Ordering::Greater,
        (Some(_), _) => Ordering::Less,
    }
}

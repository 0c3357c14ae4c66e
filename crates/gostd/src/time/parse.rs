//! `time.ParseInLocation`

use std::fmt;

use super::layout::{Chunk, MONTHS, OffsetForm, Pad, WEEKDAYS, next_std_chunk};
use super::{Location, Time, quote};

/// `time.ParseError`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    layout: Vec<u8>,
    value: Vec<u8>,
    problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Problem {
    Mismatch {
        layout_chunk: Vec<u8>,
        value_chunk: Vec<u8>,
    },
    ExtraText(Vec<u8>),
    Message(String),
}

impl std::error::Error for ParseError {}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "parsing time {}", quote(&self.value))?;
        match &self.problem {
            Problem::Mismatch {
                layout_chunk,
                value_chunk,
            } => write!(
                f,
                " as {}: cannot parse {} as {}",
                quote(&self.layout),
                quote(value_chunk),
                quote(layout_chunk)
            ),
            Problem::ExtraText(text) => write!(f, ": extra text: {}", quote(text)),
            Problem::Message(message) => write!(f, ": {message}"),
        }
    }
}

/// Why a chunk does not parse.
enum ChunkError {
    /// `errBad`: the text does not have the form of the chunk.
    Bad,
    /// The value of the named part is out of range.
    Range(&'static str),
}

#[derive(Default)]
struct Fields {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    year_day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanos: u32,
    is_pm: Option<bool>,
    is_utc: bool,
    offset: Option<i64>,
    abbreviation: String,
}

/// `time.ParseInLocation`: `location` applies if `value` has no zone of its own.
pub(super) fn parse(layout: &[u8], value: &[u8], location: &Location) -> Result<Time, ParseError> {
    let failed = |problem: Problem| ParseError {
        layout: layout.to_vec(),
        value: value.to_vec(),
        problem,
    };
    let mismatch = |value_chunk: &[u8], layout_chunk: &[u8]| {
        failed(Problem::Mismatch {
            layout_chunk: layout_chunk.to_vec(),
            value_chunk: value_chunk.to_vec(),
        })
    };
    let mut fields = Fields::default();
    let mut rest = value;
    let mut layout_rest = layout;
    loop {
        let next = next_std_chunk(layout_rest);
        let prefix = next.as_ref().map_or(layout_rest, |(prefix, ..)| prefix);
        rest = skip(rest, prefix).map_err(|rest| mismatch(rest, prefix))?;
        let Some((prefix, chunk, length)) = next else {
            break;
        };
        let layout_chunk = &layout_rest[prefix.len()..length];
        layout_rest = &layout_rest[length..];
        let before = rest;
        match fields.parse(chunk, &mut rest, layout_rest) {
            Ok(()) => {}
            Err(ChunkError::Range(part)) => {
                return Err(failed(Problem::Message(format!("{part} out of range"))));
            }
            Err(ChunkError::Bad) => return Err(mismatch(before, layout_chunk)),
        }
    }
    if !rest.is_empty() {
        return Err(failed(Problem::ExtraText(rest.to_vec())));
    }
    fields
        .into_time(location)
        .map_err(|message| failed(Problem::Message(message.to_owned())))
}

/// `skip`: consumes the text between chunks; spaces in the layout match any number of spaces.
fn skip<'v>(mut value: &'v [u8], mut prefix: &[u8]) -> Result<&'v [u8], &'v [u8]> {
    let leading_spaces = |text: &[u8]| text.iter().take_while(|b| **b == b' ').count();
    while let Some(expected) = prefix.first() {
        if *expected == b' ' {
            if value.first().is_some_and(|b| *b != b' ') {
                return Err(value);
            }
            prefix = &prefix[leading_spaces(prefix)..];
            value = &value[leading_spaces(value)..];
            continue;
        }
        if value.first() != Some(expected) {
            return Err(value);
        }
        prefix = &prefix[1..];
        value = &value[1..];
    }
    Ok(value)
}

impl Fields {
    fn parse(&mut self, chunk: Chunk, rest: &mut &[u8], layout: &[u8]) -> Result<(), ChunkError> {
        match chunk {
            Chunk::Year => self.year = digits(rest, 4)?,
            Chunk::ShortYear => {
                let year = signed_digits(rest, 2)?;
                self.year = if year >= 69 { year + 1900 } else { year + 2000 };
            }
            Chunk::LongMonth => self.month = Some(name(rest, &MONTHS, usize::MAX)? + 1),
            Chunk::ShortMonth => self.month = Some(name(rest, &MONTHS, 3)? + 1),
            Chunk::Month { padded } => {
                let month = number(rest, padded)?;
                self.month = Some(month);
                in_range(month, 1..=12, "month")?;
            }
            Chunk::LongWeekday => drop(name(rest, &WEEKDAYS, usize::MAX)?),
            Chunk::ShortWeekday => drop(name(rest, &WEEKDAYS, 3)?),
            Chunk::Day(pad) => {
                if pad == Pad::Space {
                    *rest = rest.strip_prefix(b" ").unwrap_or(rest);
                }
                self.day = Some(number(rest, pad == Pad::Zero)?);
            }
            Chunk::YearDay(pad) => self.year_day = Some(year_day(rest, pad)?),
            Chunk::Hour => {
                self.hour = number(rest, false)?;
                in_range(self.hour, 0..=23, "hour")?;
            }
            Chunk::Hour12 { padded } => {
                self.hour = number(rest, padded)?;
                in_range(self.hour, 0..=12, "hour")?;
            }
            Chunk::Minute { padded } => {
                self.minute = number(rest, padded)?;
                in_range(self.minute, 0..=59, "minute")?;
            }
            Chunk::Second { padded } => self.parse_second(rest, padded, layout)?,
            Chunk::AmPm { upper } => self.is_pm = Some(am_pm(rest, upper)?),
            Chunk::Offset { iso8601, form } => self.parse_offset(rest, iso8601, form)?,
            Chunk::Abbreviation => self.parse_abbreviation(rest)?,
            Chunk::Fraction {
                digits, trimmed, ..
            } => self.parse_fraction(rest, digits, trimmed)?,
        }
        Ok(())
    }

    /// Seconds may have a fraction that the layout does not contain.
    fn parse_second(
        &mut self,
        rest: &mut &[u8],
        padded: bool,
        layout: &[u8],
    ) -> Result<(), ChunkError> {
        self.second = number(rest, padded)?;
        in_range(self.second, 0..=59, "second")?;
        let has_fraction = matches!(rest, [b'.' | b',', b'0'..=b'9', ..]);
        let in_layout = matches!(next_std_chunk(layout), Some((_, Chunk::Fraction { .. }, _)));
        if has_fraction && !in_layout {
            let length = 1 + leading_digits(&rest[1..]);
            self.nanos = nanos(&rest[1..length])?;
            *rest = &rest[length..];
        }
        Ok(())
    }

    fn parse_fraction(
        &mut self,
        rest: &mut &[u8],
        count: usize,
        trimmed: bool,
    ) -> Result<(), ChunkError> {
        let starts = matches!(rest, [b'.' | b',', ..]);
        if trimmed {
            if !matches!(rest, [b'.' | b',', b'0'..=b'9', ..]) {
                return Ok(());
            }
            let length = 1 + leading_digits(&rest[1..]);
            self.nanos = nanos(&rest[1..length])?;
            *rest = &rest[length..];
            return Ok(());
        }
        if rest.len() < 1 + count || !starts {
            return Err(ChunkError::Bad);
        }
        self.nanos = nanos(&rest[1..=count])?;
        *rest = &rest[1 + count..];
        Ok(())
    }

    fn parse_offset(
        &mut self,
        rest: &mut &[u8],
        iso8601: bool,
        form: OffsetForm,
    ) -> Result<(), ChunkError> {
        if iso8601 && let Some(after) = rest.strip_prefix(b"Z") {
            *rest = after;
            self.is_utc = true;
            return Ok(());
        }
        let length = match form {
            OffsetForm::Hours => 3,
            OffsetForm::Minutes => 5,
            OffsetForm::ColonMinutes => 6,
            OffsetForm::Seconds => 7,
            OffsetForm::ColonSeconds => 9,
        };
        let text = rest.get(..length).ok_or(ChunkError::Bad)?;
        let colons_fit = match form {
            OffsetForm::ColonMinutes => text[3] == b':',
            OffsetForm::ColonSeconds => text[3] == b':' && text[6] == b':',
            _ => true,
        };
        if !colons_fit {
            return Err(ChunkError::Bad);
        }
        *rest = &rest[length..];
        let (hours, minutes, seconds) = match form {
            OffsetForm::Hours => (1, None, None),
            OffsetForm::Minutes => (1, Some(3), None),
            OffsetForm::ColonMinutes => (1, Some(4), None),
            OffsetForm::Seconds => (1, Some(3), Some(5)),
            OffsetForm::ColonSeconds => (1, Some(4), Some(7)),
        };
        let pair = |at: Option<usize>| match at {
            Some(at) => digits(&mut &text[at..], 2),
            None => Ok(0),
        };
        // An hour out of range is reported even if the minute is not a number.
        let hours = pair(Some(hours))?;
        in_range(hours, 0..=24, "time zone offset hour")?;
        let minutes = pair(minutes)?;
        in_range(minutes, 0..=60, "time zone offset minute")?;
        let seconds = pair(seconds)?;
        in_range(seconds, 0..=60, "time zone offset second")?;
        let offset = (hours * 60 + minutes) * 60 + seconds;
        self.offset = Some(match text[0] {
            b'+' => offset,
            b'-' => -offset,
            _ => return Err(ChunkError::Bad),
        });
        Ok(())
    }

    fn parse_abbreviation(&mut self, rest: &mut &[u8]) -> Result<(), ChunkError> {
        if let Some(after) = rest.strip_prefix(b"UTC") {
            *rest = after;
            self.is_utc = true;
            return Ok(());
        }
        let length = abbreviation_length(rest).ok_or(ChunkError::Bad)?;
        self.abbreviation = String::from_utf8_lossy(&rest[..length]).into_owned();
        *rest = &rest[length..];
        Ok(())
    }

    fn into_time(mut self, location: &Location) -> Result<Time, &'static str> {
        match self.is_pm {
            Some(true) if self.hour < 12 => self.hour += 12,
            Some(false) if self.hour == 12 => self.hour = 0,
            _ => {}
        }
        let (month, day) = self.month_and_day()?;
        let seconds = (self.hour * 60 + self.minute) * 60 + self.second;
        let date = (self.year, month, day);
        let in_location =
            |location: Location| Time::from_civil(date, seconds, self.nanos, location);
        if self.is_utc {
            return Ok(in_location(Location::Utc));
        }
        let utc = in_location(Location::Utc);
        let shifted = |offset: i64, location: Location| Time {
            seconds: utc.seconds - offset,
            location,
            ..utc.clone()
        };
        if let Some(offset) = self.offset {
            let (local_offset, local_abbreviation) = location.lookup(utc.seconds - offset);
            let is_local = local_offset == offset
                && (self.abbreviation.is_empty() || self.abbreviation == local_abbreviation);
            let fixed = || Location::Fixed {
                name: self.abbreviation.as_str().into(),
                offset,
            };
            return Ok(shifted(
                offset,
                if is_local { location.clone() } else { fixed() },
            ));
        }
        if !self.abbreviation.is_empty() {
            if let Some(offset) = location.lookup_name(&self.abbreviation, utc.seconds) {
                return Ok(shifted(offset, location.clone()));
            }
            let hours = self
                .abbreviation
                .strip_prefix("GMT")
                .and_then(|hours| hours.parse::<i64>().ok());
            return Ok(shifted(
                0,
                Location::Fixed {
                    name: self.abbreviation.as_str().into(),
                    offset: hours.unwrap_or(0) * 3600,
                },
            ));
        }
        Ok(in_location(location.clone()))
    }

    fn month_and_day(&self) -> Result<(i64, i64), &'static str> {
        let is_leap = self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0);
        let lengths = [
            31,
            if is_leap { 29 } else { 28 },
            31,
            30,
            31,
            30,
            31,
            31,
            30,
            31,
            30,
            31,
        ];
        if let Some(year_day) = self.year_day {
            let (mut month, mut day) = (1, year_day);
            for length in lengths {
                if day <= length {
                    break;
                }
                day -= length;
                month += 1;
            }
            if day < 1 || month > 12 {
                return Err("day-of-year out of range");
            }
            if self.month.is_some_and(|seen| seen != month) {
                return Err("day-of-year does not match month");
            }
            if self.day.is_some_and(|seen| seen != day) {
                return Err("day-of-year does not match day");
            }
            return Ok((month, day));
        }
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        let length = usize::try_from(month - 1)
            .ok()
            .and_then(|at| lengths.get(at));
        if day < 1 || length.is_none_or(|length| day > *length) {
            return Err("day out of range");
        }
        Ok((month, day))
    }
}

fn in_range(
    n: i64,
    range: std::ops::RangeInclusive<i64>,
    part: &'static str,
) -> Result<(), ChunkError> {
    if range.contains(&n) {
        Ok(())
    } else {
        Err(ChunkError::Range(part))
    }
}

fn leading_digits(text: &[u8]) -> usize {
    text.iter().take_while(|b| b.is_ascii_digit()).count()
}

/// Exactly `count` digits.
fn digits(rest: &mut &[u8], count: usize) -> Result<i64, ChunkError> {
    let text = rest.get(..count).ok_or(ChunkError::Bad)?;
    let number = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok());
    let number = number
        .filter(|_| leading_digits(text) == count)
        .ok_or(ChunkError::Bad)?;
    *rest = &rest[count..];
    Ok(number)
}

/// Exactly `count` bytes that are a number, perhaps with a sign.
fn signed_digits(rest: &mut &[u8], count: usize) -> Result<i64, ChunkError> {
    let text = rest.get(..count).ok_or(ChunkError::Bad)?;
    let number = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(ChunkError::Bad)?;
    *rest = &rest[count..];
    Ok(number)
}

/// One or two digits; exactly two if `padded`.
fn number(rest: &mut &[u8], padded: bool) -> Result<i64, ChunkError> {
    match leading_digits(rest) {
        0 => Err(ChunkError::Bad),
        1 if padded => Err(ChunkError::Bad),
        count => digits(rest, count.min(2)),
    }
}

fn year_day(rest: &mut &[u8], pad: Pad) -> Result<i64, ChunkError> {
    if pad == Pad::Space {
        for _ in 0..2 {
            *rest = rest.strip_prefix(b" ").unwrap_or(rest);
        }
    }
    let count = leading_digits(rest).min(3);
    if count == 0 || (pad == Pad::Zero && count != 3) {
        return Err(ChunkError::Bad);
    }
    digits(rest, count)
}

/// `lookup`: a name or its first `length` letters, in any case.
fn name(rest: &mut &[u8], names: &[&str], length: usize) -> Result<i64, ChunkError> {
    let found = names.iter().enumerate().find_map(|(at, name)| {
        let name = &name.as_bytes()[..length.min(name.len())];
        let start = rest.get(..name.len())?;
        start.eq_ignore_ascii_case(name).then_some((at, name.len()))
    });
    let (at, length) = found.ok_or(ChunkError::Bad)?;
    *rest = &rest[length..];
    i64::try_from(at).map_err(|_| ChunkError::Bad)
}

fn am_pm(rest: &mut &[u8], upper: bool) -> Result<bool, ChunkError> {
    let is_pm = match (rest.get(..2), upper) {
        (Some(b"PM"), true) | (Some(b"pm"), false) => true,
        (Some(b"AM"), true) | (Some(b"am"), false) => false,
        _ => return Err(ChunkError::Bad),
    };
    *rest = &rest[2..];
    Ok(is_pm)
}

/// `parseNanoseconds`: digits after the ninth are ignored.
fn nanos(digits: &[u8]) -> Result<u32, ChunkError> {
    let text: String = digits.iter().take(9).map(|b| char::from(*b)).collect();
    if leading_digits(digits) != digits.len() {
        return Err(ChunkError::Bad);
    }
    format!("{text:0<9}").parse().map_err(|_| ChunkError::Bad)
}

/// `parseTimeZone`: the length of the abbreviation of a time zone.
fn abbreviation_length(text: &[u8]) -> Option<usize> {
    if text.len() < 3 {
        return None;
    }
    if text.starts_with(b"ChST") || text.starts_with(b"MeST") {
        return Some(4);
    }
    if text.starts_with(b"GMT") {
        return Some(3 + signed_offset_length(&text[3..]));
    }
    if matches!(text[0], b'+' | b'-') {
        return Some(signed_offset_length(text)).filter(|length| *length > 0);
    }
    let letters = text
        .iter()
        .take(6)
        .take_while(|b| b.is_ascii_uppercase())
        .count();
    match letters {
        3 => Some(3),
        4 if text[3] == b'T' || text.starts_with(b"WITA") => Some(4),
        5 if text[4] == b'T' => Some(5),
        _ => None,
    }
}

fn signed_offset_length(text: &[u8]) -> usize {
    if !matches!(text.first(), Some(b'+' | b'-')) {
        return 0;
    }
    let count = leading_digits(&text[1..]);
    let hours = std::str::from_utf8(&text[1..=count])
        .ok()
        .and_then(|text| text.parse::<u32>().ok());
    if hours.is_some_and(|hours| hours <= 23) {
        1 + count
    } else {
        0
    }
}

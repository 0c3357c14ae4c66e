//! Reading a time by a layout, like Go's `time.ParseInLocation`.

use std::fmt::Write;

use super::layout::{Element, MONTHS, OffsetForm, Pad, WEEKDAYS, next_element};
use super::moment::Moment;
use super::zone::Zone;

/// Why an element could not be read.
enum Miss {
    /// The text does not look like it.
    Bad,
    /// The named part has an impossible value.
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
    zone_name: String,
}

/// The time that `value` means; without a zone of its own it is in `zone`.
pub(super) fn parse(layout: &[u8], value: &[u8], zone: &Zone) -> Result<Moment, String> {
    let mut fields = Fields::default();
    let mut rest = value;
    let mut layout_rest = layout;
    let cannot = |rest: &[u8], element: &[u8]| {
        format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quote(value),
            quote(layout),
            quote(rest),
            quote(element)
        )
    };
    loop {
        let next = next_element(layout_rest);
        let prefix = next.as_ref().map_or(layout_rest, |(prefix, ..)| prefix);
        rest = skip(rest, prefix).map_err(|rest| cannot(rest, prefix))?;
        let Some((prefix, element, length)) = next else {
            break;
        };
        let written = &layout_rest[prefix.len()..length];
        layout_rest = &layout_rest[length..];
        let before = rest;
        match fields.read(element, &mut rest, layout_rest) {
            Ok(()) => {}
            Err(Miss::Range(part)) => {
                return Err(format!(
                    "parsing time {}: {part} out of range",
                    quote(value)
                ));
            }
            Err(Miss::Bad) => return Err(cannot(before, written)),
        }
    }
    if !rest.is_empty() {
        return Err(format!(
            "parsing time {}: extra text: {}",
            quote(value),
            quote(rest)
        ));
    }
    fields
        .into_moment(zone)
        .map_err(|problem| format!("parsing time {}: {problem}", quote(value)))
}

/// Consumes the text between elements; a space in the layout matches any number of spaces.
fn skip<'v>(mut value: &'v [u8], mut prefix: &[u8]) -> Result<&'v [u8], &'v [u8]> {
    let without_spaces = |text: &[u8]| text.iter().take_while(|b| **b == b' ').count();
    while let Some(expected) = prefix.first() {
        if *expected == b' ' {
            if value.first().is_some_and(|b| *b != b' ') {
                return Err(value);
            }
            prefix = &prefix[without_spaces(prefix)..];
            value = &value[without_spaces(value)..];
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
    fn read(&mut self, element: Element, rest: &mut &[u8], layout: &[u8]) -> Result<(), Miss> {
        match element {
            Element::Year => self.year = digits(rest, 4)?,
            Element::ShortYear => {
                let year = signed_digits(rest, 2)?;
                self.year = if year >= 69 { year + 1900 } else { year + 2000 };
            }
            Element::LongMonth => self.month = Some(name(rest, &MONTHS, usize::MAX)? + 1),
            Element::ShortMonth => self.month = Some(name(rest, &MONTHS, 3)? + 1),
            Element::Month { padded } => {
                let month = number(rest, padded)?;
                self.month = Some(month);
                in_range(month, 1..=12, "month")?;
            }
            Element::LongWeekday => drop(name(rest, &WEEKDAYS, usize::MAX)?),
            Element::ShortWeekday => drop(name(rest, &WEEKDAYS, 3)?),
            Element::Day(pad) => {
                if pad == Pad::Space {
                    *rest = rest.strip_prefix(b" ").unwrap_or(rest);
                }
                self.day = Some(number(rest, pad == Pad::Zero)?);
            }
            Element::YearDay(pad) => self.year_day = Some(year_day(rest, pad)?),
            Element::Hour => {
                self.hour = number(rest, false)?;
                in_range(self.hour, 0..=23, "hour")?;
            }
            Element::Hour12 { padded } => {
                self.hour = number(rest, padded)?;
                in_range(self.hour, 0..=12, "hour")?;
            }
            Element::Minute { padded } => {
                self.minute = number(rest, padded)?;
                in_range(self.minute, 0..=59, "minute")?;
            }
            Element::Second { padded } => self.read_second(rest, padded, layout)?,
            Element::HalfDay { upper } => self.is_pm = Some(half_day(rest, upper)?),
            Element::Offset { iso, form } => self.read_offset(rest, iso, form)?,
            Element::ZoneName => self.read_zone_name(rest)?,
            Element::Fraction {
                digits, trimmed, ..
            } => self.read_fraction(rest, digits, trimmed)?,
        }
        Ok(())
    }

    /// Seconds may have a fraction that the layout does not mention.
    fn read_second(&mut self, rest: &mut &[u8], padded: bool, layout: &[u8]) -> Result<(), Miss> {
        self.second = number(rest, padded)?;
        in_range(self.second, 0..=59, "second")?;
        let has_fraction = matches!(rest, [b'.' | b',', b'0'..=b'9', ..]);
        let announced = matches!(next_element(layout), Some((_, Element::Fraction { .. }, _)));
        if has_fraction && !announced {
            let length = 1 + leading_digits(&rest[1..]);
            self.nanos = nanos(&rest[1..length])?;
            *rest = &rest[length..];
        }
        Ok(())
    }

    fn read_fraction(&mut self, rest: &mut &[u8], count: usize, trimmed: bool) -> Result<(), Miss> {
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
            return Err(Miss::Bad);
        }
        self.nanos = nanos(&rest[1..=count])?;
        *rest = &rest[1 + count..];
        Ok(())
    }

    fn read_offset(&mut self, rest: &mut &[u8], iso: bool, form: OffsetForm) -> Result<(), Miss> {
        if iso && let Some(behind) = rest.strip_prefix(b"Z") {
            *rest = behind;
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
        let text = rest.get(..length).ok_or(Miss::Bad)?;
        let colons_fit = match form {
            OffsetForm::ColonMinutes => text[3] == b':',
            OffsetForm::ColonSeconds => text[3] == b':' && text[6] == b':',
            _ => true,
        };
        if !colons_fit {
            return Err(Miss::Bad);
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
        // A part that is out of range is told even if a later one is no number.
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
            _ => return Err(Miss::Bad),
        });
        Ok(())
    }

    fn read_zone_name(&mut self, rest: &mut &[u8]) -> Result<(), Miss> {
        if let Some(behind) = rest.strip_prefix(b"UTC") {
            *rest = behind;
            self.is_utc = true;
            return Ok(());
        }
        let length = zone_name_length(rest).ok_or(Miss::Bad)?;
        self.zone_name = String::from_utf8_lossy(&rest[..length]).into_owned();
        *rest = &rest[length..];
        Ok(())
    }

    fn into_moment(mut self, zone: &Zone) -> Result<Moment, &'static str> {
        match self.is_pm {
            Some(true) if self.hour < 12 => self.hour += 12,
            Some(false) if self.hour == 12 => self.hour = 0,
            _ => {}
        }
        let (month, day) = self.month_and_day()?;
        let seconds = (self.hour * 60 + self.minute) * 60 + self.second;
        let date = (self.year, month, day);
        let in_zone = |zone: Zone| Moment::from_civil(date, seconds, self.nanos, zone);
        if self.is_utc {
            return Ok(in_zone(Zone::Utc));
        }
        let utc = in_zone(Zone::Utc);
        let shifted = |offset: i64, zone: Zone| Moment {
            seconds: utc.seconds - offset,
            zone,
            ..utc.clone()
        };
        if let Some(offset) = self.offset {
            let (local_offset, local_name) = zone.at(utc.seconds - offset);
            let is_local = local_offset == offset
                && (self.zone_name.is_empty() || self.zone_name == local_name);
            let fixed = || Zone::Fixed {
                name: self.zone_name.as_str().into(),
                offset,
            };
            return Ok(shifted(
                offset,
                if is_local { zone.clone() } else { fixed() },
            ));
        }
        if !self.zone_name.is_empty() {
            if let Some(offset) = zone.offset_of(&self.zone_name, utc.seconds) {
                return Ok(shifted(offset, zone.clone()));
            }
            let hours = self
                .zone_name
                .strip_prefix("GMT")
                .and_then(|hours| hours.parse::<i64>().ok());
            return Ok(shifted(
                0,
                Zone::Fixed {
                    name: self.zone_name.as_str().into(),
                    offset: hours.unwrap_or(0) * 3600,
                },
            ));
        }
        Ok(in_zone(zone.clone()))
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

fn in_range(n: i64, range: std::ops::RangeInclusive<i64>, part: &'static str) -> Result<(), Miss> {
    if range.contains(&n) {
        Ok(())
    } else {
        Err(Miss::Range(part))
    }
}

fn leading_digits(text: &[u8]) -> usize {
    text.iter().take_while(|b| b.is_ascii_digit()).count()
}

/// Exactly `count` digits.
fn digits(rest: &mut &[u8], count: usize) -> Result<i64, Miss> {
    let text = rest.get(..count).ok_or(Miss::Bad)?;
    let number = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok());
    let number = number
        .filter(|_| leading_digits(text) == count)
        .ok_or(Miss::Bad)?;
    *rest = &rest[count..];
    Ok(number)
}

/// Exactly `count` characters that are a number, perhaps with a sign.
fn signed_digits(rest: &mut &[u8], count: usize) -> Result<i64, Miss> {
    let text = rest.get(..count).ok_or(Miss::Bad)?;
    let number = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(Miss::Bad)?;
    *rest = &rest[count..];
    Ok(number)
}

/// One or two digits; exactly two if `padded`.
fn number(rest: &mut &[u8], padded: bool) -> Result<i64, Miss> {
    match leading_digits(rest) {
        0 => Err(Miss::Bad),
        1 if padded => Err(Miss::Bad),
        count => digits(rest, count.min(2)),
    }
}

fn year_day(rest: &mut &[u8], pad: Pad) -> Result<i64, Miss> {
    if pad == Pad::Space {
        for _ in 0..2 {
            *rest = rest.strip_prefix(b" ").unwrap_or(rest);
        }
    }
    let count = leading_digits(rest).min(3);
    if count == 0 || (pad == Pad::Zero && count != 3) {
        return Err(Miss::Bad);
    }
    digits(rest, count)
}

/// A name, of which the first `length` letters are enough; the case does not matter.
fn name(rest: &mut &[u8], names: &[&str], length: usize) -> Result<i64, Miss> {
    let found = names.iter().enumerate().find_map(|(at, name)| {
        let name = &name.as_bytes()[..length.min(name.len())];
        let start = rest.get(..name.len())?;
        start.eq_ignore_ascii_case(name).then_some((at, name.len()))
    });
    let (at, length) = found.ok_or(Miss::Bad)?;
    *rest = &rest[length..];
    i64::try_from(at).map_err(|_| Miss::Bad)
}

fn half_day(rest: &mut &[u8], upper: bool) -> Result<bool, Miss> {
    let is_pm = match (rest.get(..2), upper) {
        (Some(b"PM"), true) | (Some(b"pm"), false) => true,
        (Some(b"AM"), true) | (Some(b"am"), false) => false,
        _ => return Err(Miss::Bad),
    };
    *rest = &rest[2..];
    Ok(is_pm)
}

/// Digits of a fraction as nanoseconds; those behind the ninth are dropped.
fn nanos(digits: &[u8]) -> Result<u32, Miss> {
    let text: String = digits.iter().take(9).map(|b| char::from(*b)).collect();
    if leading_digits(digits) != digits.len() {
        return Err(Miss::Bad);
    }
    format!("{text:0<9}").parse().map_err(|_| Miss::Bad)
}

/// How much of the text looks like the abbreviation of a zone.
fn zone_name_length(text: &[u8]) -> Option<usize> {
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

/// The quotes of the `time` package: other characters than ASCII show as their bytes.
pub(super) fn quote(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for byte in text {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(*byte));
            }
            b' '..=0x7f => out.push(char::from(*byte)),
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
    out.push('"');
    out
}

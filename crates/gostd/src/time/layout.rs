//! `Time.Format`: layouts such as `Mon Jan 2 15:04:05 MST 2006`.

use super::{Civil, Time};

/// `Month.String`
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// `Weekday.String`
pub const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// A `std` chunk of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunk {
    Year,
    ShortYear,
    LongMonth,
    ShortMonth,
    Month {
        padded: bool,
    },
    LongWeekday,
    ShortWeekday,
    Day(Pad),
    YearDay(Pad),
    Hour,
    Hour12 {
        padded: bool,
    },
    Minute {
        padded: bool,
    },
    Second {
        padded: bool,
    },
    /// `PM` or `pm`
    AmPm {
        upper: bool,
    },
    /// An offset such as `-07:00`; with `iso8601`, UTC is `Z`.
    Offset {
        iso8601: bool,
        form: OffsetForm,
    },
    Abbreviation,
    /// A fractional second; trailing zeros are removed if `trimmed`.
    Fraction {
        digits: usize,
        trimmed: bool,
        separator: u8,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pad {
    None,
    Space,
    Zero,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OffsetForm {
    Hours,
    Minutes,
    ColonMinutes,
    Seconds,
    ColonSeconds,
}

/// `nextStdChunk`: the prefix before the first chunk, the chunk, and the length of both.
pub(super) fn next_std_chunk(layout: &[u8]) -> Option<(&[u8], Chunk, usize)> {
    (0..layout.len()).find_map(|at| {
        let (chunk, length) = chunk_at(&layout[at..])?;
        // `_2006` is a literal underscore and a year.
        let skipped = usize::from(chunk == Chunk::Year && layout[at] == b'_');
        Some((&layout[..at + skipped], chunk, at + length))
    })
}

const fn offset(form: OffsetForm) -> Chunk {
    Chunk::Offset {
        iso8601: false,
        form,
    }
}

const fn iso8601_offset(form: OffsetForm) -> Chunk {
    Chunk::Offset {
        iso8601: true,
        form,
    }
}

/// Longer chunks first.
const CHUNKS: [(&[u8], Chunk); 32] = [
    (b"January", Chunk::LongMonth),
    (b"Monday", Chunk::LongWeekday),
    (b"MST", Chunk::Abbreviation),
    (b"002", Chunk::YearDay(Pad::Zero)),
    (b"01", Chunk::Month { padded: true }),
    (b"02", Chunk::Day(Pad::Zero)),
    (b"03", Chunk::Hour12 { padded: true }),
    (b"04", Chunk::Minute { padded: true }),
    (b"05", Chunk::Second { padded: true }),
    (b"06", Chunk::ShortYear),
    (b"15", Chunk::Hour),
    (b"1", Chunk::Month { padded: false }),
    (b"2006", Chunk::Year),
    (b"2", Chunk::Day(Pad::None)),
    (b"_2006", Chunk::Year),
    (b"_2", Chunk::Day(Pad::Space)),
    (b"__2", Chunk::YearDay(Pad::Space)),
    (b"3", Chunk::Hour12 { padded: false }),
    (b"4", Chunk::Minute { padded: false }),
    (b"5", Chunk::Second { padded: false }),
    (b"PM", Chunk::AmPm { upper: true }),
    (b"pm", Chunk::AmPm { upper: false }),
    (b"-070000", offset(OffsetForm::Seconds)),
    (b"-07:00:00", offset(OffsetForm::ColonSeconds)),
    (b"-0700", offset(OffsetForm::Minutes)),
    (b"-07:00", offset(OffsetForm::ColonMinutes)),
    (b"-07", offset(OffsetForm::Hours)),
    (b"Z070000", iso8601_offset(OffsetForm::Seconds)),
    (b"Z07:00:00", iso8601_offset(OffsetForm::ColonSeconds)),
    (b"Z0700", iso8601_offset(OffsetForm::Minutes)),
    (b"Z07:00", iso8601_offset(OffsetForm::ColonMinutes)),
    (b"Z07", iso8601_offset(OffsetForm::Hours)),
];

fn chunk_at(text: &[u8]) -> Option<(Chunk, usize)> {
    let known = CHUNKS.iter().find(|(known, _)| text.starts_with(known));
    if let Some((known, chunk)) = known {
        return Some((*chunk, known.len()));
    }
    let followed_by_letter = text.get(3).is_some_and(u8::is_ascii_lowercase);
    match text {
        [b'J', b'a', b'n', ..] if !followed_by_letter => Some((Chunk::ShortMonth, 3)),
        [b'M', b'o', b'n', ..] if !followed_by_letter => Some((Chunk::ShortWeekday, 3)),
        [separator @ (b'.' | b','), digit @ (b'0' | b'9'), ..] => {
            let digits = text[1..].iter().take_while(|byte| *byte == digit).count();
            // With another digit after it, this is not a fractional second.
            if text.get(1 + digits).is_some_and(u8::is_ascii_digit) {
                return None;
            }
            let fraction = Chunk::Fraction {
                digits,
                trimmed: *digit == b'9',
                separator: *separator,
            };
            Some((fraction, 1 + digits))
        }
        _ => None,
    }
}

/// `Time.Format`
pub(super) fn format(time: &Time, layout: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(layout.len() + 10);
    let formatter = Formatter::new(time);
    let mut rest = layout;
    while let Some((before, chunk, length)) = next_std_chunk(rest) {
        out.extend_from_slice(before);
        formatter.append(&mut out, chunk);
        rest = &rest[length..];
    }
    out.extend_from_slice(rest);
    out
}

struct Formatter {
    civil: Civil,
    nanos: u32,
    offset: i64,
    abbreviation: String,
}

impl Formatter {
    fn new(time: &Time) -> Self {
        let (offset, abbreviation) = time.location.lookup(time.seconds);
        Self {
            civil: time.civil(),
            nanos: time.nanos,
            offset,
            abbreviation,
        }
    }

    fn append(&self, out: &mut Vec<u8>, chunk: Chunk) {
        let civil = &self.civil;
        let width = |padded: bool| if padded { 2 } else { 0 };
        match chunk {
            Chunk::Year => append_int(out, civil.year, 4),
            Chunk::ShortYear => append_int(out, civil.year.abs() % 100, 2),
            Chunk::LongMonth => append_name(out, &MONTHS, civil.month - 1, usize::MAX),
            Chunk::ShortMonth => append_name(out, &MONTHS, civil.month - 1, 3),
            Chunk::Month { padded } => append_int(out, civil.month, width(padded)),
            Chunk::LongWeekday => append_name(out, &WEEKDAYS, civil.weekday, usize::MAX),
            Chunk::ShortWeekday => append_name(out, &WEEKDAYS, civil.weekday, 3),
            Chunk::Day(pad) => append_padded(out, civil.day, pad, 2),
            Chunk::YearDay(pad) => append_padded(out, civil.year_day, pad, 3),
            Chunk::Hour => append_int(out, civil.hour, 2),
            Chunk::Hour12 { padded } => append_int(out, (civil.hour + 11) % 12 + 1, width(padded)),
            Chunk::Minute { padded } => append_int(out, civil.minute, width(padded)),
            Chunk::Second { padded } => append_int(out, civil.second, width(padded)),
            Chunk::AmPm { upper } => {
                let half = if civil.hour >= 12 { "PM" } else { "AM" };
                let half = if upper {
                    half.to_owned()
                } else {
                    half.to_lowercase()
                };
                out.extend_from_slice(half.as_bytes());
            }
            Chunk::Offset { iso8601: true, .. } if self.offset == 0 => out.push(b'Z'),
            Chunk::Offset { form, .. } => self.append_offset(out, form),
            Chunk::Abbreviation if self.abbreviation.is_empty() => {
                self.append_offset(out, OffsetForm::Minutes);
            }
            Chunk::Abbreviation => out.extend_from_slice(self.abbreviation.as_bytes()),
            Chunk::Fraction {
                digits,
                trimmed,
                separator,
            } => self.append_fraction(out, digits, trimmed, separator),
        }
    }

    fn append_offset(&self, out: &mut Vec<u8>, form: OffsetForm) {
        let minutes = self.offset / 60;
        out.push(if minutes < 0 { b'-' } else { b'+' });
        append_int(out, minutes.abs() / 60, 2);
        let colon = matches!(form, OffsetForm::ColonMinutes | OffsetForm::ColonSeconds);
        if colon {
            out.push(b':');
        }
        if form != OffsetForm::Hours {
            append_int(out, minutes.abs() % 60, 2);
        }
        if matches!(form, OffsetForm::Seconds | OffsetForm::ColonSeconds) {
            if colon {
                out.push(b':');
            }
            append_int(out, self.offset.abs() % 60, 2);
        }
    }

    fn append_fraction(&self, out: &mut Vec<u8>, digits: usize, trimmed: bool, separator: u8) {
        let all = format!("{:09}", self.nanos);
        let mut shown = &all[..digits.min(9)];
        if trimmed {
            shown = shown.trim_end_matches('0');
            if shown.is_empty() {
                return;
            }
        }
        out.push(separator);
        out.extend_from_slice(shown.as_bytes());
    }
}

/// `appendInt`: at least `width` digits, not counting the sign.
fn append_int(out: &mut Vec<u8>, n: i64, width: usize) {
    if n < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(format!("{:0width$}", n.unsigned_abs()).as_bytes());
}

fn append_padded(out: &mut Vec<u8>, n: i64, pad: Pad, width: usize) {
    let text = match pad {
        Pad::None => n.to_string(),
        Pad::Space => format!("{n:width$}"),
        Pad::Zero => format!("{n:0width$}"),
    };
    out.extend_from_slice(text.as_bytes());
}

fn append_name(out: &mut Vec<u8>, names: &[&str], at: i64, length: usize) {
    let name = usize::try_from(at)
        .ok()
        .and_then(|at| names.get(at))
        .unwrap_or(&"");
    out.extend_from_slice(&name.as_bytes()[..length.min(name.len())]);
}

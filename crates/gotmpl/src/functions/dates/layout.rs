//! Go's reference layouts (`Mon Jan 2 15:04:05 MST 2006`): taken apart, and used to write a time.

use super::moment::Moment;

pub(super) const MONTHS: [&str; 12] = [
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
pub(super) const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// One element of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
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
    HalfDay {
        upper: bool,
    },
    /// An offset such as `-07:00`; with `iso`, UTC is `Z`.
    Offset {
        iso: bool,
        form: OffsetForm,
    },
    ZoneName,
    /// Digits of a second; trailing zeros go if `trimmed`.
    Fraction {
        digits: usize,
        trimmed: bool,
        mark: u8,
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

/// What comes before the first element, the element, and the length of both together.
pub(super) fn next_element(layout: &[u8]) -> Option<(&[u8], Element, usize)> {
    (0..layout.len()).find_map(|at| {
        let (element, length) = element_at(&layout[at..])?;
        // `_2006` is an underscore and a year.
        let skipped = usize::from(element == Element::Year && layout[at] == b'_');
        Some((&layout[..at + skipped], element, at + length))
    })
}

/// Longer spellings first.
const SPELLINGS: [(&[u8], Element); 33] = [
    (b"January", Element::LongMonth),
    (b"Monday", Element::LongWeekday),
    (b"MST", Element::ZoneName),
    (b"002", Element::YearDay(Pad::Zero)),
    (b"01", Element::Month { padded: true }),
    (b"02", Element::Day(Pad::Zero)),
    (b"03", Element::Hour12 { padded: true }),
    (b"04", Element::Minute { padded: true }),
    (b"05", Element::Second { padded: true }),
    (b"06", Element::ShortYear),
    (b"15", Element::Hour),
    (b"1", Element::Month { padded: false }),
    (b"2006", Element::Year),
    (b"2", Element::Day(Pad::None)),
    (b"_2006", Element::Year),
    (b"_2", Element::Day(Pad::Space)),
    (b"__2", Element::YearDay(Pad::Space)),
    (b"3", Element::Hour12 { padded: false }),
    (b"4", Element::Minute { padded: false }),
    (b"5", Element::Second { padded: false }),
    (b"PM", Element::HalfDay { upper: true }),
    (b"pm", Element::HalfDay { upper: false }),
    (
        b"-070000",
        Element::Offset {
            iso: false,
            form: OffsetForm::Seconds,
        },
    ),
    (
        b"-07:00:00",
        Element::Offset {
            iso: false,
            form: OffsetForm::ColonSeconds,
        },
    ),
    (
        b"-0700",
        Element::Offset {
            iso: false,
            form: OffsetForm::Minutes,
        },
    ),
    (
        b"-07:00",
        Element::Offset {
            iso: false,
            form: OffsetForm::ColonMinutes,
        },
    ),
    (
        b"-07",
        Element::Offset {
            iso: false,
            form: OffsetForm::Hours,
        },
    ),
    (
        b"Z070000",
        Element::Offset {
            iso: true,
            form: OffsetForm::Seconds,
        },
    ),
    (
        b"Z07:00:00",
        Element::Offset {
            iso: true,
            form: OffsetForm::ColonSeconds,
        },
    ),
    (
        b"Z0700",
        Element::Offset {
            iso: true,
            form: OffsetForm::Minutes,
        },
    ),
    (
        b"Z07:00",
        Element::Offset {
            iso: true,
            form: OffsetForm::ColonMinutes,
        },
    ),
    (
        b"Z07",
        Element::Offset {
            iso: true,
            form: OffsetForm::Hours,
        },
    ),
    (b"MST", Element::ZoneName),
];

fn element_at(text: &[u8]) -> Option<(Element, usize)> {
    let spelled = SPELLINGS
        .iter()
        .find(|(spelling, _)| text.starts_with(spelling));
    if let Some((spelling, element)) = spelled {
        return Some((*element, spelling.len()));
    }
    let followed_by_letter = text.get(3).is_some_and(u8::is_ascii_lowercase);
    match text {
        [b'J', b'a', b'n', ..] if !followed_by_letter => Some((Element::ShortMonth, 3)),
        [b'M', b'o', b'n', ..] if !followed_by_letter => Some((Element::ShortWeekday, 3)),
        [mark @ (b'.' | b','), digit @ (b'0' | b'9'), ..] => {
            let digits = text[1..].iter().take_while(|byte| *byte == digit).count();
            // More digits behind would make it something else.
            if text.get(1 + digits).is_some_and(u8::is_ascii_digit) {
                return None;
            }
            let fraction = Element::Fraction {
                digits,
                trimmed: *digit == b'9',
                mark: *mark,
            };
            Some((fraction, 1 + digits))
        }
        _ => None,
    }
}

/// The time in the given layout.
pub(super) fn format(moment: &Moment, layout: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(layout.len() + 10);
    let writer = Writer::new(moment);
    let mut rest = layout;
    while let Some((before, element, length)) = next_element(rest) {
        out.extend_from_slice(before);
        writer.write(&mut out, element);
        rest = &rest[length..];
    }
    out.extend_from_slice(rest);
    out
}

struct Writer {
    civil: super::moment::Civil,
    nanos: u32,
    offset: i64,
    zone_name: String,
}

impl Writer {
    fn new(moment: &Moment) -> Self {
        let (offset, zone_name) = moment.zone.at(moment.seconds);
        Self {
            civil: moment.civil(),
            nanos: moment.nanos,
            offset,
            zone_name,
        }
    }

    fn write(&self, out: &mut Vec<u8>, element: Element) {
        let civil = &self.civil;
        let width = |padded: bool| if padded { 2 } else { 0 };
        match element {
            Element::Year => number(out, civil.year, 4),
            Element::ShortYear => number(out, civil.year.abs() % 100, 2),
            Element::LongMonth => name(out, &MONTHS, civil.month - 1, usize::MAX),
            Element::ShortMonth => name(out, &MONTHS, civil.month - 1, 3),
            Element::Month { padded } => number(out, civil.month, width(padded)),
            Element::LongWeekday => name(out, &WEEKDAYS, civil.weekday, usize::MAX),
            Element::ShortWeekday => name(out, &WEEKDAYS, civil.weekday, 3),
            Element::Day(pad) => padded_number(out, civil.day, pad, 2),
            Element::YearDay(pad) => padded_number(out, civil.year_day, pad, 3),
            Element::Hour => number(out, civil.hour, 2),
            Element::Hour12 { padded } => number(out, (civil.hour + 11) % 12 + 1, width(padded)),
            Element::Minute { padded } => number(out, civil.minute, width(padded)),
            Element::Second { padded } => number(out, civil.second, width(padded)),
            Element::HalfDay { upper } => {
                let half = if civil.hour >= 12 { "PM" } else { "AM" };
                let half = if upper {
                    half.to_owned()
                } else {
                    half.to_lowercase()
                };
                out.extend_from_slice(half.as_bytes());
            }
            Element::Offset { iso: true, .. } if self.offset == 0 => out.push(b'Z'),
            Element::Offset { form, .. } => self.write_offset(out, form),
            Element::ZoneName if self.zone_name.is_empty() => {
                self.write_offset(out, OffsetForm::Minutes);
            }
            Element::ZoneName => out.extend_from_slice(self.zone_name.as_bytes()),
            Element::Fraction {
                digits,
                trimmed,
                mark,
            } => self.write_fraction(out, digits, trimmed, mark),
        }
    }

    fn write_offset(&self, out: &mut Vec<u8>, form: OffsetForm) {
        let minutes = self.offset / 60;
        out.push(if minutes < 0 { b'-' } else { b'+' });
        number(out, minutes.abs() / 60, 2);
        let colon = matches!(form, OffsetForm::ColonMinutes | OffsetForm::ColonSeconds);
        if colon {
            out.push(b':');
        }
        if form != OffsetForm::Hours {
            number(out, minutes.abs() % 60, 2);
        }
        if matches!(form, OffsetForm::Seconds | OffsetForm::ColonSeconds) {
            if colon {
                out.push(b':');
            }
            number(out, self.offset.abs() % 60, 2);
        }
    }

    fn write_fraction(&self, out: &mut Vec<u8>, digits: usize, trimmed: bool, mark: u8) {
        let all = format!("{:09}", self.nanos);
        let mut shown = &all[..digits.min(9)];
        if trimmed {
            shown = shown.trim_end_matches('0');
            if shown.is_empty() {
                return;
            }
        }
        out.push(mark);
        out.extend_from_slice(shown.as_bytes());
    }
}

/// At least `width` digits; a sign does not count.
fn number(out: &mut Vec<u8>, n: i64, width: usize) {
    if n < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(format!("{:0width$}", n.unsigned_abs()).as_bytes());
}

fn padded_number(out: &mut Vec<u8>, n: i64, pad: Pad, width: usize) {
    let text = match pad {
        Pad::None => n.to_string(),
        Pad::Space => format!("{n:width$}"),
        Pad::Zero => format!("{n:0width$}"),
    };
    out.extend_from_slice(text.as_bytes());
}

fn name(out: &mut Vec<u8>, names: &[&str], at: i64, length: usize) {
    let name = usize::try_from(at)
        .ok()
        .and_then(|at| names.get(at))
        .unwrap_or(&"");
    out.extend_from_slice(&name.as_bytes()[..length.min(name.len())]);
}

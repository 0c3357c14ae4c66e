//! One field of a cron schedule: a list of `*`, `5`, `1-5`, `*/10`, `1-30/2` and names of months and days.

use super::Error;

/// The values that a field may have.
pub(super) struct Bounds {
    min: u32,
    max: u32,
    names: &'static [&'static str],
}

/// The bounds of all fields.
pub(super) struct AllBounds {
    pub(super) minute: Bounds,
    pub(super) hour: Bounds,
    pub(super) day_of_month: Bounds,
    pub(super) month: Bounds,
    pub(super) day_of_week: Bounds,
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const fn bounds(min: u32, max: u32, names: &'static [&'static str]) -> Bounds {
    Bounds { min, max, names }
}

pub(super) const BOUNDS: AllBounds = AllBounds {
    minute: bounds(0, 59, &[]),
    hour: bounds(0, 23, &[]),
    day_of_month: bounds(1, 31, &[]),
    month: bounds(1, 12, &MONTHS),
    day_of_week: bounds(0, 6, &DAYS),
};

/// The values that match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    bits: u64,
    /// An expression of the field is `*` or `?`, without a step.
    pub(super) is_star: bool,
}

impl Field {
    pub(super) fn parse(text: &str, bounds: &Bounds) -> Result<Self, Error> {
        let mut field = Self {
            bits: 0,
            is_star: false,
        };
        for expression in text.split(',') {
            field.add(expression, bounds)?;
        }
        Ok(field)
    }

    pub(super) fn contains(self, value: i8) -> bool {
        self.bits & (1 << value) != 0
    }

    fn add(&mut self, expression: &str, bounds: &Bounds) -> Result<(), Error> {
        let steps: Vec<_> = expression.split('/').collect();
        let range: Vec<_> = steps
            .first()
            .map_or(vec![], |range| range.split('-').collect());
        let first = range.first().copied().unwrap_or_default();
        let is_star = matches!(first, "*" | "?");
        let (start, mut end) = if is_star {
            (bounds.min, bounds.max)
        } else {
            let start = number_or_name(first, bounds)?;
            match range.as_slice() {
                [_] => (start, start),
                [_, last] => (start, number_or_name(last, bounds)?),
                _ => return Err(Error(format!("too many hyphens: {expression}"))),
            }
        };
        let step = match steps.as_slice() {
            [_] => 1,
            [_, step] => {
                if range.len() == 1 {
                    end = bounds.max;
                }
                number(step)?
            }
            _ => return Err(Error(format!("too many slashes: {expression}"))),
        };
        check_range(expression, (start, end), step, bounds)?;
        let step = usize::try_from(step).unwrap_or(usize::MAX);
        for value in (start..=end).step_by(step) {
            self.bits |= 1 << value;
        }
        self.is_star |= is_star && step == 1;
        Ok(())
    }
}

fn check_range(
    expression: &str,
    (start, end): (u32, u32),
    step: u32,
    bounds: &Bounds,
) -> Result<(), Error> {
    let (min, max) = (bounds.min, bounds.max);
    let message = if start < min {
        format!("beginning of range ({start}) below minimum ({min}): {expression}")
    } else if end > max {
        format!("end of range ({end}) above maximum ({max}): {expression}")
    } else if start > end {
        format!("beginning of range ({start}) beyond end of range ({end}): {expression}")
    } else if step == 0 {
        format!("step of range should be a positive number: {expression}")
    } else {
        return Ok(());
    };
    Err(Error(message))
}

fn number_or_name(text: &str, bounds: &Bounds) -> Result<u32, Error> {
    let lower = text.to_lowercase();
    let named = bounds.names.iter().position(|name| *name == lower);
    match named.and_then(|index| u32::try_from(index).ok()) {
        Some(index) => Ok(index.saturating_add(bounds.min)),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u32, Error> {
    let value: Result<i64, _> = text.parse();
    match value {
        Ok(value) if value < 0 => Err(Error(format!(
            "negative number ({value}) not allowed: {text}"
        ))),
        Ok(value) => Ok(u32::try_from(value).unwrap_or(u32::MAX)),
        Err(_) => Err(Error(format!(
            "failed to parse int from {text}: strconv.Atoi: parsing \"{text}\": invalid syntax"
        ))),
    }
}

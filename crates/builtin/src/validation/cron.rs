//! Schedules of cron jobs, in the grammar and with the messages of the cron library that the real server uses.

/// Checks a schedule: five fields, or a name such as `@daily`.
pub(crate) fn check(schedule: &str) -> Result<(), String> {
    if let Some(name) = schedule.strip_prefix('@') {
        return check_name(schedule, name);
    }
    let fields: Vec<_> = schedule.split_whitespace().collect();
    if fields.len() != BOUNDS.len() {
        return Err(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        ));
    }
    for (field, bounds) in fields.iter().zip(&BOUNDS) {
        for expression in field.split(',') {
            check_expression(expression, bounds)?;
        }
    }
    Ok(())
}

struct Bounds {
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const BOUNDS: [Bounds; 5] = [
    Bounds {
        least: 0,
        most: 59,
        names: &[],
    },
    Bounds {
        least: 0,
        most: 23,
        names: &[],
    },
    Bounds {
        least: 1,
        most: 31,
        names: &[],
    },
    Bounds {
        least: 1,
        most: 12,
        names: &MONTHS,
    },
    Bounds {
        least: 0,
        most: 6,
        names: &DAYS,
    },
];

fn check_name(schedule: &str, name: &str) -> Result<(), String> {
    match name {
        "yearly" | "annually" | "monthly" | "weekly" | "daily" | "midnight" | "hourly" => Ok(()),
        _ => match name.strip_prefix("every ") {
            Some(duration) if is_duration(duration) => Ok(()),
            Some(duration) => Err(format!(
                "failed to parse duration {schedule}: time: invalid duration \"{duration}\""
            )),
            None => Err(format!("unrecognized descriptor: {schedule}")),
        },
    }
}

/// A duration such as `1h30m`.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut parts = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let Some(digits) = digits.filter(|digits| *digits > 0) else {
            return false;
        };
        let after = &rest[digits..];
        let unit = ["ns", "us", "µs", "ms", "s", "m", "h"]
            .iter()
            .find(|unit| after.starts_with(**unit) && !(**unit == "m" && after.starts_with("ms")));
        let Some(unit) = unit else {
            return false;
        };
        rest = &after[unit.len()..];
        parts += 1;
    }
    parts > 0
}

/// `*`, `5`, `1-5`, `*/10`, `1-30/2`, and names of months and days.
fn check_expression(expression: &str, bounds: &Bounds) -> Result<(), String> {
    let steps: Vec<_> = expression.split('/').collect();
    let range: Vec<_> = steps
        .first()
        .map_or(vec![], |range| range.split('-').collect());
    let is_single = range.len() == 1;
    let first = range.first().copied().unwrap_or_default();
    let (start, mut end) = if matches!(first, "*" | "?") {
        (bounds.least, bounds.most)
    } else {
        let start = number_or_name(first, bounds)?;
        match range.as_slice() {
            [_] => (start, start),
            [_, last] => (start, number_or_name(last, bounds)?),
            _ => return Err(format!("too many hyphens: {expression}")),
        }
    };
    let step = match steps.as_slice() {
        [_] => 1,
        [_, step] => {
            if is_single {
                end = bounds.most;
            }
            number(step)?
        }
        _ => return Err(format!("too many slashes: {expression}")),
    };
    if start < bounds.least {
        return Err(format!(
            "beginning of range ({start}) below minimum ({}): {expression}",
            bounds.least
        ));
    }
    if end > bounds.most {
        return Err(format!(
            "end of range ({end}) above maximum ({}): {expression}",
            bounds.most
        ));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {expression}"
        ));
    }
    if step == 0 {
        return Err(format!(
            "step of range should be a positive number: {expression}"
        ));
    }
    Ok(())
}

fn number_or_name(text: &str, bounds: &Bounds) -> Result<u32, String> {
    let lower = text.to_lowercase();
    let named = bounds.names.iter().position(|name| *name == lower);
    match named.and_then(|index| u32::try_from(index).ok()) {
        Some(index) => Ok(index + bounds.least),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u32, String> {
    let value: Result<i64, _> = text.parse();
    match value {
        Ok(value) if value < 0 => Err(format!("negative number ({value}) not allowed: {text}")),
        Ok(value) => Ok(u32::try_from(value).unwrap_or(u32::MAX)),
        Err(_) => Err(format!(
            "failed to parse int from {text}: strconv.Atoi: parsing \"{text}\": invalid syntax"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_that_people_write_are_right() {
        for schedule in [
            "* * * * *",
            "*/5 0-6,12 1 JAN-mar sun",
            "0 0 ? * 1-5",
            "@daily",
            "@every 1h30m",
            "5/15 * * * *",
        ] {
            assert_eq!(check(schedule), Ok(()), "{schedule}");
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        assert_eq!(
            check("0 24 * * *").unwrap_err(),
            "end of range (24) above maximum (23): 24"
        );
        assert_eq!(
            check("5-1 * * * *").unwrap_err(),
            "beginning of range (5) beyond end of range (1): 5-1"
        );
        assert_eq!(
            check("@nope").unwrap_err(),
            "unrecognized descriptor: @nope"
        );
    }
}

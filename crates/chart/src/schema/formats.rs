//! The messages of Helm 4, santhosh-tekuri/jsonschema, about strings that do not match a format. The validation itself
//! is done by boon.

use outrigger_gostd::strconv;

/// The error about a string that does not match the format; `None` for other formats.
pub(super) fn error(format: &str, text: &str) -> Option<String> {
    let result = match format {
        "ipv4" => ipv4(text),
        "hostname" => hostname(text),
        "email" => email(text),
        "uuid" => uuid(text),
        "date" => date(text),
        "date-time" => date_time(text),
        "time" => time(text),
        "json-pointer" => json_pointer(text),
        "uri" | "iri" => relative(text),
        "ipv6" if !text.contains(':') => Err("missing colon".to_owned()),
        _ => return None,
    };
    result.err()
}

type Check = Result<(), String>;

fn fail(text: &str) -> Check {
    Err(text.to_owned())
}

fn ipv4(text: &str) -> Check {
    let groups: Vec<&str> = text.split('.').collect();
    if groups.len() != 4 {
        return fail("expected four decimals");
    }
    for group in groups {
        if group.len() > 1 && group.starts_with('0') {
            return fail("leading zeros");
        }
        let Ok(number) = group.parse::<i64>() else {
            let group = strconv::quote(group);
            return Err(format!("strconv.Atoi: parsing {group}: invalid syntax"));
        };
        if !(0..=255).contains(&number) {
            return fail("decimal must be between 0 and 255");
        }
    }
    Ok(())
}

fn hostname(text: &str) -> Check {
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.len() > 253 {
        return fail("more than 253 characters long");
    }
    for label in text.split('.') {
        if !(1..=63).contains(&label.len()) {
            return fail("label must be 1 to 63 characters long");
        }
        if label.starts_with('-') {
            return fail("label starts with hyphen");
        }
        if label.ends_with('-') {
            return fail("label ends with hyphen");
        }
        characters(label, |c| c.is_ascii_alphanumeric() || c == '-')?;
    }
    Ok(())
}

fn characters(text: &str, is_allowed: impl Fn(char) -> bool) -> Check {
    text.chars().find(|&c| !is_allowed(c)).map_or(Ok(()), |c| {
        Err(format!("invalid character {}", strconv::quote_rune(c)))
    })
}

fn email(text: &str) -> Check {
    if text.len() > 254 {
        return fail("more than 255 characters long");
    }
    let Some((local, domain)) = text.rsplit_once('@') else {
        return fail("missing @");
    };
    if local.len() > 64 {
        return fail("local part more than 64 characters long");
    }
    if local.len() > 1 && local.starts_with('"') {
        if local[1..local.len() - 1].contains(['\\', '"']) {
            return fail("backslash and quote are not allowed within quoted local part");
        }
    } else if local.starts_with('.') {
        return fail("starts with dot");
    } else if local.ends_with('.') {
        return fail("ends with dot");
    } else if local.contains("..") {
        return fail("consecutive dots");
    } else {
        characters(local, |c| {
            c.is_ascii_alphanumeric() || ".!#$%&'*+-/=?^_`{|}~".contains(c)
        })?;
    }
    if let Some(address) = domain
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        return ipv4(address).map_err(|error| format!("invalid ipv4 address: {error}"));
    }
    hostname(domain).map_err(|error| format!("invalid domain: {error}"))
}

fn uuid(text: &str) -> Check {
    let lengths = [8, 4, 4, 4, 12];
    let groups: Vec<&str> = text.split('-').collect();
    if groups.len() != lengths.len() {
        return fail("must have 5 elements");
    }
    for (index, (group, length)) in groups.iter().zip(lengths).enumerate() {
        if group.len() != length {
            return Err(format!(
                "element {} must be {length} characters long",
                index + 1
            ));
        }
        if let Some(c) = group.chars().find(|c| !c.is_ascii_hexdigit()) {
            return Err(format!("non-hex character {}", strconv::quote_rune(c)));
        }
    }
    Ok(())
}

/// The error of Go's `time.Parse` with the layout `2006-01-02`.
fn date(text: &str) -> Check {
    let quoted = strconv::quote(text);
    let cannot_parse = |rest: &str, layout: &str| {
        let rest = strconv::quote(rest);
        Err(format!(
            "parsing time {quoted} as \"2006-01-02\": cannot parse {rest} as \"{layout}\""
        ))
    };
    let bytes = text.as_bytes();
    let digits = |from: usize, count: usize| {
        bytes
            .get(from..from + count)
            .is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let rest = |from: usize| text.get(from..).unwrap_or_default();
    if !digits(0, 4) {
        return cannot_parse(text, "2006");
    }
    if bytes.get(4) != Some(&b'-') {
        return cannot_parse(rest(4), "-");
    }
    if !digits(5, 2) {
        return cannot_parse(rest(5), "01");
    }
    if bytes.get(7) != Some(&b'-') {
        return cannot_parse(rest(7), "-");
    }
    if !digits(8, 2) {
        return cannot_parse(rest(8), "02");
    }
    if text.len() > 10 {
        return Err(format!(
            "parsing time {quoted}: extra text: {}",
            strconv::quote(rest(10))
        ));
    }
    let month: u32 = text[5..7].parse().unwrap_or(0);
    let part = if (1..=12).contains(&month) {
        "day"
    } else {
        "month"
    };
    Err(format!("parsing time {quoted}: {part} out of range"))
}

fn time(text: &str) -> Check {
    let bytes = text.as_bytes();
    if bytes.len() < 9 {
        return fail("less than 9 characters long");
    }
    if bytes[2] != b':' || bytes[5] != b':' {
        return fail("missing colon in correct place");
    }
    let number = |from: usize| -> Option<u32> { text.get(from..from + 2)?.parse().ok() };
    let (Some(hour), Some(minute), Some(second)) = (number(0), number(3), number(6)) else {
        return fail("invalid hour/min/sec");
    };
    if hour > 23 || minute > 59 || second > 60 {
        return fail("hour/min/sec out of range");
    }
    let mut rest = text.get(8..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix('.') {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return fail("no digits in second fraction");
        }
        rest = &fraction[digits..];
    }
    offset(rest)?;
    fail("invalid leap second")
}

fn offset(text: &str) -> Check {
    if text == "z" || text == "Z" {
        return Ok(());
    }
    if text.len() != 6 {
        return fail("offset must be 6 characters long");
    }
    if !text.starts_with(['+', '-']) {
        return fail("offset must begin with plus/minus");
    }
    if text.as_bytes()[3] != b':' {
        return fail("missing colon in offset in correct place");
    }
    let number = |from: usize| -> Option<u32> { text.get(from..from + 2)?.parse().ok() };
    match (number(1), number(4)) {
        (Some(hour), Some(minute)) if hour < 24 && minute < 60 => Ok(()),
        (Some(_), Some(_)) => fail("hour/min in offset out of range"),
        _ => fail("invalid hour/min in offset"),
    }
}

fn date_time(text: &str) -> Check {
    if text.len() < 20 {
        return fail("less than 20 characters long");
    }
    let (Some(day), Some(rest)) = (text.get(..10), text.get(11..)) else {
        return fail("11th character must be t or T");
    };
    if !matches!(text.as_bytes()[10], b't' | b'T') {
        return fail("11th character must be t or T");
    }
    if !super::draft7::format::is_valid("date", day) {
        return date(day).map_err(|error| format!("invalid date element: {error}"));
    }
    time(rest).map_err(|error| format!("invalid time element: {error}"))
}

fn json_pointer(text: &str) -> Check {
    if text.starts_with('/') {
        fail("~ must be followed by 0 or 1")
    } else {
        fail("not starting with /")
    }
}

fn relative(text: &str) -> Check {
    let has_scheme = text.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    if has_scheme || text.contains(|c: char| c.is_control() || c == '%') {
        return Ok(());
    }
    fail("relative url")
}

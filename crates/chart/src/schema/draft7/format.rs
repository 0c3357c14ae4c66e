//! The format checkers of gojsonschema. An unknown format accepts all values.

/// Whether the format is checked. Numbers do not match any of these formats.
pub(super) fn is_known(format: &str) -> bool {
    matches!(
        format,
        "date"
            | "time"
            | "date-time"
            | "hostname"
            | "email"
            | "idn-email"
            | "ipv4"
            | "ipv6"
            | "uri"
            | "uri-reference"
            | "iri"
            | "iri-reference"
            | "uri-template"
            | "uuid"
            | "regex"
            | "json-pointer"
            | "relative-json-pointer"
    )
}

pub(in crate::schema) fn is_valid(format: &str, text: &str) -> bool {
    match format {
        "date" => is_date(text),
        "time" => is_time(text),
        "date-time" => is_date(text) || is_time(text) || is_date_time(text),
        "hostname" => is_hostname(text),
        "email" | "idn-email" => text
            .rsplit_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty()),
        "ipv4" => text.contains('.') && text.parse::<std::net::IpAddr>().is_ok(),
        "ipv6" => text.parse::<std::net::Ipv6Addr>().is_ok(),
        "uri" | "iri" => is_reference(text) && has_scheme(text),
        "uri-reference" | "iri-reference" => is_reference(text),
        "uuid" => is_uuid(text),
        "regex" => regex::Regex::new(text).is_ok(),
        "json-pointer" => is_json_pointer(text),
        _ => true,
    }
}

fn is_date_time(text: &str) -> bool {
    text.split_once('T').is_some_and(|(date, time)| {
        is_date(date) && is_time(time) && time.contains(['Z', '+', '-'])
    })
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2))
    else {
        return false;
    };
    let is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

fn is_time(text: &str) -> bool {
    let (clock, zone) = match text.find(['Z', 'z', '+', '-']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let parts: Vec<Option<u32>> = clock.split(':').map(|part| digits(part, 2)).collect();
    let [Some(hour), Some(minute), Some(second)] = parts.as_slice() else {
        return false;
    };
    let is_zone = zone.is_empty()
        || zone.eq_ignore_ascii_case("z")
        || zone[1..].split_once(':').is_some_and(|(hour, minute)| {
            digits(hour, 2).is_some_and(|h| h < 24) && digits(minute, 2).is_some_and(|m| m < 60)
        });
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit());
    *hour < 24 && *minute < 60 && *second < 60 && is_zone && is_fraction
}

fn digits(text: &str, length: usize) -> Option<u32> {
    let is_plain = text.len() == length && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

fn is_hostname(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_word = |b: u8| b.is_ascii_alphanumeric();
        let bytes = label.as_bytes();
        (1..=63).contains(&bytes.len())
            && is_word(bytes[0])
            && is_word(bytes[bytes.len() - 1])
            && bytes.iter().all(|&b| is_word(b) || b == b'-')
    };
    text.len() < 256 && text.split('.').all(is_label)
}

fn is_reference(text: &str) -> bool {
    !text.contains(['\\', ' ']) && !text.chars().any(char::is_control)
}

fn has_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

fn is_uuid(text: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let parts: Vec<&str> = text.split('-').collect();
    parts.len() == 5
        && parts.iter().zip(lengths).all(|(part, length)| {
            part.len() == length && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        })
}

fn is_json_pointer(text: &str) -> bool {
    let escapes_hold = || {
        let mut parts = text.split('~');
        parts.next();
        parts.all(|part| part.starts_with(['0', '1']))
    };
    text.is_empty() || (text.starts_with('/') && escapes_hold())
}

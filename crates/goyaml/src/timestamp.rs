//! `parseTimestamp`: whether a scalar matches one of go-yaml's four layouts.

/// `2006-1-2T15:4:5.999999999Z07:00` (also with a small `t`), `2006-1-2 15:4:5.999999999` or `2006-1-2`.
pub(crate) fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    let starts_with_year =
        bytes.len() > 4 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-';
    starts_with_year && parse(bytes).is_some()
}

fn parse(bytes: &[u8]) -> Option<()> {
    let year = bytes[..4]
        .iter()
        .fold(0, |year, digit| year * 10 + u32::from(digit - b'0'));
    let (month, rest) = number(&bytes[5..])?;
    let (day, rest) = number(rest.strip_prefix(b"-")?)?;
    if !(1..=12).contains(&month) || day < 1 || day > days_in(month, year) {
        return None;
    }
    match rest {
        [] => Some(()),
        [b'T' | b't', rest @ ..] => zone(clock(rest)?),
        [b' ', ..] => {
            let spaces = rest.iter().take_while(|&&byte| byte == b' ').count();
            clock(&rest[spaces..])?.is_empty().then_some(())
        }
        _ => None,
    }
}

/// One or two digits.
fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    match bytes {
        [a @ b'0'..=b'9', b @ b'0'..=b'9', rest @ ..] => {
            Some((u32::from(a - b'0') * 10 + u32::from(b - b'0'), rest))
        }
        [a @ b'0'..=b'9', rest @ ..] => Some((u32::from(a - b'0'), rest)),
        _ => None,
    }
}

/// `15:4:5` with an optional fraction; returns the rest.
fn clock(bytes: &[u8]) -> Option<&[u8]> {
    let (hour, rest) = number(bytes)?;
    let (minute, rest) = number(rest.strip_prefix(b":")?)?;
    let (second, rest) = number(rest.strip_prefix(b":")?)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    match rest {
        [b'.' | b',', b'0'..=b'9', fraction @ ..] => {
            let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
            Some(&fraction[digits..])
        }
        _ => Some(rest),
    }
}

fn zone(bytes: &[u8]) -> Option<()> {
    match bytes {
        [b'Z'] => Some(()),
        [b'+' | b'-', hour @ .., b':', m1, m2] if hour.len() == 2 => {
            let (hour, _) = number(hour).filter(|_| hour[1].is_ascii_digit())?;
            let (minute, _) = number(&[*m1, *m2]).filter(|_| m2.is_ascii_digit())?;
            (hour <= 24 && minute <= 60).then_some(())
        }
        _ => None,
    }
}

fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in(month: u32, year: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_the_timestamps_of_go_yaml() {
        let dates = [
            "2001-01-01",
            "2001-1-1",
            "2000-2-29",
            "2001-12-14t21:59:43.10-05:00",
            "2001-12-14T1:2:3Z",
            "2001-12-14   21:59:43,5",
            "2001-12-14T21:59:43.99999999999999Z",
            "2001-12-14T00:00:00+24:60",
        ];
        for text in dates {
            assert!(is_timestamp(text), "{text}");
        }
        let others = [
            "",
            "2001",
            "2001-",
            "01-01-01",
            "2001-13-01",
            "2001-02-29",
            "2001-0-1",
            "2001-01-32",
            "2001-01-01T",
            "2001-12-14T21:59:43",
            "2001-12-14 21:59:43Z",
            "2001-12-14T24:00:00Z",
            "2001-12-14T21:60:00Z",
            "2001-12-14T21:59:43+1:00",
            "2001-12-14T21:59:43+25:00",
            "2001-12-14T21:59Z",
            "2001-01-01 ",
        ];
        for text in others {
            assert!(!is_timestamp(text), "{text}");
        }
    }
}

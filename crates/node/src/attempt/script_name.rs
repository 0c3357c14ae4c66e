//! Messages of shells name the file that they run. That of an attempt is internal: what it runs is named after it.

/// How the names of scripts are recognized: `FOLDER/KEY.KEY.script.PROCESS`.
const EXTENSION: &[u8] = b".script.";
/// The characters of a key.
const KEY: usize = 32;

/// Output without the names of scripts, and without the numbers of their lines.
pub(super) fn without_script_names(output: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(output.len());
    let mut rest = output;
    while let Some((before, name, after)) = next_name(rest) {
        kept.extend_from_slice(before);
        rest = without_line_number(after).unwrap_or_else(|| {
            kept.extend_from_slice(name);
            after
        });
    }
    kept.extend_from_slice(rest);
    kept
}

/// What is before the first path of a script, the path, and what is after it.
fn next_name(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let mut searched = 0;
    loop {
        let unread = text.get(searched..)?;
        let at = searched + find(unread, EXTENSION)?;
        searched = at + EXTENSION.len();
        let (before, after) = text.split_at_checked(searched)?;
        let keys = before.get(at.checked_sub(2 * KEY + 1).unwrap_or(at)..at)?;
        let is_key = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b'.';
        if keys.len() != 2 * KEY + 1 || !keys.iter().all(is_key) {
            continue;
        }
        let digits = after.iter().take_while(|byte| byte.is_ascii_digit());
        let end = searched + digits.count();
        let is_path = |byte: &u8| !byte.is_ascii_whitespace() && !b"'\"`:".contains(byte);
        let path = before.iter().rev().take_while(|byte| is_path(byte)).count();
        let (name, after) = text.split_at_checked(end)?;
        let (before, name) = name.split_at_checked(searched - path)?;
        return Some((before, name, after));
    }
}

/// What follows `: line 12: `, or `: 12: `.
fn without_line_number(text: &[u8]) -> Option<&[u8]> {
    let text = text.strip_prefix(b": ")?;
    let text = text.strip_prefix(b"line ").unwrap_or(text);
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (_, after) = text.split_at_checked(digits).filter(|_| digits > 0)?;
    after.strip_prefix(b": ")
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_shells_do_not_name_the_script() {
        let key = "0123456789abcdef0123456789abcdef";
        let script = format!("/var/lib/outrigger/attempts/{key}.{key}.script.4242");
        let check = |text: String, expected: &str| {
            let kept = without_script_names(text.as_bytes());
            assert_eq!(String::from_utf8_lossy(&kept), expected);
        };
        let not_found = "/tmp/hook: not found\n";
        check(
            format!("a\n{script}: 14: {not_found}"),
            &format!("a\n{not_found}"),
        );
        check(
            format!("{script}: line 14: {not_found}{script}: 1: b"),
            &format!("{not_found}b"),
        );
        let context = format!("{script}.context");
        for other in ["", "/srv/my.script.1: 2: no", ".script.", &script, &context] {
            check(other.to_owned(), other);
        }
    }
}

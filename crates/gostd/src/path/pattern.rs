//! `path.Match`: `*` and `?` do not match `/`, classes are negated with `^`, a backslash escapes.

use thiserror::Error;

/// `path.ErrBadPattern`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("syntax error in pattern")]
pub struct BadPattern;

/// `path.Match`: whether `pattern` matches all of `name`.
pub fn matches(pattern: &str, name: &str) -> Result<bool, BadPattern> {
    let mut pattern = pattern;
    let mut name = name;
    'pattern: while !pattern.is_empty() {
        let (star, chunk, rest) = scan_chunk(pattern);
        pattern = rest;
        if star && chunk.is_empty() {
            return Ok(!name.contains('/'));
        }
        if let Some(after) = match_chunk(chunk, name)?
            && (after.is_empty() || !pattern.is_empty())
        {
            name = after;
            continue;
        }
        if star {
            let reach = name.find('/').unwrap_or(name.len());
            for (at, c) in name[..reach].char_indices() {
                if let Some(after) = match_chunk(chunk, &name[at + c.len_utf8()..])? {
                    if pattern.is_empty() && !after.is_empty() {
                        continue;
                    }
                    name = after;
                    continue 'pattern;
                }
            }
        }
        return Ok(false);
    }
    Ok(name.is_empty())
}

/// `scanChunk`: whether the pattern starts with stars, the chunk after them up to the next star, and the rest.
fn scan_chunk(pattern: &str) -> (bool, &str, &str) {
    let trimmed = pattern.trim_start_matches('*');
    let star = trimmed.len() != pattern.len();
    let bytes = trimmed.as_bytes();
    let mut in_class = false;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if at + 1 < bytes.len() => at += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'*' if !in_class => break,
            _ => {}
        }
        at += 1;
    }
    // A backslash may escape a multi-byte character: move to its end.
    while !trimmed.is_char_boundary(at) {
        at += 1;
    }
    (star, &trimmed[..at], &trimmed[at..])
}

/// `matchChunk`: matches the chunk at the start of `text` and returns the rest of `text`. Checks the syntax of the whole
/// chunk even if it does not match.
fn match_chunk<'t>(chunk: &str, text: &'t str) -> Result<Option<&'t str>, BadPattern> {
    let mut chunk = chunk;
    let mut text = text;
    let mut failed = false;
    while let Some(operator) = chunk.chars().next() {
        let next = text.chars().next();
        failed |= next.is_none();
        match operator {
            '[' => {
                let (matched, rest) = match_class(&chunk[1..], next)?;
                chunk = rest;
                failed |= !matched;
            }
            '?' => {
                failed |= next == Some('/');
                chunk = &chunk[1..];
            }
            _ => {
                if operator == '\\' {
                    chunk = &chunk[1..];
                }
                let literal = chunk.chars().next().ok_or(BadPattern)?;
                failed |= next != Some(literal);
                chunk = &chunk[literal.len_utf8()..];
            }
        }
        if !failed && let Some(c) = next {
            text = &text[c.len_utf8()..];
        }
    }
    Ok((!failed).then_some(text))
}

fn match_class(class: &str, next: Option<char>) -> Result<(bool, &str), BadPattern> {
    let mut class = class;
    let negated = class.starts_with('^');
    if negated {
        class = &class[1..];
    }
    let mut matched = false;
    let mut ranges = 0;
    loop {
        if ranges > 0 && class.starts_with(']') {
            return Ok((matched != negated, &class[1..]));
        }
        let (low, rest) = get_esc(class)?;
        class = rest;
        let mut high = low;
        if let Some(rest) = class.strip_prefix('-') {
            (high, class) = get_esc(rest)?;
        }
        matched |= next.is_some_and(|c| low <= c && c <= high);
        ranges += 1;
    }
}

/// `getEsc`: one character of a class, perhaps escaped; the class must not end with it.
fn get_esc(class: &str) -> Result<(char, &str), BadPattern> {
    if class.starts_with(['-', ']']) {
        return Err(BadPattern);
    }
    let class = class.strip_prefix('\\').unwrap_or(class);
    let c = class.chars().next().ok_or(BadPattern)?;
    let rest = &class[c.len_utf8()..];
    if rest.is_empty() {
        return Err(BadPattern);
    }
    Ok((c, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_like_go() {
        // Recorded from Go's filepath.Match.
        let cases = [
            ("abc", "abc", Ok(true)),
            ("*", "abc", Ok(true)),
            ("*c", "abc", Ok(true)),
            ("a*", "a", Ok(true)),
            ("a*", "ab/c", Ok(false)),
            ("a*/b", "abc/b", Ok(true)),
            ("a*/b", "a/c/b", Ok(false)),
            ("a*b*c*d*e*/f", "axbxcxdxe/f", Ok(true)),
            ("a*b*c*d*e*/f", "axbxcxdxexxx/fff", Ok(false)),
            ("a*b?c*x", "abxbbxdbxebxczzy", Ok(false)),
            ("ab[c]", "abc", Ok(true)),
            ("ab[e-g]", "abc", Ok(false)),
            ("ab[^c]", "abc", Ok(false)),
            ("ab[^e-g]", "abc", Ok(true)),
            ("a\\*b", "a*b", Ok(true)),
            ("a\\*b", "ab", Ok(false)),
            ("a?b", "a☺b", Ok(true)),
            ("a[^a]b", "a☺b", Ok(true)),
            ("a???b", "a☺b", Ok(false)),
            ("[a-ζ]*", "α", Ok(true)),
            ("a?b", "a/b", Ok(false)),
            ("a*b", "a/b", Ok(false)),
            ("[\\]a]", "]", Ok(true)),
            ("[]a]", "]", Err(BadPattern)),
            ("[-]", "-", Err(BadPattern)),
            ("[x-]", "x", Err(BadPattern)),
            ("[a-b-c]", "a", Err(BadPattern)),
            ("[", "a", Err(BadPattern)),
            ("[^bc", "a", Err(BadPattern)),
            ("a[", "ab", Err(BadPattern)),
            ("a[", "x", Err(BadPattern)),
            ("*x", "xxx", Ok(true)),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern, name), expected, "{pattern} on {name}");
        }
    }
}

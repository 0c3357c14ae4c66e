//! A compiled pattern with Go's rules for walking over matches and for `$name` in replacements.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use regex::bytes::{Captures, Regex, RegexBuilder};

use super::translate::{Translation, translate};
use crate::fmt::unicode;
use crate::function::CallError;
use crate::functions::{MAX_TEXT, too_large};

/// Compiled programs beyond this many bytes are refused.
const MAX_PROGRAM: usize = 64 << 20;
/// Patterns kept for the next call; templates tend to use few, in loops.
const CACHED_PATTERNS: usize = 64;

#[derive(Debug, Clone)]
pub(super) struct Pattern(Rc<Compiled>);

#[derive(Debug)]
struct Compiled {
    regex: Regex,
    /// The names of the groups; empty for those without.
    names: Vec<String>,
}

thread_local! {
    static CACHE: RefCell<HashMap<Vec<u8>, Pattern>> = RefCell::default();
}

impl Pattern {
    pub(super) fn compile(pattern: &[u8]) -> Result<Self, String> {
        let cached = CACHE.with_borrow(|cache| cache.get(pattern).cloned());
        if let Some(pattern) = cached {
            return Ok(pattern);
        }
        let compiled = Self::compile_fresh(pattern)?;
        CACHE.with_borrow_mut(|cache| {
            if cache.len() >= CACHED_PATTERNS {
                cache.clear();
            }
            cache.insert(pattern.to_vec(), compiled.clone());
        });
        Ok(compiled)
    }

    fn compile_fresh(pattern: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(pattern).map_err(|error| {
            let wrong = String::from_utf8_lossy(&pattern[error.valid_up_to()..]);
            format!("invalid UTF-8: `{wrong}`")
        })?;
        let Translation { regex, names } = translate(text)?;
        let regex = RegexBuilder::new(&regex)
            .size_limit(MAX_PROGRAM)
            .nest_limit(500)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => format!("expression too large: `{text}`"),
                _ => format!("invalid or unsupported Perl syntax: `{text}`"),
            })?;
        Ok(Self(Rc::new(Compiled { regex, names })))
    }

    pub(super) fn is_match(&self, text: &[u8]) -> bool {
        self.0.regex.is_match(text)
    }

    pub(super) fn find_at(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        self.0.regex.find_at(text, from).map(|found| found.range())
    }

    /// Up to `limit` matches; an empty match right behind another match does not count.
    pub(super) fn find_all(&self, text: &[u8], limit: usize) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut at = 0;
        let mut previous_end = None;
        while found.len() < limit && at <= text.len() {
            let Some(range) = self.find_at(text, at) else {
                break;
            };
            let is_empty_here = range.end == at;
            let accepted = !(is_empty_here && Some(range.start) == previous_end);
            at = if is_empty_here {
                at + unicode::decode(&text[at..]).map_or(1, |(_, length)| length)
            } else {
                range.end
            };
            previous_end = Some(range.end);
            if accepted {
                found.push(range);
            }
        }
        found
    }

    pub(super) fn replace_all(
        &self,
        text: &[u8],
        with: &[u8],
        expand: bool,
    ) -> Result<Vec<u8>, CallError> {
        let expand = expand && with.contains(&b'$');
        let mut out = Vec::with_capacity(text.len());
        let (mut at, mut last_end) = (0, 0);
        while at <= text.len() {
            let Some(captures) = self.0.regex.captures_at(text, at) else {
                break;
            };
            let Some(whole) = captures.get(0).map(|found| found.range()) else {
                break;
            };
            out.extend_from_slice(&text[last_end..whole.start]);
            if whole.end > last_end || whole.start == 0 {
                if expand {
                    self.expand(&mut out, with, &captures);
                } else {
                    out.extend_from_slice(with);
                }
                if out.len() > MAX_TEXT {
                    return Err(too_large());
                }
            }
            last_end = whole.end;
            let step = unicode::decode(&text[at..]).map_or(1, |(_, length)| length);
            at = (at + step).max(whole.end);
        }
        out.extend_from_slice(&text[last_end..]);
        Ok(out)
    }

    /// Appends `template` with `$1`, `$name` and `${name}` replaced. `$1x` means the group named `1x`.
    fn expand(&self, out: &mut Vec<u8>, template: &[u8], captures: &Captures<'_>) {
        let mut rest = template;
        while let Some(dollar) = memchr::memchr(b'$', rest) {
            out.extend_from_slice(&rest[..dollar]);
            rest = &rest[dollar + 1..];
            if let Some(behind) = rest.strip_prefix(b"$") {
                out.push(b'$');
                rest = behind;
                continue;
            }
            let Some((name, length)) = reference(rest) else {
                out.push(b'$');
                continue;
            };
            rest = &rest[length..];
            if let Some(group) = self.group(name, captures) {
                out.extend_from_slice(group);
            }
        }
        out.extend_from_slice(rest);
    }

    fn group<'t>(&self, name: &[u8], captures: &Captures<'t>) -> Option<&'t [u8]> {
        if let Some(number) = group_number(name) {
            return captures.get(number).map(|group| group.as_bytes());
        }
        let named = self
            .0
            .names
            .iter()
            .enumerate()
            .filter(|(_, known)| known.as_bytes() == name);
        named
            .filter_map(|(at, _)| captures.get(at + 1))
            .map(|group| group.as_bytes())
            .next()
    }
}

/// The name behind a `$` and how long the reference is.
fn reference(text: &[u8]) -> Option<(&[u8], usize)> {
    let braced = text.starts_with(b"{");
    let body = &text[usize::from(braced)..];
    let is_name = |c: char| c == '_' || unicode::is_letter(c) || unicode::is_digit(c);
    let end = unicode::chars(body)
        .find(|(_, c)| !is_name(*c))
        .map_or(body.len(), |(at, _)| at);
    if end == 0 || (braced && body.get(end) != Some(&b'}')) {
        return None;
    }
    Some((&body[..end], end + if braced { 2 } else { 0 }))
}

/// A name of digits without a leading zero is a number.
fn group_number(name: &[u8]) -> Option<usize> {
    let is_number = name.iter().all(u8::is_ascii_digit) && (name.len() == 1 || name[0] != b'0');
    std::str::from_utf8(name)
        .ok()
        .filter(|_| is_number)?
        .parse()
        .ok()
}

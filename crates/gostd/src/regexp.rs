//! `regexp`: expressions in RE2 syntax with Go's error messages, on top of the `regex` crate.

mod cached;
mod class;
mod translate;

use std::ops::Range;

use regex::bytes::{Captures, Regex, RegexBuilder};

use crate::unicode;
pub use cached::{CachedRegexp, Program};
use translate::{Groups, Translation, translate};

/// The limits on compiled programs that are tried before the maximum.
const PROGRAM_SIZES: [usize; 4] = [64 << 10, 256 << 10, 1 << 20, 8 << 20];

/// Expressions whose compiled program exceeds this many bytes are rejected.
const MAX_PROGRAM: usize = 64 << 20;

/// The maximum size of the tables that a match builds from the program; the default of the `regex` crate.
const MAX_TABLES: usize = 2 << 20;

/// Expressions of which a match needs more memory are rejected: it needs some for each group in each state.
const MAX_MEMORY: usize = MAX_PROGRAM;

/// The maximum product of the sizes of program and text: in the worst case, every byte is matched with all states.
const MAX_COST: usize = 1 << 40;

/// Limits of the functions that find all matches. They return `None` when one is reached.
#[derive(Clone, Copy)]
pub struct Limits<'f> {
    /// The maximum number of matches.
    pub matches: usize,
    /// The maximum length of a result.
    pub bytes: usize,
    /// Whether to stop; asked after each match.
    pub interrupted: &'f dyn Fn() -> bool,
}

impl std::fmt::Debug for Limits<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Limits")
            .field("matches", &self.matches)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

/// Why an expression cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// `syntax.Error`
    #[error("error parsing regexp: {code}: `{expression}`")]
    Syntax {
        code: &'static str,
        expression: String,
    },
    /// Go may accept the expression.
    #[error("the compiled regular expression needs more than {} KiB, which is Outrigger's limit", limit >> 10)]
    TooLarge { limit: usize },
}

impl Error {
    fn new(code: &'static str, expression: impl Into<String>) -> Self {
        Self::Syntax {
            code,
            expression: expression.into(),
        }
    }
}

/// `regexp.Regexp`
#[derive(Debug)]
pub struct Regexp {
    regex: Regex,
    /// The limit on the size of the compiled program.
    program_size: usize,
    is_empty: bool,
    /// The names of the capture groups; empty for unnamed groups.
    names: Vec<String>,
}

impl Regexp {
    /// `regexp.Compile`
    pub fn compile(expression: &[u8]) -> Result<Self, Error> {
        Self::compile_within(expression, MAX_PROGRAM)
    }

    /// `regexp.Compile`; rejects expressions whose compiled program exceeds `max_program` bytes.
    pub fn compile_within(expression: &[u8], max_program: usize) -> Result<Self, Error> {
        Self::compile_groups(expression, Groups::Captured, max_program, MAX_TABLES)
    }

    /// Like [`Regexp::compile_within`]; the tables that a match builds have at most `max_tables` bytes.
    fn compile_groups(
        expression: &[u8],
        groups: Groups,
        max_program: usize,
        max_tables: usize,
    ) -> Result<Self, Error> {
        let text = std::str::from_utf8(expression).map_err(|error| {
            let invalid = String::from_utf8_lossy(&expression[error.valid_up_to()..]);
            Error::new("invalid UTF-8", invalid)
        })?;
        let Translation { regex, names } = translate(text, groups)?;
        let built = build(&regex, max_program, max_tables);
        let (regex, program_size) = built.map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => Error::TooLarge { limit: max_program },
            _ => Error::new("invalid or unsupported Perl syntax", text),
        })?;
        let compiled = Self {
            regex,
            program_size,
            is_empty: text.is_empty(),
            names,
        };
        if compiled.memory() > MAX_MEMORY {
            return Err(Error::TooLarge { limit: MAX_MEMORY });
        }
        Ok(compiled)
    }

    /// About how many bytes the program and a match need at most.
    pub fn memory(&self) -> usize {
        self.program_size
            .saturating_mul(self.names.len().saturating_add(1))
    }

    /// The length of texts that can be matched in bounded time.
    pub fn max_text_len(&self) -> usize {
        MAX_COST / self.program_size
    }

    /// `Regexp.Match`
    pub fn is_match(&self, text: &[u8]) -> bool {
        self.regex.is_match(text)
    }

    /// `Regexp.FindIndex`
    pub fn find(&self, text: &[u8]) -> Option<Range<usize>> {
        self.find_at(text, 0)
    }

    fn find_at(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        self.regex.find_at(text, from).map(|found| found.range())
    }

    /// `Regexp.FindAllIndex`: at most `limit` matches. An empty match next to the preceding match is ignored.
    pub fn find_all(
        &self,
        text: &[u8],
        limit: usize,
        limits: &Limits<'_>,
    ) -> Option<Vec<Range<usize>>> {
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
                at + unicode::decode_rune(&text[at..]).map_or(1, |(_, width)| width)
            } else {
                range.end
            };
            previous_end = Some(range.end);
            if accepted {
                found.push(range);
            }
            if found.len() > limits.matches || (limits.interrupted)() {
                return None;
            }
        }
        Some(found)
    }

    /// `Regexp.Split`: at most `limit` substrings.
    pub fn split<'t>(
        &self,
        text: &'t [u8],
        limit: usize,
        limits: &Limits<'_>,
    ) -> Option<Vec<&'t [u8]>> {
        if !self.is_empty && text.is_empty() {
            return Some(vec![b""]);
        }
        let mut pieces: Vec<&[u8]> = Vec::new();
        let (mut from, mut last) = (0, 0);
        for found in self.find_all(text, limit, limits)? {
            if pieces.len() + 1 == limit {
                break;
            }
            last = found.start;
            if found.end != 0 {
                pieces.push(&text[from..last]);
            }
            from = found.end;
        }
        if last != text.len() {
            pieces.push(&text[from..]);
        }
        Some(pieces)
    }

    /// `Regexp.ReplaceAll`
    pub fn replace_all(
        &self,
        text: &[u8],
        template: &[u8],
        limits: &Limits<'_>,
    ) -> Option<Vec<u8>> {
        if !template.contains(&b'$') {
            return self.replace_all_literal(text, template, limits);
        }
        self.replace(text, limits, |out, captures| {
            self.expand(out, template, captures, limits.bytes);
        })
    }

    /// `Regexp.ReplaceAllLiteral`
    pub fn replace_all_literal(
        &self,
        text: &[u8],
        with: &[u8],
        limits: &Limits<'_>,
    ) -> Option<Vec<u8>> {
        self.replace(text, limits, |out, _| out.extend_from_slice(with))
    }

    fn replace(
        &self,
        text: &[u8],
        limits: &Limits<'_>,
        append: impl Fn(&mut Vec<u8>, &Captures<'_>),
    ) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(text.len());
        let (mut at, mut last_end) = (0, 0);
        while at <= text.len() {
            let Some(captures) = self.regex.captures_at(text, at) else {
                break;
            };
            let Some(whole) = captures.get(0).map(|found| found.range()) else {
                break;
            };
            out.extend_from_slice(&text[last_end..whole.start]);
            if whole.end > last_end || whole.start == 0 {
                append(&mut out, &captures);
                if out.len() > limits.bytes || (limits.interrupted)() {
                    return None;
                }
            }
            last_end = whole.end;
            let width = unicode::decode_rune(&text[at..]).map_or(1, |(_, width)| width);
            at = (at + width).max(whole.end);
        }
        out.extend_from_slice(&text[last_end..]);
        Some(out)
    }

    /// `Regexp.Expand`: replaces `$1`, `$name` and `${name}` in `template`. `$1x` refers to the group named `1x`. Stops
    /// after `max_len` bytes.
    fn expand(&self, out: &mut Vec<u8>, template: &[u8], captures: &Captures<'_>, max_len: usize) {
        let mut rest = template;
        while let Some(dollar) = memchr::memchr(b'$', rest) {
            if out.len() > max_len {
                return;
            }
            out.extend_from_slice(&rest[..dollar]);
            rest = &rest[dollar + 1..];
            if let Some(after) = rest.strip_prefix(b"$") {
                out.push(b'$');
                rest = after;
                continue;
            }
            let Some((name, length)) = extract(rest) else {
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

/// Compiles an expression, and returns the smallest limit that its program does not exceed.
fn build(
    expression: &str,
    max_program: usize,
    max_tables: usize,
) -> Result<(Regex, usize), regex::Error> {
    let mut result = Err(regex::Error::CompiledTooBig(0));
    let smaller = PROGRAM_SIZES.into_iter().filter(|size| *size < max_program);
    for size in smaller.chain([max_program]) {
        result = RegexBuilder::new(expression)
            .size_limit(size)
            .dfa_size_limit(max_tables)
            .nest_limit(500)
            .build()
            .map(|regex| (regex, size));
        if !matches!(result, Err(regex::Error::CompiledTooBig(_))) {
            break;
        }
    }
    result
}

/// The group name after a `$`, and the length of the reference.
fn extract(text: &[u8]) -> Option<(&[u8], usize)> {
    let braced = text.starts_with(b"{");
    let body = &text[usize::from(braced)..];
    let is_name = |c: char| c == '_' || unicode::is_letter(c) || unicode::is_digit(c);
    let end = unicode::runes(body)
        .find(|(_, c)| !is_name(*c))
        .map_or(body.len(), |(at, _)| at);
    if end == 0 || (braced && body.get(end) != Some(&b'}')) {
        return None;
    }
    Some((&body[..end], end + if braced { 2 } else { 0 }))
}

/// A group name of digits without a leading zero is the number of the group.
fn group_number(name: &[u8]) -> Option<usize> {
    let is_number = name.iter().all(u8::is_ascii_digit) && (name.len() == 1 || name[0] != b'0');
    std::str::from_utf8(name)
        .ok()
        .filter(|_| is_number)?
        .parse()
        .ok()
}

/// `regexp.QuoteMeta`
pub fn quote_meta(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 8);
    for byte in text {
        if br"\.+*?()|[]{}^$".contains(byte) {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out
}

//! Go's regular expression syntax, checked with Go's error texts and rewritten for the `regex` crate.
//!
//! The two dialects differ in what a class such as `\d` or a word boundary means, in the syntax inside brackets,
//! and in what they accept. Every construct is therefore read here and written anew; groups lose their names.

use super::class;

/// Groups may nest this deep. Go allows a thousand, but the compiler of the `regex` crate recurses.
const MAX_DEPTH: usize = 200;
/// Limit for one repetition and for nested ones multiplied.
const MAX_REPEAT: u32 = 1000;

pub(super) struct Translation {
    pub(super) regex: String,
    pub(super) names: Vec<String>,
}

pub(super) fn translate(pattern: &str) -> Result<Translation, String> {
    let mut translator = Translator {
        pattern,
        at: 0,
        out: String::with_capacity(pattern.len() * 2),
        names: Vec::new(),
        groups: Vec::new(),
        has_atom: false,
        atom_end: 0,
        repeats: 1,
        last_repeat: None,
        is_behind_flags: false,
    };
    translator.run()?;
    Ok(Translation {
        regex: translator.out,
        names: translator.names,
    })
}

pub(super) fn error(code: &str, expression: &str) -> String {
    format!("{code}: `{expression}`")
}

struct Translator<'p> {
    pattern: &'p str,
    at: usize,
    out: String,
    names: Vec<String>,
    /// For each open group, the largest product of repetitions among its parts so far.
    groups: Vec<u32>,
    /// Something stands here that a repetition can apply to.
    has_atom: bool,
    /// Where that something ends in the output; flags may have been written behind it.
    atom_end: usize,
    /// The largest product of nested repetitions in the last atom.
    repeats: u32,
    /// Where the repetition just read begins.
    last_repeat: Option<usize>,
    /// The last item set flags, which is no atom.
    is_behind_flags: bool,
}

impl<'p> Translator<'p> {
    fn rest(&self) -> &'p str {
        &self.pattern[self.at..]
    }

    fn run(&mut self) -> Result<(), String> {
        while let Some(c) = self.rest().chars().next() {
            let is_repeat = self.item(c)?;
            if !is_repeat {
                self.last_repeat = None;
            }
            if !self.is_behind_flags {
                self.atom_end = self.out.len();
            }
            self.is_behind_flags = false;
        }
        if self.groups.is_empty() {
            Ok(())
        } else {
            Err(error("missing closing )", self.pattern))
        }
    }

    /// Reads one item; true if it was a repetition.
    fn item(&mut self, c: char) -> Result<bool, String> {
        match c {
            '(' => self.open()?,
            ')' => self.close()?,
            '|' => {
                self.at += 1;
                self.out.push('|');
                self.has_atom = false;
            }
            '^' | '$' | '.' => {
                self.at += 1;
                self.out.push(c);
                self.atom();
            }
            '[' => {
                let length = class::bracketed(self.rest(), &mut self.out)?;
                self.at += length;
                self.atom();
            }
            '*' | '+' | '?' => {
                self.repeat(1, &c.to_string())?;
                return Ok(true);
            }
            '{' => return self.counted_repeat(),
            '\\' => self.escape()?,
            _ => {
                self.at += c.len_utf8();
                class::push_literal(&mut self.out, c);
                self.atom();
            }
        }
        Ok(false)
    }

    fn atom(&mut self) {
        self.remember_repeats();
        self.has_atom = true;
        self.repeats = 1;
    }

    /// The last atom is complete: its product counts for the group around it.
    fn remember_repeats(&mut self) {
        if let Some(group) = self.groups.last_mut() {
            *group = self.repeats.max(*group);
        }
    }

    fn open(&mut self) -> Result<(), String> {
        if self.rest().starts_with("(?") {
            return self.open_special();
        }
        self.at += 1;
        self.names.push(String::new());
        self.open_group("(")
    }

    fn open_group(&mut self, written: &str) -> Result<(), String> {
        if self.groups.len() >= MAX_DEPTH {
            return Err(error("expression nests too deeply", self.pattern));
        }
        self.out.push_str(written);
        self.remember_repeats();
        self.groups.push(1);
        self.has_atom = false;
        self.repeats = 1;
        Ok(())
    }

    /// A named group, a group without capture, or flags.
    fn open_special(&mut self) -> Result<(), String> {
        let rest = self.rest();
        let name_start = match rest.as_bytes() {
            [_, _, b'P', b'<', _, ..] => Some(4),
            [_, _, b'<', _, ..] => Some(3),
            _ => None,
        };
        let Some(name_start) = name_start else {
            return self.flags();
        };
        let Some(end) = rest.find('>') else {
            return Err(error("invalid named capture", rest));
        };
        let name = &rest[name_start..end];
        let is_valid =
            !name.is_empty() && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
        if !is_valid {
            return Err(error("invalid named capture", &rest[..=end]));
        }
        self.at += end + 1;
        self.names.push(name.to_owned());
        self.open_group("(")
    }

    fn flags(&mut self) -> Result<(), String> {
        let rest = self.rest();
        let mut negative = false;
        let mut since_sign = 0;
        for (offset, c) in rest.char_indices().skip(2) {
            let end = offset + c.len_utf8();
            let refused = || Err(error("invalid or unsupported Perl syntax", &rest[..end]));
            match c {
                'i' | 'm' | 's' | 'U' => since_sign += 1,
                '-' if !negative => {
                    negative = true;
                    since_sign = 0;
                }
                ':' | ')' if !negative || since_sign > 0 => {
                    self.at += end;
                    let written = &rest[..end];
                    return if c == ':' {
                        self.open_group(written)
                    } else {
                        self.is_behind_flags = true;
                        self.out
                            .push_str(if written == "(?)" { "" } else { written });
                        Ok(())
                    };
                }
                _ => return refused(),
            }
        }
        Err(error("invalid or unsupported Perl syntax", rest))
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(inner) = self.groups.pop() else {
            return Err(error("unexpected )", self.pattern));
        };
        self.at += 1;
        self.out.push(')');
        // The group as a whole is the atom now.
        self.has_atom = true;
        self.repeats = self.repeats.max(inner);
        Ok(())
    }

    /// Reads a repetition of `length` bytes, and the `?` that may follow.
    fn repeat(&mut self, length: usize, written: &str) -> Result<(), String> {
        let start = self.at;
        self.at += length;
        let lazy = self.rest().starts_with('?');
        self.at += usize::from(lazy);
        if let Some(last) = self.last_repeat {
            return Err(error(
                "invalid nested repetition operator",
                &self.pattern[last..self.at],
            ));
        }
        if !self.has_atom {
            return Err(error(
                "missing argument to repetition operator",
                &self.pattern[start..self.at],
            ));
        }
        let lazy = if lazy { "?" } else { "" };
        self.out
            .insert_str(self.atom_end, &format!("{written}{lazy}"));
        self.last_repeat = Some(start);
        Ok(())
    }

    /// `{2}`, `{2,}` or `{2,5}`; anything else is a literal brace.
    fn counted_repeat(&mut self) -> Result<bool, String> {
        let rest = self.rest();
        let Some((min, max, length)) = parse_counts(rest) else {
            self.at += 1;
            self.out.push_str(r"\{");
            self.atom();
            return Ok(false);
        };
        let in_order = max.is_none_or(|max| min <= max && max <= MAX_REPEAT);
        if min > MAX_REPEAT || !in_order {
            return Err(error("invalid repeat count", &rest[..length]));
        }
        let start = self.at;
        self.repeat(length, &rest[..length])?;
        let count = max.unwrap_or(min);
        if min >= 2 || max.is_some_and(|max| max >= 2) {
            self.repeats = self.repeats.saturating_mul(count.max(1));
            if self.repeats > MAX_REPEAT {
                return Err(error("invalid repeat count", &self.pattern[start..self.at]));
            }
        }
        Ok(true)
    }

    fn escape(&mut self) -> Result<(), String> {
        let rest = self.rest();
        let assertion = match rest.as_bytes() {
            [_, b'A', ..] => r"\A",
            [_, b'z', ..] => r"\z",
            [_, b'b', ..] => r"(?-u:\b)",
            [_, b'B', ..] => r"(?-u:\B)",
            [_, b'C', ..] => return Err(error("invalid escape sequence", r"\C")),
            [_, b'Q', ..] => {
                let literal = &rest[2..];
                let (text, length) = match literal.find(r"\E") {
                    Some(end) => (&literal[..end], end + 4),
                    None => (literal, rest.len()),
                };
                self.at += length;
                for c in text.chars() {
                    class::push_literal(&mut self.out, c);
                    self.atom();
                }
                return Ok(());
            }
            _ => "",
        };
        if assertion.is_empty() {
            let length = if let Some(length) = class::escaped_class(rest, &mut self.out)? {
                length
            } else {
                let (c, length) = class::escaped_char(rest)?;
                class::push_code_point(&mut self.out, c);
                length
            };
            self.at += length;
        } else {
            self.at += 2;
            self.out.push_str(assertion);
        }
        self.atom();
        Ok(())
    }
}

/// Minimum, maximum and length of a counted repetition.
fn parse_counts(text: &str) -> Option<(u32, Option<u32>, usize)> {
    let end = text.find('}')?;
    let body = &text[1..end];
    let (min, max) = match body.split_once(',') {
        None => (body, Some(body)),
        Some((min, "")) => (min, None),
        Some((min, max)) => (min, Some(max)),
    };
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let leading_zero = digits.len() > 1 && digits.starts_with('0');
        // A number too large for its type is too large for a repetition as well.
        (plain && !leading_zero).then(|| digits.parse().unwrap_or(u32::MAX))
    };
    let max = match max {
        Some(max) => Some(number(max)?),
        None => None,
    };
    Some((number(min)?, max, end + 1))
}

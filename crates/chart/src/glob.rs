//! The patterns of `.Files.Glob`, as github.com/gobwas/glob: `*` and `?` do not match `/`, `**` does, `[a-z]` and
//! `[!abc]` are sets, `{a,b}` are alternatives, a backslash escapes.

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Glob(Vec<Part>);

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(Vec<char>),
    /// `*`
    Any,
    /// `**`
    Super,
    /// `?`
    Single,
    Range {
        low: char,
        high: char,
        not: bool,
    },
    Set {
        chars: Vec<char>,
        not: bool,
    },
    Either(Vec<Vec<Self>>),
}

/// The maximum nesting of alternatives.
const MAX_DEPTH: usize = 32;
/// The maximum length of a pattern: matching recurses for each part.
pub(crate) const MAX_LENGTH: usize = 1024;
/// The maximum number of steps for all names, against patterns with exponential backtracking.
pub(crate) const MAX_STEPS: usize = 20_000_000;

impl Glob {
    /// `None` if the pattern is malformed.
    pub(crate) fn new(pattern: &str) -> Option<Self> {
        let chars: Vec<char> = pattern.chars().collect();
        let mut parser = Parser {
            chars: &chars,
            at: 0,
        };
        let parts = parser.sequence(0)?;
        (parser.at == chars.len()).then_some(Self(parts))
    }

    /// Whether the pattern matches; subtracts what it took from `steps`. No match if they are exhausted.
    pub(crate) fn matches(&self, name: &str, steps: &mut usize) -> bool {
        let name: Vec<char> = name.chars().collect();
        match_whole(&self.0, &name, steps)
    }
}

struct Parser<'p> {
    chars: &'p [char],
    at: usize,
}

impl Parser<'_> {
    /// Parts up to the end, or inside alternatives up to `,` or `}`.
    fn sequence(&mut self, depth: usize) -> Option<Vec<Part>> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut parts = Vec::new();
        while let Some(&c) = self.chars.get(self.at) {
            match c {
                ',' | '}' if depth > 0 => break,
                '{' => {
                    self.at += 1;
                    parts.push(self.alternatives(depth)?);
                }
                '[' => {
                    self.at += 1;
                    parts.push(self.set()?);
                }
                '?' => {
                    self.at += 1;
                    parts.push(Part::Single);
                }
                '*' if self.chars.get(self.at + 1) == Some(&'*') => {
                    self.at += 2;
                    parts.push(Part::Super);
                }
                '*' => {
                    self.at += 1;
                    parts.push(Part::Any);
                }
                _ => {
                    let breakers: &[char] = if depth > 0 {
                        &['?', '*', '[', '{', '}', ',']
                    } else {
                        &['?', '*', '[', '{']
                    };
                    parts.push(Part::Text(self.text(breakers)));
                }
            }
        }
        Some(parts)
    }

    fn alternatives(&mut self, depth: usize) -> Option<Part> {
        let mut alternatives = Vec::new();
        loop {
            alternatives.push(self.sequence(depth + 1)?);
            match self.chars.get(self.at) {
                Some(',') => self.at += 1,
                Some('}') => {
                    self.at += 1;
                    return Some(Part::Either(alternatives));
                }
                // Without a closing brace, the alternatives end with the pattern.
                _ => return Some(Part::Either(alternatives)),
            }
        }
    }

    fn set(&mut self) -> Option<Part> {
        let not = self.chars.get(self.at) == Some(&'!');
        if not {
            self.at += 1;
        }
        let low = *self.chars.get(self.at)?;
        if self.chars.get(self.at + 1) == Some(&'-') {
            let high = *self.chars.get(self.at + 2)?;
            if self.chars.get(self.at + 3) != Some(&']') || high < low {
                return None;
            }
            self.at += 4;
            return Some(Part::Range { low, high, not });
        }
        let chars = self.text(&[']']);
        if self.chars.get(self.at) != Some(&']') || chars.is_empty() {
            return None;
        }
        self.at += 1;
        Some(Part::Set { chars, not })
    }

    fn text(&mut self, breakers: &[char]) -> Vec<char> {
        let mut text = Vec::new();
        let mut escaped = false;
        while let Some(&c) = self.chars.get(self.at) {
            if !escaped && breakers.contains(&c) {
                break;
            }
            self.at += 1;
            if !escaped && c == '\\' {
                escaped = true;
                continue;
            }
            escaped = false;
            text.push(c);
        }
        text
    }
}

/// Matches a pattern against a whole name.
fn match_whole(parts: &[Part], name: &[char], steps: &mut usize) -> bool {
    match parts {
        // Helm's matcher checks prefix and suffix separately, so they may overlap: `d/**/a` matches `d/a`.
        [Part::Text(start), Part::Super, Part::Text(end)] => {
            name.starts_with(start) && name.ends_with(end)
        }
        [Part::Either(alternatives)] => alternatives
            .iter()
            .any(|alternative| match_whole(alternative, name, steps)),
        parts => {
            let parts: Vec<&Part> = parts.iter().collect();
            match_parts(&parts, name, steps)
        }
    }
}

fn match_parts(parts: &[&Part], name: &[char], steps: &mut usize) -> bool {
    if *steps == 0 {
        return false;
    }
    *steps -= 1;
    let Some((first, rest)) = parts.split_first() else {
        return name.is_empty();
    };
    match first {
        Part::Text(text) => name
            .strip_prefix(text.as_slice())
            .is_some_and(|name| match_parts(rest, name, steps)),
        Part::Any | Part::Super => {
            let max = match first {
                Part::Any => name.iter().position(|&c| c == '/').unwrap_or(name.len()),
                _ => name.len(),
            };
            (0..=max).any(|skip| match_parts(rest, &name[skip..], steps))
        }
        Part::Either(alternatives) => alternatives.iter().any(|alternative| {
            *steps = steps.saturating_sub(alternative.len() + rest.len());
            let parts: Vec<&Part> = alternative.iter().chain(rest.iter().copied()).collect();
            match_parts(&parts, name, steps)
        }),
        single => {
            let Some((&c, name)) = name.split_first() else {
                return false;
            };
            single.accepts(c) && match_parts(rest, name, steps)
        }
    }
}

impl Part {
    fn accepts(&self, c: char) -> bool {
        match self {
            Self::Single => c != '/',
            Self::Range { low, high, not } => (*low <= c && c <= *high) != *not,
            Self::Set { chars, not } => chars.contains(&c) != *not,
            Self::Text(_) | Self::Any | Self::Super | Self::Either(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_helm() {
        // The results of `.Files.Glob` in both Helm versions.
        let cases = [
            ("*.txt", "a.txt", true),
            ("*.txt", "d/a.txt", false),
            ("**.txt", "d/e/a.txt", true),
            ("d/*", "d/a.txt", true),
            ("d/*", "d/e/a.txt", false),
            ("d/**", "d/e/a.txt", true),
            ("**/a.txt", "a.txt", false),
            ("**/a.txt", "d/a.txt", true),
            ("{a,b}.txt", "b.txt", true),
            ("{a,b}.txt", "c.txt", false),
            ("d/{*.yaml,e/**}", "d/e/a.txt", true),
            ("?.txt", "a.txt", true),
            ("d?a.txt", "d/a.txt", false),
            ("[a-c].txt", "b.txt", true),
            ("[!a-c].txt", "b.txt", false),
            ("[abc].txt", "c.txt", true),
            ("[!abc].txt", "d.txt", true),
            ("\\*.txt", "*.txt", true),
            ("\\*.txt", "a.txt", false),
            ("a,b", "a,b", true),
            ("{a,{b,c}}x", "cx", true),
            ("", "a.txt", false),
            ("{a", "a", true),
            ("{a,b", "b", true),
            ("a}", "a}", true),
            ("*", "a.txt", true),
            ("**", "d/e/a.txt", true),
            ("d/**/a.txt", "d/e/a.txt", true),
            ("d/**/a.txt", "d/a.txt", true),
            ("d/**a.txt", "d/a.txt", true),
            ("{*.txt,d/*}", "d/a.txt", true),
            ("d/*.{txt,md}", "d/a.txt", true),
            ("[!/]*.txt", "a.txt", true),
            ("d[/]a.txt", "d/a.txt", true),
            ("***", "d/e/a.txt", true),
            ("d*", "d/a.txt", false),
            ("\\a.txt", "a.txt", true),
            ("a.tx[t]", "a.txt", true),
            ("a.tx[\\t]", "a.txt", true),
            ("{,a}.txt", "a.txt", true),
        ];
        for (pattern, name, expected) in cases {
            let glob = Glob::new(pattern).unwrap();
            let matches = glob.matches(name, &mut MAX_STEPS.clone());
            assert_eq!(matches, expected, "{pattern} on {name}");
        }
        for malformed in ["[a", "[]", "[c-a]", "[a-", "[a-z-]"] {
            assert!(Glob::new(malformed).is_none(), "{malformed}");
        }
    }
}

//! `.helmignore`: the rules of Helm's own matcher, which differ from git's.
//!
//! Rules are tried in order. A plain rule that matches ignores the path. A negated rule ignores everything it does
//! *not* match. A rule without a slash looks at the base name only. `**` is refused.

use crate::path_match::{self, BadPattern};

/// The file's name inside a chart.
pub const FILE_NAME: &str = ".helmignore";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("double-star (**) syntax is not supported")]
    DoubleStar,
    #[error(transparent)]
    Pattern(#[from] BadPattern),
}

#[derive(Debug, Default)]
pub struct Rules(Vec<Rule>);

#[derive(Debug)]
struct Rule {
    pattern: Pattern,
    scope: Scope,
    negated: bool,
    folders_only: bool,
}

/// A pattern, the usual forms told apart so that they cost next to nothing.
#[derive(Debug)]
enum Pattern {
    /// `OWNERS`
    Literal(String),
    /// `*.swp`, for base names
    Ending(String),
    /// Anything else.
    Shell(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    WholePath,
    BaseName,
}

impl Rules {
    /// Reads an ignore file and adds what Helm always ignores: dot files in `templates/`.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut rules = Self::default();
        for line in String::from_utf8_lossy(text).lines() {
            rules.add(line)?;
        }
        rules.add("templates/.?*")?;
        Ok(rules)
    }

    /// Whether the path, relative to the chart and with `/`, is to be left out.
    pub fn ignores(&self, path: &str, is_folder: bool) -> bool {
        if path.is_empty() || path == "." || path == "./" {
            return false;
        }
        for rule in &self.0 {
            let applies = !rule.folders_only || is_folder;
            if rule.negated {
                if !applies || !rule.matches(path) {
                    return true;
                }
            } else if applies && rule.matches(path) {
                return true;
            }
        }
        false
    }

    fn add(&mut self, line: &str) -> Result<(), Error> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if line.contains("**") {
            return Err(Error::DoubleStar);
        }
        path_match::matches(line, "abc")?;
        let (negated, rule) = strip(line, |l| l.strip_prefix('!'));
        let (folders_only, rule) = strip(rule, |l| l.strip_suffix('/'));
        let (rooted, rule) = strip(rule, |l| l.strip_prefix('/'));
        let scope = if rooted || rule.contains('/') {
            Scope::WholePath
        } else {
            Scope::BaseName
        };
        self.0.push(Rule {
            pattern: Pattern::new(rule, scope),
            scope,
            negated,
            folders_only,
        });
        Ok(())
    }
}

impl Rule {
    fn matches(&self, path: &str) -> bool {
        let subject = match self.scope {
            Scope::WholePath => path,
            Scope::BaseName => path.rsplit('/').next().unwrap_or(path),
        };
        match &self.pattern {
            Pattern::Literal(name) => subject == name,
            Pattern::Ending(ending) => subject.ends_with(ending.as_str()),
            Pattern::Shell(pattern) => path_match::matches(pattern, subject).unwrap_or(false),
        }
    }
}

impl Pattern {
    fn new(rule: &str, scope: Scope) -> Self {
        let is_literal = |text: &str| !text.contains(['*', '?', '[', '\\']);
        match rule.strip_prefix('*') {
            None if is_literal(rule) => Self::Literal(rule.to_owned()),
            Some(ending) if is_literal(ending) && scope == Scope::BaseName => {
                Self::Ending(ending.to_owned())
            }
            _ => Self::Shell(rule.to_owned()),
        }
    }
}

fn strip<'a>(text: &'a str, by: impl Fn(&'a str) -> Option<&'a str>) -> (bool, &'a str) {
    by(text).map_or((false, text), |rest| (true, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rules: &str, path: &str, is_folder: bool, ignored: bool) {
        let rules = Rules::parse(rules.as_bytes()).unwrap();
        assert_eq!(rules.ignores(path, is_folder), ignored, "{path}");
    }

    #[test]
    fn rules_ignore_what_helm_ignores() {
        check("helm.txt", "helm.txt", false, true);
        check("helm.*", "a/helm.txt", false, true);
        check("*.txt", "tiller.txt", false, true);
        check("cargo/*.txt", "cargo/a.txt", false, true);
        check("cargo/*.txt", "a.txt", false, false);
        check("/*.txt", "cargo/a.txt", false, false);
        check("/*.txt", "a.txt", false, true);
        check("cargo/", "cargo", true, true);
        check("cargo/", "cargo", false, false);
        check("a[a-d].txt", "ab.txt", false, true);
        check("a[a-d].txt", "az.txt", false, false);
        check(".?*", ".git", true, true);
        check("# comment\n\n  *.md  ", "README.md", false, true);
        check("", "templates/.hidden.yaml", false, true);
        check("", "templates/deeper/.hidden", false, false);
        check("\u{feff}*.md", "x.md", false, true);
    }

    #[test]
    fn negation_ignores_everything_else() {
        check("!helm.txt", "helm.txt", false, false);
        check("!helm.txt", "tiller.txt", false, true);
        check("!*.txt", "cargo", true, true);
        check("!cargo/", "cargo/a.txt", false, true);
    }

    #[test]
    fn double_stars_and_bad_patterns_are_refused() {
        assert_eq!(Rules::parse(b"a/**/b").unwrap_err(), Error::DoubleStar);
        assert_eq!(
            Rules::parse(b"[a").unwrap_err().to_string(),
            "syntax error in pattern"
        );
    }
}

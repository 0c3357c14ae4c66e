//! `.helmignore`, with the rules of Helm, which differ from those of git.
//!
//! Rules are applied in order. A rule that matches ignores the path. A negated rule ignores everything that it does
//! *not* match. A rule without a slash matches the base name. `**` is rejected.

use outrigger_gostd::path::{self, BadPattern};

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

/// A pattern. Common forms are matched without the shell pattern matcher.
#[derive(Debug)]
enum Pattern {
    /// `OWNERS`
    Literal(String),
    /// `*.swp`, for base names
    Suffix(String),
    /// All other patterns
    Shell(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    WholePath,
    BaseName,
}

impl Rules {
    /// Parses an ignore file, and adds the default rule for dot files in `templates/`.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut rules = Self::default();
        for line in String::from_utf8_lossy(text).lines() {
            rules.add(line)?;
        }
        rules.add("templates/.?*")?;
        Ok(rules)
    }

    /// Whether a path, relative to the chart and separated by `/`, is ignored.
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
        path::matches(line, "abc")?;
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
            Pattern::Suffix(suffix) => subject.ends_with(suffix.as_str()),
            Pattern::Shell(pattern) => path::matches(pattern, subject).unwrap_or(false),
        }
    }
}

impl Pattern {
    fn new(rule: &str, scope: Scope) -> Self {
        let is_literal = |text: &str| !text.contains(['*', '?', '[', '\\']);
        match rule.strip_prefix('*') {
            None if is_literal(rule) => Self::Literal(rule.to_owned()),
            Some(suffix) if is_literal(suffix) && scope == Scope::BaseName => {
                Self::Suffix(suffix.to_owned())
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

    const NAMES: [&str; 12] = [
        ".hidden",
        "README.md",
        "a/helm.txt",
        "ab.txt",
        "az.txt",
        "cargo/a.txt",
        "cargo/b/c.txt",
        "helm.txt",
        "templates/.h.yaml",
        "templates/d/.h",
        "tiller.txt",
        "x.md",
    ];

    /// The names that a walk with these rules ignores.
    fn ignored(rules: &str) -> Vec<&'static str> {
        let rules = Rules::parse(rules.as_bytes()).unwrap();
        let is_ignored = |name: &&str| {
            let mut folders = name.match_indices('/').map(|(end, _)| &name[..end]);
            folders.any(|folder| rules.ignores(folder, true)) || rules.ignores(name, false)
        };
        NAMES.into_iter().filter(is_ignored).collect()
    }

    #[test]
    fn ignores_the_files_that_helm_ignores() {
        // The files that `helm package` of both versions ignored; `templates/.h.yaml` always is.
        let cases: [(&str, &[&str]); 19] = [
            ("helm.txt", &["a/helm.txt", "helm.txt"]),
            ("helm.*", &["a/helm.txt", "helm.txt"]),
            (
                "*.txt",
                &[
                    "a/helm.txt",
                    "ab.txt",
                    "az.txt",
                    "cargo/a.txt",
                    "cargo/b/c.txt",
                    "helm.txt",
                    "tiller.txt",
                ],
            ),
            ("cargo/*.txt", &["cargo/a.txt"]),
            ("/*.txt", &["ab.txt", "az.txt", "helm.txt", "tiller.txt"]),
            ("cargo/", &["cargo/a.txt", "cargo/b/c.txt"]),
            ("a[a-d].txt", &["ab.txt"]),
            (".?*", &[".hidden", "templates/d/.h"]),
            ("# comment\n\n  *.md  ", &["README.md", "x.md"]),
            ("", &[]),
            ("\u{feff}*.md", &["README.md", "x.md"]),
            ("cargo", &["cargo/a.txt", "cargo/b/c.txt"]),
            ("/cargo", &["cargo/a.txt", "cargo/b/c.txt"]),
            ("cargo/a.txt", &["cargo/a.txt"]),
            ("*/a.txt", &["cargo/a.txt"]),
            ("ca?go/", &["cargo/a.txt", "cargo/b/c.txt"]),
            ("templates/", &["templates/d/.h"]),
            ("[!a]b.txt", &["ab.txt"]),
            ("cargo\\/a.txt", &["cargo/a.txt"]),
        ];
        for (rules, expected) in cases {
            let mut expected = expected.to_vec();
            expected.push("templates/.h.yaml");
            expected.sort_unstable();
            assert_eq!(ignored(rules), expected, "{rules}");
        }
    }

    #[test]
    fn negation_ignores_everything_else() {
        for rules in [
            "!helm.txt",
            "!*.txt",
            "!cargo/",
            "!cargo\n*.md",
            "*.md\n!*.txt",
        ] {
            let rules = Rules::parse(rules.as_bytes()).unwrap();
            assert!(rules.ignores("Chart.yaml", false), "{rules:?}");
        }
        assert!(
            !Rules::parse(b"!helm.txt")
                .unwrap()
                .ignores("helm.txt", false)
        );
    }

    #[test]
    fn rejects_double_stars_and_invalid_patterns() {
        assert_eq!(Rules::parse(b"a/**/b").unwrap_err(), Error::DoubleStar);
        assert_eq!(
            Rules::parse(b"[a").unwrap_err().to_string(),
            "syntax error in pattern"
        );
    }
}

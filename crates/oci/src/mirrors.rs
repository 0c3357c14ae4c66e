//! Mirrors: repositories that are pulled from another registry. Pure.

use crate::reference::{
    InvalidReference, Reference, Repository, canonical_host, is_registry, is_repository_path,
};

/// Rules that map a prefix of repositories to another one. The longest prefix wins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mirrors {
    rules: Vec<Rule>,
    /// Whether a repository that has a mirror is never pulled from its own registry
    pub only: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    prefix: String,
    target: String,
    /// Whether the names of registries are left out, for a rule for all of them
    is_flat: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a mirror rule; use HOST[/PATH]=HOST[/PATH], *=HOST[/PATH] for all registries, or *=HOST[/PATH]/* to leave out their names"
)]
pub struct InvalidMirror(String);

impl Mirrors {
    /// Adds `PREFIX=TARGET`. `*` as the prefix stands for all registries, whose names become part of the path, except if the
    /// target ends with `/*`. Then two registries may have images of one name, so a user has to ask for it.
    pub fn add(&mut self, rule: &str) -> Result<(), InvalidMirror> {
        let invalid = || InvalidMirror(rule.to_owned());
        let (prefix, target) = rule.split_once('=').ok_or_else(invalid)?;
        let flat = target.strip_suffix("/*").filter(|_| prefix == "*");
        let is_flat = flat.is_some();
        let target = flat.unwrap_or(target);
        if (prefix != "*" && !is_prefix(prefix)) || !is_prefix(target) {
            return Err(invalid());
        }
        self.rules.push(Rule {
            prefix: canonical(prefix),
            target: canonical(target),
            is_flat,
        });
        self.rules
            .sort_by_key(|rule| std::cmp::Reverse(rule.specificity()));
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Where an image is pulled from: mirrors first, then its own registry.
    pub fn candidates(&self, image: &Reference) -> Result<Vec<Reference>, InvalidReference> {
        let name = image.repository().to_string();
        let mut found = Vec::new();
        for rule in &self.rules {
            if let Some(mirrored) = rule.apply(&name) {
                let repository: Repository = mirrored.parse()?;
                found.push(image.moved(repository));
            }
        }
        if found.is_empty() || !self.only {
            found.push(image.clone());
        }
        Ok(found)
    }
}

impl Rule {
    fn specificity(&self) -> usize {
        if self.prefix == "*" {
            0
        } else {
            self.prefix.len()
        }
    }

    fn apply(&self, name: &str) -> Option<String> {
        if self.prefix == "*" {
            let host = name.split('/').next().unwrap_or_default();
            let path = &name[host.len()..];
            let is_own = name.starts_with(&format!("{}/", self.target));
            if is_own {
                return None;
            }
            if self.is_flat {
                return Some(format!("{}{path}", self.target));
            }
            return Some(format!("{}/{}{path}", self.target, path_of_host(host)));
        }
        let rest = name.strip_prefix(&self.prefix)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{}{rest}", self.target))
    }
}

/// The prefix with the host as references spell it.
fn canonical(prefix: &str) -> String {
    let (host, path) = prefix.split_at(prefix.find('/').unwrap_or(prefix.len()));
    format!("{}{path}", canonical_host(host))
}

/// A registry as a component of a path. Ports are not valid there.
pub fn path_of_host(host: &str) -> String {
    host.replace(':', "-")
        .replace(['[', ']'], "")
        .to_ascii_lowercase()
}

/// Whether the text is `HOST[:PORT][/PATH]`.
fn is_prefix(text: &str) -> bool {
    match text.split_once('/') {
        None => is_registry(text),
        Some((host, path)) => is_registry(host) && is_repository_path(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(rules: &[&str], only: bool, image: &str) -> Vec<String> {
        let mut mirrors = Mirrors {
            only,
            ..Mirrors::default()
        };
        for rule in rules {
            mirrors.add(rule).unwrap();
        }
        let found = mirrors.candidates(&image.parse().unwrap()).unwrap();
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_longest_prefix_is_tried_first_and_the_registry_itself_last() {
        let rules = [
            "docker.io=r.local/hub",
            "docker.io/bitnami=r.local/b",
            "*=r.local:5000",
        ];
        assert_eq!(
            candidates(&rules, false, "bitnami/redis:7"),
            [
                "r.local/b/redis:7",
                "r.local/hub/bitnami/redis:7",
                "r.local:5000/docker.io/bitnami/redis:7",
                "docker.io/bitnami/redis:7"
            ]
        );
        assert_eq!(
            candidates(&["docker.io/bit=x.y"], false, "bitnami/redis:7"),
            ["docker.io/bitnami/redis:7"]
        );
        assert_eq!(
            candidates(&["*=r.local:5000"], true, "reg:5000/a:1"),
            ["r.local:5000/reg-5000/a:1"]
        );
        assert_eq!(
            candidates(&["*=r.local:5000"], true, "r.local:5000/a:1"),
            ["r.local:5000/a:1"]
        );
    }

    #[test]
    fn a_rule_for_all_registries_can_leave_out_their_names() {
        for (image, path) in [
            ("nginx:1", "library/nginx:1"),
            ("quay.io/org/web:2", "org/web:2"),
        ] {
            let mirrored = [format!("r.local:5000/m/{path}")];
            assert_eq!(candidates(&["*=r.local:5000/m/*"], true, image), mirrored);
        }
        let own = "r.local:5000/m/org/web:1";
        assert_eq!(candidates(&["*=r.local:5000/m/*"], true, own), [own]);
        assert!(Mirrors::default().add("quay.io=r.local/*").is_err());
    }

    #[test]
    fn a_rule_applies_whatever_the_spelling_of_its_host() {
        for prefix in ["docker.io", "Docker.IO", "index.docker.io"] {
            let rule = format!("{prefix}=R.Local:5000/hub");
            assert_eq!(
                candidates(&[&rule], true, "bitnami/redis:7"),
                ["r.local:5000/hub/bitnami/redis:7"],
                "{prefix}"
            );
        }
    }

    #[test]
    fn rules_are_checked() {
        for rule in [
            "",
            "a",
            "docker.io=",
            "=r.local",
            "docker.io=https://r.local",
            "docker.io=R/../x",
        ] {
            assert!(Mirrors::default().add(rule).is_err(), "{rule}");
        }
    }
}

//! Version priority: stable before beta before alpha, then the higher number.

use std::cmp::{Ordering, Reverse};

/// Orders versions from the most to the least preferred.
pub fn compare(a: &str, b: &str) -> Ordering {
    match (Ranked::parse(a), Ranked::parse(b)) {
        (Some(a), Some(b)) => Reverse(a).cmp(&Reverse(b)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ranked {
    stability: Stability,
    major: u64,
    minor: u64,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stability {
    Alpha,
    Beta,
    Stable,
}

impl Ranked {
    fn parse(version: &str) -> Option<Self> {
        let rest = version.strip_prefix('v')?;
        let digits = rest.find(|c: char| !c.is_ascii_digit());
        let Some(digits) = digits else {
            return Some(Self {
                stability: Stability::Stable,
                major: number(rest)?,
                minor: 0,
            });
        };
        let (major, rest) = rest.split_at(digits);
        let (stability, minor) = match rest.strip_prefix("beta") {
            Some(minor) => (Stability::Beta, minor),
            None => (Stability::Alpha, rest.strip_prefix("alpha")?),
        };
        Some(Self {
            stability,
            major: number(major)?,
            minor: number(minor)?,
        })
    }
}

fn number(text: &str) -> Option<u64> {
    let only_digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    only_digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_stable_versions_first_and_other_names_last() {
        let mut versions = [
            "foo10",
            "v1alpha1",
            "v10beta3",
            "v2",
            "foo1",
            "v11alpha2",
            "v3beta1",
            "v12alpha1",
            "v10",
            "v11beta2",
            "v1",
        ];
        versions.sort_by(|a, b| compare(a, b));
        assert_eq!(
            versions,
            [
                "v10",
                "v2",
                "v1",
                "v11beta2",
                "v10beta3",
                "v3beta1",
                "v12alpha1",
                "v11alpha2",
                "v1alpha1",
                "foo1",
                "foo10",
            ]
        );
    }
}

//! Which specs are run, and why others are not.

use std::path::Path;

use anyhow::Context as _;
use regex::Regex;
use serde::Deserialize;

/// Reasons to leave specs out.
#[derive(Debug)]
pub(super) struct Selection {
    rules: Vec<(String, Regex)>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    reason: String,
    patterns: Vec<String>,
}

/// The specs to run, and how many are left out for which reason.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) run: Vec<String>,
    pub(super) left_out: Vec<(String, usize)>,
}

impl Selection {
    pub(super) fn load(path: &Path) -> anyhow::Result<Self> {
        let value = outrigger_goyaml::parse_json(&fs_err::read(path)?)?;
        let parsed: Vec<Rule> = serde_json::from_value(value)?;
        let mut rules = Vec::new();
        for rule in parsed {
            for pattern in &rule.patterns {
                let regex = Regex::new(pattern).with_context(|| format!("pattern {pattern:?}"))?;
                rules.push((rule.reason.clone(), regex));
            }
        }
        Ok(Self { rules })
    }

    /// Chooses conformance specs, and those of the groups that are about the API.
    pub(super) fn choose(&self, all: Vec<String>, focus: &str) -> Chosen {
        let mut chosen = Chosen::default();
        let relevant = all.into_iter().filter(|spec| is_relevant(spec));
        for spec in relevant.filter(|spec| spec.contains(focus)) {
            let rule = self
                .rules
                .iter()
                .find(|(_, pattern)| pattern.is_match(&spec));
            let Some((reason, _)) = rule else {
                chosen.run.push(spec);
                continue;
            };
            let known = chosen
                .left_out
                .iter_mut()
                .find(|(known, _)| known == reason);
            match known {
                Some((_, count)) => *count += 1,
                None => chosen.left_out.push((reason.clone(), 1)),
            }
        }
        chosen
    }
}

pub(super) fn is_conformance(spec: &str) -> bool {
    spec.contains("[Conformance]")
}

pub(super) fn is_serial(spec: &str) -> bool {
    spec.contains("[Serial]") || spec.contains("OrderedNamespace")
}

fn is_relevant(spec: &str) -> bool {
    let is_of_api = [
        "[sig-api-machinery]",
        "[sig-auth]",
        "[sig-cli]",
        "[sig-instrumentation]",
    ]
    .iter()
    .any(|group| spec.starts_with(group));
    let is_harmless = !["[Serial]", "[Disruptive]", "[Slow]"]
        .iter()
        .any(|label| spec.contains(label));
    is_conformance(spec) || is_of_api && is_harmless
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_specs_out_with_a_reason() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("kubernetes/left-out.yaml");
        let selection = Selection::load(&path).unwrap();
        let specs = [
            "[sig-api-machinery] Watchers should observe an object deletion [Conformance]",
            "[sig-network] DNS should provide DNS for services [Conformance]",
            "[sig-storage] CSI Volumes should work",
        ];
        let chosen = selection.choose(specs.map(str::to_owned).into(), "");
        assert_eq!(chosen.run, [specs[0]]);
        assert_eq!(chosen.left_out, [("needs a pod network".to_owned(), 1)]);
    }
}

//! Differences that are deliberate: each has a name and a reason. One that is no longer observed fails the run.

use std::path::Path;

use serde::Deserialize;

use super::case::Case;
use super::compare::{self, Difference};

/// Something that the embedded server deliberately does differently.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KnownDifference {
    pub(super) name: String,
    pub(super) reason: String,
    /// Cases in which it is observed; `*` for all.
    cases: Vec<String>,
    /// Only steps with this title: `define`, `GET {core}/pods`.
    #[serde(default)]
    step: Option<String>,
    /// JSON pointers into the response; `*` matches any key or index: `/code`, `/body/items/*/status`.
    at: Vec<String>,
}

impl KnownDifference {
    pub(super) fn covers(&self, case: &Case, difference: &Difference) -> bool {
        let title = || case.steps[difference.step - 1].title();
        self.applies_to_any(std::iter::once(&*case.name))
            && self.step.as_ref().is_none_or(|step| *step == title())
            && self
                .at
                .iter()
                .any(|at| compare::matches(at, &difference.at))
    }

    pub(super) fn applies_to_any<'a>(&self, mut cases: impl Iterator<Item = &'a str>) -> bool {
        cases.any(|name| self.cases.iter().any(|case| case == "*" || case == name))
    }
}

pub(super) fn load(path: &Path) -> anyhow::Result<Vec<KnownDifference>> {
    let list = outrigger_goyaml::parse_json(&fs_err::read(path)?)?;
    Ok(serde_json::from_value(list)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn covers_a_difference_only_in_its_cases_steps_and_pointers() {
        let known: KnownDifference = serde_json::from_value(json!({
            "name": "n", "reason": "r", "cases": ["one"], "step": "GET /a", "at": ["/body/items/*/x"],
        }))
        .unwrap();
        let case = |name: &str, step: &str| -> Case {
            serde_json::from_value(json!({"name": name, "steps": [{"do": step}]})).unwrap()
        };
        let at = |at: &str| Difference {
            step: 1,
            at: at.into(),
            real: None,
            ours: None,
        };
        assert!(known.covers(&case("one", "GET /a"), &at("/body/items/3/x/y")));
        assert!(!known.covers(&case("two", "GET /a"), &at("/body/items/3/x")));
        assert!(!known.covers(&case("one", "GET /b"), &at("/body/items/3/x")));
        assert!(!known.covers(&case("one", "GET /a"), &at("/code")));
    }

    #[test]
    fn every_known_difference_has_a_reason() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("differences.yaml");
        let known = load(&path).unwrap();
        assert!(known.iter().all(|known| !known.reason.is_empty()));
    }
}

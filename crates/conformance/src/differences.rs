//! The deliberate differences: each has a name and a reason, and must still be one.

use std::path::Path;

use serde::Deserialize;

use crate::case::Case;
use crate::compare::{self, Difference};
use crate::run;

/// One thing that the embedded server does in its own way.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deliberate {
    pub(crate) name: String,
    pub(crate) reason: String,
    /// Cases in which it shows; `*` for all.
    cases: Vec<String>,
    /// Only in steps that do this: `define`, `GET {core}/pods`.
    #[serde(default)]
    step: Option<String>,
    /// Where in an answer, with `*` for any key or index: `/code`, `/body/items/*/status`.
    at: Vec<String>,
}

impl Deliberate {
    pub(crate) fn covers(&self, case: &Case, difference: &Difference) -> bool {
        let title = || run::title(&case.steps[difference.step - 1]);
        self.concerns(std::iter::once(&*case.name))
            && self.step.as_ref().is_none_or(|step| *step == title())
            && self
                .at
                .iter()
                .any(|at| compare::matches(at, &difference.at))
    }

    /// Whether one of these cases is among those that ran.
    pub(crate) fn concerns<'a>(&self, mut ran: impl Iterator<Item = &'a str>) -> bool {
        ran.any(|name| self.cases.iter().any(|case| case == "*" || case == name))
    }
}

pub(crate) fn load(path: &Path) -> anyhow::Result<Vec<Deliberate>> {
    let list = outrigger_goyaml::parse_json(&fs_err::read(path)?)?;
    Ok(serde_json::from_value(list)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_difference_is_covered_in_its_cases_steps_and_places_only() {
        let known: Deliberate = serde_json::from_value(json!({
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
    fn every_listed_difference_has_a_reason() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("differences.yaml");
        let known = load(&path).unwrap();
        assert!(known.iter().all(|known| !known.reason.is_empty()));
    }
}

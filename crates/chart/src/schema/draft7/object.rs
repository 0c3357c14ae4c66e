//! The keywords for maps.

use serde_json::{Map, Value as Json};

use super::{Outcome, Spot, Validator};

impl Validator<'_> {
    pub(super) fn object(
        &self,
        spot: Spot<'_>,
        entries: &Map<String, Json>,
        outcome: &mut Outcome,
    ) {
        let Spot { place, depth, .. } = spot;
        let count = entries.len() as u64;
        if let Some(min) = spot.count("minProperties").filter(|&min| count < min) {
            outcome.fail(place, format!("Must have at least {min} properties"));
        }
        if let Some(max) = spot.count("maxProperties").filter(|&max| count > max) {
            outcome.fail(place, format!("Must have at most {max} properties"));
        }
        for name in spot.list("required").iter().filter_map(Json::as_str) {
            if entries.contains_key(name) {
                outcome.step();
            } else {
                outcome.fail(place, format!("{name} is required"));
            }
        }
        let described = spot.schema.get("properties").and_then(Json::as_object);
        for (name, value) in entries {
            let is_described = described.is_some_and(|described| described.contains_key(name));
            if !self.pattern_properties(spot, name, value, outcome) && !is_described {
                self.additional(spot, name, value, outcome);
            }
        }
        if let Some(names) = spot.schema.get("propertyNames").filter(|_| self.draft >= 6) {
            for name in entries.keys() {
                let result = self.sub(names, &Json::String(name.clone()), place, depth);
                if !result.is_valid() {
                    let message = format!("Property name of \"{name}\" does not match");
                    outcome.fail(place, message);
                    outcome.merge(result);
                }
            }
        }
        outcome.step();
    }

    /// `properties`, which Helm looks at after everything else.
    pub(super) fn properties(
        &self,
        spot: Spot<'_>,
        entries: &Map<String, Json>,
        outcome: &mut Outcome,
    ) {
        for (name, below) in spot.map("properties") {
            if let Some(value) = entries.get(name) {
                self.check(below, value, &spot.place.below(name), spot.depth, outcome);
            }
        }
    }

    fn additional(&self, spot: Spot<'_>, name: &str, value: &Json, outcome: &mut Outcome) {
        match spot.schema.get("additionalProperties") {
            Some(Json::Bool(false)) => {
                let message = format!("Additional property {name} is not allowed");
                outcome.fail(spot.place, message);
            }
            Some(schema @ Json::Object(_)) => {
                outcome.merge(self.sub(schema, value, &spot.place.below(name), spot.depth));
            }
            _ => {}
        }
    }

    fn pattern_properties(
        &self,
        spot: Spot<'_>,
        name: &str,
        value: &Json,
        outcome: &mut Outcome,
    ) -> bool {
        let mut matched = false;
        for (pattern, below) in spot.map("patternProperties") {
            if self.matches(pattern, name) {
                matched = true;
                outcome.merge(self.sub(below, value, &spot.place.below(name), spot.depth));
            }
        }
        if matched {
            outcome.step();
        }
        matched
    }
}

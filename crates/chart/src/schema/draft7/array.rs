//! The keywords for lists.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::kinds::compact;
use super::{Outcome, Spot, Validator};

impl Validator<'_> {
    pub(super) fn array(&self, spot: Spot<'_>, items: &[Json], outcome: &mut Outcome) {
        self.items(spot, items, outcome);
        let count = items.len() as u64;
        if let Some(min) = spot.count("minItems").filter(|&min| count < min) {
            outcome.fail(spot.place, format!("Array must have at least {min} items"));
        }
        if let Some(max) = spot.count("maxItems").filter(|&max| count > max) {
            outcome.fail(spot.place, format!("Array must have at most {max} items"));
        }
        if spot.schema.get("uniqueItems") == Some(&Json::Bool(true)) {
            unique(spot, items, outcome);
        }
        if let Some(wanted) = spot.schema.get("contains").filter(|_| self.draft >= 6) {
            self.contains(spot, wanted, items, outcome);
        }
        outcome.step();
    }

    fn items(&self, spot: Spot<'_>, items: &[Json], outcome: &mut Outcome) {
        let check = |schema: &Json, at: usize, item: &Json, outcome: &mut Outcome| {
            outcome.merge(self.sub(schema, item, &spot.place.below(&at.to_string()), spot.depth));
        };
        match spot.schema.get("items") {
            Some(Json::Array(schemas)) if !schemas.is_empty() => {
                let rest = spot.schema.get("additionalItems");
                for (at, item) in items.iter().enumerate() {
                    match (schemas.get(at), rest) {
                        (Some(schema), _) | (None, Some(schema @ Json::Object(_))) => {
                            check(schema, at, item, outcome);
                        }
                        _ => {}
                    }
                }
                if schemas.len() < items.len() && rest == Some(&Json::Bool(false)) {
                    outcome.fail(spot.place, "No additional items allowed on array");
                }
            }
            Some(schema @ (Json::Object(_) | Json::Bool(_))) => {
                for (at, item) in items.iter().enumerate() {
                    check(schema, at, item, outcome);
                }
            }
            _ => {}
        }
    }

    fn contains(&self, spot: Spot<'_>, wanted: &Json, items: &[Json], outcome: &mut Outcome) {
        let mut best: Option<Outcome> = None;
        for (at, item) in items.iter().enumerate() {
            let result = self.sub(wanted, item, &spot.place.below(&at.to_string()), spot.depth);
            if result.is_valid() {
                return;
            }
            if best.as_ref().is_none_or(|best| result.score > best.score) {
                best = Some(result);
            }
        }
        outcome.fail(spot.place, "At least one of the items must match");
        outcome.merge(best.unwrap_or_default());
    }
}

fn unique(spot: Spot<'_>, items: &[Json], outcome: &mut Outcome) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (at, item) in items.iter().enumerate() {
        let text = compact(item);
        if let Some(before) = seen.get(&text) {
            let message = format!("array items[{before},{at}] must be unique");
            outcome.fail(spot.place, message);
        }
        seen.insert(text, at);
    }
}

//! The keywords for arrays.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::types::compact;
use super::{SubSchema, ValidationResult, Validator};

impl Validator<'_> {
    pub(super) fn array(
        &self,
        subschema: SubSchema<'_>,
        items: &[Json],
        result: &mut ValidationResult,
    ) {
        self.items(subschema, items, result);
        let count = items.len() as u64;
        if let Some(min) = subschema.count("minItems").filter(|&min| count < min) {
            result.add_error(
                subschema.context,
                format!("Array must have at least {min} items"),
            );
        }
        if let Some(max) = subschema.count("maxItems").filter(|&max| count > max) {
            result.add_error(
                subschema.context,
                format!("Array must have at most {max} items"),
            );
        }
        if subschema.schema.get("uniqueItems") == Some(&Json::Bool(true)) {
            unique(subschema, items, result);
        }
        if let Some(schema) = subschema.schema.get("contains").filter(|_| self.draft >= 6) {
            self.contains(subschema, schema, items, result);
        }
        result.increment_score();
    }

    fn items(&self, subschema: SubSchema<'_>, items: &[Json], result: &mut ValidationResult) {
        let check = |schema: &Json, index: usize, item: &Json, result: &mut ValidationResult| {
            result.merge(self.sub_validate(
                schema,
                item,
                &subschema.context.child(&index.to_string()),
                subschema.depth,
            ));
        };
        match subschema.schema.get("items") {
            Some(Json::Array(schemas)) if !schemas.is_empty() => {
                let rest = subschema.schema.get("additionalItems");
                for (index, item) in items.iter().enumerate() {
                    match (schemas.get(index), rest) {
                        (Some(schema), _) | (None, Some(schema @ Json::Object(_))) => {
                            check(schema, index, item, result);
                        }
                        _ => {}
                    }
                }
                if schemas.len() < items.len() && rest == Some(&Json::Bool(false)) {
                    result.add_error(subschema.context, "No additional items allowed on array");
                }
            }
            Some(schema @ (Json::Object(_) | Json::Bool(_))) => {
                for (index, item) in items.iter().enumerate() {
                    check(schema, index, item, result);
                }
            }
            _ => {}
        }
    }

    fn contains(
        &self,
        subschema: SubSchema<'_>,
        schema: &Json,
        items: &[Json],
        result: &mut ValidationResult,
    ) {
        let mut best: Option<ValidationResult> = None;
        for (index, item) in items.iter().enumerate() {
            let sub_result = self.sub_validate(
                schema,
                item,
                &subschema.context.child(&index.to_string()),
                subschema.depth,
            );
            if sub_result.is_valid() {
                return;
            }
            if best
                .as_ref()
                .is_none_or(|best| sub_result.score > best.score)
            {
                best = Some(sub_result);
            }
        }
        result.add_error(subschema.context, "At least one of the items must match");
        result.merge(best.unwrap_or_default());
    }
}

fn unique(subschema: SubSchema<'_>, items: &[Json], result: &mut ValidationResult) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        let text = compact(item);
        if let Some(before) = seen.get(&text) {
            let message = format!("array items[{before},{index}] must be unique");
            result.add_error(subschema.context, message);
        }
        seen.insert(text, index);
    }
}

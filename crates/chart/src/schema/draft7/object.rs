//! The keywords for objects.

use serde_json::{Map, Value as Json};

use super::{SubSchema, ValidationResult, Validator};

impl Validator<'_> {
    pub(super) fn object(
        &self,
        subschema: SubSchema<'_>,
        entries: &Map<String, Json>,
        result: &mut ValidationResult,
    ) {
        let SubSchema { context, depth, .. } = subschema;
        let count = entries.len() as u64;
        if let Some(min) = subschema.count("minProperties").filter(|&min| count < min) {
            result.add_error(context, format!("Must have at least {min} properties"));
        }
        if let Some(max) = subschema.count("maxProperties").filter(|&max| count > max) {
            result.add_error(context, format!("Must have at most {max} properties"));
        }
        for name in subschema.list("required").iter().filter_map(Json::as_str) {
            if entries.contains_key(name) {
                result.increment_score();
            } else {
                result.add_error(context, format!("{name} is required"));
            }
        }
        let properties = subschema.schema.get("properties").and_then(Json::as_object);
        for (name, value) in entries {
            let is_declared = properties.is_some_and(|properties| properties.contains_key(name));
            if !self.pattern_properties(subschema, name, value, result) && !is_declared {
                self.additional(subschema, name, value, result);
            }
        }
        if let Some(names) = subschema
            .schema
            .get("propertyNames")
            .filter(|_| self.draft >= 6)
        {
            for name in entries.keys() {
                let sub_result =
                    self.sub_validate(names, &Json::String(name.clone()), context, depth);
                if !sub_result.is_valid() {
                    let message = format!("Property name of \"{name}\" does not match");
                    result.add_error(context, message);
                    result.merge(sub_result);
                }
            }
        }
        result.increment_score();
    }

    /// `properties`, which gojsonschema checks last.
    pub(super) fn properties(
        &self,
        subschema: SubSchema<'_>,
        entries: &Map<String, Json>,
        result: &mut ValidationResult,
    ) {
        for (name, schema) in subschema.map("properties") {
            if let Some(value) = entries.get(name) {
                self.validate(
                    schema,
                    value,
                    &subschema.context.child(name),
                    subschema.depth,
                    result,
                );
            }
        }
    }

    fn additional(
        &self,
        subschema: SubSchema<'_>,
        name: &str,
        value: &Json,
        result: &mut ValidationResult,
    ) {
        match subschema.schema.get("additionalProperties") {
            Some(Json::Bool(false)) => {
                let message = format!("Additional property {name} is not allowed");
                result.add_error(subschema.context, message);
            }
            Some(schema @ Json::Object(_)) => {
                result.merge(self.sub_validate(
                    schema,
                    value,
                    &subschema.context.child(name),
                    subschema.depth,
                ));
            }
            _ => {}
        }
    }

    fn pattern_properties(
        &self,
        subschema: SubSchema<'_>,
        name: &str,
        value: &Json,
        result: &mut ValidationResult,
    ) -> bool {
        let mut matched = false;
        for (pattern, schema) in subschema.map("patternProperties") {
            if self.matches(pattern, name) {
                matched = true;
                result.merge(self.sub_validate(
                    schema,
                    value,
                    &subschema.context.child(name),
                    subschema.depth,
                ));
            }
        }
        if matched {
            result.increment_score();
        }
        matched
    }
}

//! Compares the estimated costs of rules of real definitions with those of kube-apiserver.

use serde_json::Value;

use crate::schema::{Schema, SchemaRef};

/// The rules of a schema and of all schemas inside of it, in the order of the recording.
fn collect(schema: SchemaRef<'_>, path: &str, rules: &mut Vec<Value>) {
    let node = &schema.node().rules;
    for rule in &node.rules {
        let mut recorded = serde_json::json!({
            "path": path,
            "cost": rule.max_cost,
            "cardinality": node.max_cardinality,
        });
        if rule.message_max_cost > 0 {
            recorded["message"] = rule.message_max_cost.into();
        }
        if rule.uses_old_self {
            recorded["oldSelf"] = true.into();
        }
        if let Err(error) = &rule.program {
            recorded["error"] = error.to_string().into();
        }
        rules.push(recorded);
    }
    for (name, property) in schema.properties() {
        collect(property, &format!("{path}.{name}"), rules);
    }
    if let Some(items) = schema.items() {
        collect(items, &format!("{path}[]"), rules);
    }
    if let Some(values) = schema.additional() {
        collect(values, &format!("{path}{{}}"), rules);
    }
}

#[test]
fn rules_of_real_definitions_cost_as_much_as_in_kubernetes() {
    let recording = include_str!("../../../tests/data/rule_costs.jsonl");
    for line in recording.lines() {
        let definition: Value = serde_json::from_str(line).unwrap();
        let schema = Schema::structural(&definition["schema"]).unwrap();
        let mut rules = Vec::new();
        collect(schema.root(), "", &mut rules);
        let recorded = definition["rules"].as_array().unwrap();
        assert_eq!(rules.len(), recorded.len(), "{}", definition["name"]);
        for (ours, real) in rules.iter().zip(recorded) {
            assert_eq!(ours, real, "{}", definition["name"]);
        }
    }
}

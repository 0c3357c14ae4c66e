//! Compares types, estimated costs, values, errors and actual costs with those of cel-go.

use outrigger_cel::{Activation, DeclType, Env, Limits, Type, Value as CelValue};
use serde_json::{Map, Value};

use crate::schema::parse;

#[test]
fn expressions_match_the_recording() {
    let text = include_str!("../data/expressions.jsonl");
    let mut differences = Vec::new();
    for line in text.lines() {
        let case: Map<String, Value> = serde_json::from_str(line).unwrap();
        let expression = case["expression"].as_str().unwrap();
        let ours = evaluate(expression, case.get("schema"), case.get("self"));
        for name in [
            "issues", "type", "min", "max", "program", "value", "error", "cost",
        ] {
            let real = case.get(name).cloned().unwrap_or_default();
            let mine = ours.get(name).cloned().unwrap_or_default();
            if real != mine && !are_syntax_errors_at_the_same_place(&mine, &real) {
                let shown: String = expression.chars().take(120).collect();
                differences.push(format!("{name}: {shown}\n  ours {mine}\n  real {real}"));
            }
        }
    }
    let count = differences.len();
    assert!(
        count == 0,
        "{count} differences\n{}",
        differences.join("\n")
    );
}

/// The parser of cel-go is generated. It recovers from syntax errors and reports more of them.
fn are_syntax_errors_at_the_same_place(mine: &Value, real: &Value) -> bool {
    let start = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        Some(text.split_once(": Syntax error: ")?.0.to_owned())
    };
    start(mine).is_some() && start(mine) == start(real)
}

fn evaluate(expression: &str, schema: Option<&Value>, data: Option<&Value>) -> Map<String, Value> {
    let mut result = Map::new();
    let mut set = |name: &str, value: Value| {
        result.insert(name.to_owned(), value);
    };
    for name in ["min", "max", "cost"] {
        set(name, 0.into());
    }
    let schema = schema.map(parse);
    let declaration = schema
        .as_ref()
        .and_then(|schema| DeclType::new(schema, "selfType"));
    let env = match &declaration {
        Some(declaration) => Env::new()
            .declaration(declaration)
            .variable("self", declaration.type_()),
        None => Env::new().variable("self", Type::Dyn),
    };
    let compiled = match env.compile(expression) {
        Ok(compiled) => compiled,
        Err(issues) => {
            set("issues", issues.to_string().into());
            return result;
        }
    };
    set("type", compiled.output_type().to_string().into());
    let estimate = compiled.estimate_cost();
    set("min", estimate.min.into());
    set("max", estimate.max.into());
    let program = match compiled.program() {
        Ok(program) => program,
        Err(error) => {
            set("program", error.to_string().into());
            return result;
        }
    };
    let null = Value::Null;
    let data = data.unwrap_or(&null);
    let value = match &schema {
        Some(schema) => CelValue::from_json_with_schema(data, schema).unwrap(),
        None => CelValue::from_json(data),
    };
    let activation = Activation::new().variable("self", value);
    let evaluation = program.evaluate(&activation, Limits::PER_CALL);
    set("cost", evaluation.cost.into());
    match evaluation.result {
        Ok(value) => set("value", value.to_expression().into()),
        Err(error) => set("error", error.to_string().into()),
    }
    result
}

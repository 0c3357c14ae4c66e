//! Converts a path item to OpenAPI v2.

use serde_json::{Map, Value, json};

use super::schema::rename_references;

pub(super) fn convert(item: &Value) -> Value {
    let mut converted = Map::new();
    for (key, value) in item.as_object().into_iter().flatten() {
        let value = if key == "parameters" {
            parameters(value).into()
        } else {
            operation(value)
        };
        converted.insert(key.clone(), value);
    }
    let mut converted = Value::Object(converted);
    rename_references(&mut converted);
    converted
}

fn parameters(list: &Value) -> Vec<Value> {
    let list = list.as_array().into_iter().flatten();
    list.map(|parameter| {
        let mut flat = parameter.clone();
        if let Some(fields) = flat.as_object_mut()
            && let Some(Value::Object(schema)) = fields.remove("schema")
        {
            fields.extend(schema);
        }
        flat
    })
    .collect()
}

fn operation(operation: &Value) -> Value {
    let mut converted = operation.clone();
    let Some(fields) = converted.as_object_mut() else {
        return converted;
    };
    let mut all = parameters(&operation["parameters"]);
    let mut consumes = vec![json!("*/*")];
    if let Some(body) = fields.remove("requestBody") {
        let content = body["content"].as_object();
        if let Some((_, media_type)) = content.and_then(|content| content.iter().next()) {
            let is_required = body["required"] == true;
            let mut parameter =
                json!({"name": "body", "in": "body", "schema": media_type["schema"]});
            if is_required {
                parameter["required"] = true.into();
            }
            all.push(parameter);
        }
        consumes = media_types(&body["content"]);
    }
    if !all.is_empty() {
        fields.insert("parameters".to_owned(), all.into());
    }
    fields.insert("consumes".to_owned(), consumes.into());
    let (responses, produces) = responses(&operation["responses"]);
    fields.insert("responses".to_owned(), responses);
    fields.insert("produces".to_owned(), produces.into());
    fields.insert("schemes".to_owned(), json!(["https"]));
    converted
}

fn media_types(content: &Value) -> Vec<Value> {
    let content = content.as_object().into_iter().flatten();
    content.map(|(name, _)| json!(name)).collect()
}

/// The responses, and the media types of the first that has a body.
fn responses(responses: &Value) -> (Value, Vec<Value>) {
    let mut produces = Vec::new();
    let mut converted = Map::new();
    for (code, response) in responses.as_object().into_iter().flatten() {
        let mut flat = json!({"description": response["description"]});
        let content = response["content"].as_object();
        if let Some((_, media_type)) = content.and_then(|content| content.iter().next()) {
            flat["schema"] = media_type["schema"].clone();
            if produces.is_empty() {
                produces = media_types(&response["content"]);
            }
        }
        converted.insert(code.clone(), flat);
    }
    (converted.into(), produces)
}

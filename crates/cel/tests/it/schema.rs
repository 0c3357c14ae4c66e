//! Reads JSON schemas.

use std::collections::BTreeMap;
use std::sync::Arc;

use outrigger_cel::schema::{Field, Format, Kind, ListType, Schema};
use serde_json::Value;

/// The schema of a JSON schema.
pub(crate) fn parse(json: &Value) -> Schema {
    let flag = |name: &str| json[name] == true;
    let max = |name: &str| json[name].as_i64();
    let (kind, max) = match json["type"].as_str() {
        _ if flag("x-kubernetes-int-or-string") => (Kind::IntOrString, max("maxLength")),
        Some("object") => (object(json), max("maxProperties")),
        Some("array") => {
            let items = Arc::new(parse(&json["items"]));
            (Kind::Array(Some(items), list_type(json)), max("maxItems"))
        }
        Some("string") => (Kind::String(format(json)), max("maxLength")),
        Some("number") => (Kind::Number, None),
        Some("integer") => (Kind::Integer, None),
        Some("boolean") => (Kind::Boolean, None),
        _ if flag("x-kubernetes-preserve-unknown-fields") => (Kind::Preserved, None),
        _ => (Kind::Untyped, None),
    };
    let lengths = json["enum"].as_array();
    let longest_enum = lengths.and_then(|values| {
        let lengths = values
            .iter()
            .filter_map(|value| Some(value.as_str()?.len()));
        lengths.max().and_then(|length| i64::try_from(length).ok())
    });
    Schema {
        kind,
        nullable: flag("nullable"),
        max,
        longest_enum,
    }
}

fn object(json: &Value) -> Kind {
    let is_required = |name: &str| {
        let required = json["required"].as_array();
        required.is_some_and(|required| required.iter().any(|required| required == name))
    };
    let mut fields = BTreeMap::new();
    for (name, property) in json["properties"].as_object().into_iter().flatten() {
        let field = Field {
            schema: Arc::new(parse(property)),
            required: is_required(name),
            has_default: property.get("default").is_some(),
        };
        fields.insert(name.clone(), field);
    }
    if json["x-kubernetes-embedded-resource"] == true {
        let string = serde_json::json!({"type": "string"});
        let names = serde_json::json!({"name": string, "generateName": string});
        let metadata = serde_json::json!({"type": "object", "properties": names});
        for (name, property) in [
            ("kind", &string),
            ("apiVersion", &string),
            ("metadata", &metadata),
        ] {
            let field = Field {
                schema: Arc::new(parse(property)),
                required: false,
                has_default: false,
            };
            fields.insert(name.to_owned(), field);
        }
    }
    if !fields.is_empty() {
        return Kind::Object(fields);
    }
    match &json["additionalProperties"] {
        values @ Value::Object(_) => Kind::Map(Arc::new(parse(values))),
        _ => Kind::EmptyObject,
    }
}

fn list_type(json: &Value) -> ListType {
    match json["x-kubernetes-list-type"].as_str() {
        Some("set") => ListType::Set,
        Some("map") => {
            let keys = json["x-kubernetes-list-map-keys"].as_array();
            let keys = keys.into_iter().flatten().filter_map(Value::as_str);
            ListType::Map(keys.map(str::to_owned).collect())
        }
        _ => ListType::Atomic,
    }
}

fn format(json: &Value) -> Format {
    match json["format"].as_str() {
        Some("byte") => Format::Byte,
        Some("duration") => Format::Duration,
        Some("date") => Format::Date,
        Some("date-time") => Format::DateTime,
        _ => Format::Plain,
    }
}

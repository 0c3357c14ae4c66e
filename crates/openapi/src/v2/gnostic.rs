//! Encodes an OpenAPI v2 document as `openapi.v2.Document` of gnostic's `OpenAPIv2.proto`.

use serde_json::Value;

/// Writes fields of a protobuf message.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn message(&mut self, field: u64, build: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        build(&mut inner);
        self.bytes(field, &inner.0);
    }

    fn text(&mut self, field: u64, value: &Value) {
        if let Some(text) = value.as_str().filter(|text| !text.is_empty()) {
            self.bytes(field, text.as_bytes());
        }
    }

    fn texts(&mut self, field: u64, list: &Value) {
        for text in list.as_array().into_iter().flatten() {
            self.bytes(field, text.as_str().unwrap_or_default().as_bytes());
        }
    }

    fn flag(&mut self, field: u64, value: &Value) {
        if *value == true {
            self.varint(field << 3);
            self.varint(1);
        }
    }

    fn integer(&mut self, field: u64, value: &Value) {
        if let Some(number) = value.as_i64().filter(|number| *number != 0) {
            self.varint(field << 3);
            self.varint(u64::from_le_bytes(number.to_le_bytes()));
        }
    }

    fn double(&mut self, field: u64, value: &Value) {
        if let Some(number) = value.as_f64().filter(|number| *number != 0.0) {
            self.varint(field << 3 | 1);
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// `Any`: YAML, of which JSON is a subset.
    fn any(&mut self, field: u64, value: &Value) {
        if !value.is_null() {
            self.message(field, |any| any.bytes(2, format!("{value}\n").as_bytes()));
        }
    }

    fn anys(&mut self, field: u64, list: &Value) {
        for value in list.as_array().into_iter().flatten() {
            self.any(field, value);
        }
    }

    /// `NamedX`: entries of a map.
    fn named(&mut self, field: u64, map: &Value, encode: impl Fn(&mut Self, &Value)) {
        for (name, value) in map.as_object().into_iter().flatten() {
            self.message(field, |entry| {
                entry.bytes(1, name.as_bytes());
                entry.message(2, |message| encode(message, value));
            });
        }
    }

    fn extensions(&mut self, field: u64, object: &Value) {
        for (name, value) in object.as_object().into_iter().flatten() {
            if name.starts_with("x-") {
                self.message(field, |entry| {
                    entry.bytes(1, name.as_bytes());
                    entry.any(2, value);
                });
            }
        }
    }
}

pub fn encode(document: &Value) -> Vec<u8> {
    let mut message = Message::default();
    message.text(1, &document["swagger"]);
    message.message(2, |info| {
        info.text(1, &document["info"]["title"]);
        info.text(2, &document["info"]["version"]);
    });
    message.message(8, |paths| paths.named(2, &document["paths"], path_item));
    message.message(9, |definitions| {
        definitions.named(1, &document["definitions"], schema);
    });
    for requirement in document["security"].as_array().into_iter().flatten() {
        message.message(12, |message| {
            message.named(1, requirement, |names, list| names.texts(1, list));
        });
    }
    message.message(13, |definitions| {
        definitions.named(1, &document["securityDefinitions"], |item, key| {
            item.message(2, |message| {
                message.text(1, &key["type"]);
                message.text(2, &key["name"]);
                message.text(3, &key["in"]);
                message.text(4, &key["description"]);
            });
        });
    });
    message.0
}

fn path_item(message: &mut Message, item: &Value) {
    for (field, method) in [
        (2, "get"),
        (3, "put"),
        (4, "post"),
        (5, "delete"),
        (8, "patch"),
    ] {
        if item[method].is_object() {
            message.message(field, |message| operation(message, &item[method]));
        }
    }
    parameters(message, 9, &item["parameters"]);
}

fn operation(message: &mut Message, operation: &Value) {
    message.texts(1, &operation["tags"]);
    message.text(3, &operation["description"]);
    message.text(5, &operation["operationId"]);
    message.texts(6, &operation["produces"]);
    message.texts(7, &operation["consumes"]);
    parameters(message, 8, &operation["parameters"]);
    message.message(9, |responses| {
        responses.named(1, &operation["responses"], |value, response| {
            value.message(1, |message| {
                message.text(1, &response["description"]);
                if response["schema"].is_object() {
                    message.message(2, |item| {
                        item.message(1, |message| schema(message, &response["schema"]));
                    });
                }
            });
        });
    });
    message.texts(10, &operation["schemes"]);
    message.extensions(13, operation);
}

fn parameters(message: &mut Message, field: u64, list: &Value) {
    for value in list.as_array().into_iter().flatten() {
        message.message(field, |item| {
            item.message(1, |message| parameter(message, value));
        });
    }
}

fn parameter(message: &mut Message, parameter: &Value) {
    if parameter["in"] == "body" {
        message.message(1, |body| {
            body.text(1, &parameter["description"]);
            body.text(2, &parameter["name"]);
            body.text(3, &parameter["in"]);
            body.flag(4, &parameter["required"]);
            body.message(5, |message| schema(message, &parameter["schema"]));
        });
        return;
    }
    let is_path = parameter["in"] == "path";
    // The sub-schema of queries has one field more, so that later ones have other numbers.
    let (sub_schema, type_, unique_items) = if is_path { (4, 5, 19) } else { (3, 6, 20) };
    message.message(2, |message| {
        message.message(sub_schema, |message| {
            message.flag(1, &parameter["required"]);
            message.text(2, &parameter["in"]);
            message.text(3, &parameter["description"]);
            message.text(4, &parameter["name"]);
            message.text(type_, &parameter["type"]);
            message.flag(unique_items, &parameter["uniqueItems"]);
        });
    });
}

fn schema(message: &mut Message, schema_: &Value) {
    let field = |name: &str| &schema_[name];
    message.text(1, field("$ref"));
    message.text(2, field("format"));
    message.text(3, field("title"));
    message.text(4, field("description"));
    message.any(5, field("default"));
    message.double(6, field("multipleOf"));
    message.double(7, field("maximum"));
    message.flag(8, field("exclusiveMaximum"));
    message.double(9, field("minimum"));
    message.flag(10, field("exclusiveMinimum"));
    message.integer(11, field("maxLength"));
    message.integer(12, field("minLength"));
    message.text(13, field("pattern"));
    message.integer(14, field("maxItems"));
    message.integer(15, field("minItems"));
    message.flag(16, field("uniqueItems"));
    message.integer(17, field("maxProperties"));
    message.integer(18, field("minProperties"));
    message.texts(19, field("required"));
    message.anys(20, field("enum"));
    match field("additionalProperties") {
        Value::Bool(allowed) => message.message(21, |item| {
            item.varint(2 << 3);
            item.varint(u64::from(*allowed));
        }),
        Value::Object(_) => message.message(21, |item| {
            item.message(1, |message| schema(message, field("additionalProperties")));
        }),
        _ => {}
    }
    if let Some(type_) = field("type").as_str() {
        message.message(22, |item| item.bytes(1, type_.as_bytes()));
    }
    if field("items").is_object() {
        message.message(23, |item| {
            item.message(1, |message| schema(message, field("items")));
        });
    }
    for part in field("allOf").as_array().into_iter().flatten() {
        message.message(24, |message| schema(message, part));
    }
    if field("properties").is_object() {
        message.message(25, |properties| {
            properties.named(1, field("properties"), schema);
        });
    }
    message.any(30, field("example"));
    message.extensions(31, schema_);
}

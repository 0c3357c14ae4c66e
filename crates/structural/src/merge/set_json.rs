//! `FieldsV1`, the JSON encoding of sets: `{"f:spec":{"f:replicas":{}}}`.

use outrigger_gostd::json::marshal;
use serde_json::{Map, Value};

use super::path::PathElement;
use super::set::{Node, Set};
use crate::schema::MAX_DEPTH;

/// Why a set cannot be decoded. The first two messages are those of structured-merge-diff.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("key must be 2 characters long:")]
    ShortKey,
    #[error("missing colon: {0}")]
    MissingColon(String),
    #[error("invalid path element {0:?}")]
    InvalidElement(String),
    #[error("fields are not an object")]
    NotAnObject,
    #[error("fields are nested too deep")]
    TooDeep,
}

impl Set {
    /// The set as a JSON value. Maps are sorted by key, so the order may differ from that of [`Set::to_json`].
    pub fn to_value(&self) -> Value {
        let nodes = self.nodes().iter();
        let fields = nodes.map(|node| (encode_element(&node.element), node_value(node)));
        Value::Object(fields.collect())
    }

    /// The set as text, byte for byte as structured-merge-diff writes it.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        write_set(&mut out, self, false);
        out
    }

    pub fn from_value(value: &Value) -> Result<Self, DecodeError> {
        let (set, _) = decode_set(value, 0)?;
        Ok(set.unwrap_or_default())
    }
}

fn node_value(node: &Node) -> Value {
    let mut value = node.children.to_value();
    if let Value::Object(map) = &mut value
        && node.member
        && !map.is_empty()
    {
        map.insert(".".to_owned(), Value::Object(Map::new()));
    }
    value
}

fn write_set(out: &mut String, set: &Set, is_member: bool) {
    out.push('{');
    if is_member && !set.is_empty() {
        out.push_str("\".\":{}");
    }
    for (i, node) in set.nodes().iter().enumerate() {
        if i > 0 || is_member {
            out.push(',');
        }
        out.push_str(&marshal(&Value::String(encode_element(&node.element))));
        out.push(':');
        write_set(out, &node.children, node.member);
    }
    out.push('}');
}

fn encode_element(element: &PathElement) -> String {
    match element {
        PathElement::Field(name) => format!("f:{name}"),
        PathElement::Key(fields) => {
            let fields = fields
                .iter()
                .map(|(name, value)| (name.clone(), value.clone()));
            format!("k:{}", marshal(&Value::Object(fields.collect())))
        }
        PathElement::Value(value) => format!("v:{}", marshal(value)),
        PathElement::Index(index) => format!("i:{index}"),
    }
}

/// `None` for an element of unknown kind, which a later version may define.
fn decode_element(text: &str) -> Result<Option<PathElement>, DecodeError> {
    let invalid = || DecodeError::InvalidElement(text.to_owned());
    let Some((kind, content)) = text.split_at_checked(2) else {
        return Err(DecodeError::ShortKey);
    };
    if !kind.ends_with(':') {
        return Err(DecodeError::MissingColon(text.to_owned()));
    }
    Ok(Some(match kind {
        "f:" => PathElement::field(content),
        "v:" => PathElement::Value(serde_json::from_str(content).map_err(|_| invalid())?),
        "i:" => PathElement::Index(content.parse().map_err(|_| invalid())?),
        "k:" => {
            let fields: Map<String, Value> =
                serde_json::from_str(content).map_err(|_| invalid())?;
            let mut fields: Vec<_> = fields.into_iter().collect();
            fields.sort_by(|(a, _), (b, _)| a.cmp(b));
            PathElement::Key(fields)
        }
        _ => return Ok(None),
    }))
}

/// Returns the children, if there are any, and whether the node itself is a member.
fn decode_set(value: &Value, depth: usize) -> Result<(Option<Set>, bool), DecodeError> {
    if depth > MAX_DEPTH {
        return Err(DecodeError::TooDeep);
    }
    let empty = Map::new();
    let map = match value {
        Value::Null => &empty,
        _ => value.as_object().ok_or(DecodeError::NotAnObject)?,
    };
    let mut is_member = false;
    let mut set = Set::new();
    for (key, value) in map {
        if key == "." {
            is_member = true;
            continue;
        }
        let Some(element) = decode_element(key)? else {
            continue;
        };
        let (children, member) = decode_set(value, depth + 1)?;
        set.insert_node(Node {
            element,
            member,
            children: children.unwrap_or_default(),
        });
    }
    if set.is_empty() {
        return Ok((None, true));
    }
    Ok((Some(set), is_member))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_in_the_order_of_the_set() {
        let value = json!({"f:ports": {
            ".": {},
            "k:{\"port\":443,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}},
            "k:{\"port\":80,\"protocol\":\"TCP\"}": {},
            "v:\"<a>\"": {},
            "i:3": {},
            "x:unknown": {},
        }});
        let set = Set::from_value(&value).unwrap();
        let expected = concat!(
            r#"{"f:ports":{".":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":{},"#,
            r#""k:{\"port\":443,\"protocol\":\"TCP\"}":{".":{},"f:port":{}},"v:\"\\u003ca\\u003e\"":{},"i:3":{}}}"#,
        );
        assert_eq!(set.to_json(), expected);
        assert_eq!(Set::from_value(&set.to_value()).unwrap(), set);
    }

    #[test]
    fn rejects_invalid_elements() {
        assert_eq!(
            Set::from_value(&json!({"f": {}})),
            Err(DecodeError::ShortKey)
        );
        assert!(Set::from_value(&json!({"v:{": {}})).is_err());
        assert!(Set::from_value(&json!({"fx:": {}})).is_err());
    }
}

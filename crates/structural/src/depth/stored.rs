//! Parses stored objects, which may nest deeper than the limit if an older version stored them.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::MAX_BODY_DEPTH;

/// A stored object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub value: Value,
    /// Values nested deeper than the limit have become null.
    pub is_truncated: bool,
}

/// Parses an object of any depth.
pub fn parse_stored(bytes: &[u8]) -> serde_json::Result<Stored> {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Ok(Stored {
            value,
            is_truncated: false,
        });
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = Truncate(MAX_BODY_DEPTH).deserialize(&mut json)?;
    json.end()?;
    Ok(Stored {
        value,
        is_truncated: true,
    })
}

/// Deserializes as many levels; `serde_json` skips the rest without recursion.
struct Truncate(usize);

impl<'de> DeserializeSeed<'de> for Truncate {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.0 == 0 {
            deserializer.deserialize_ignored_any(IgnoredAny)?;
            return Ok(Value::Null);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Truncate {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self(self.0.saturating_sub(1)))? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Self(self.0.saturating_sub(1)))?;
            map.insert(key, value);
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn truncates_what_is_nested_too_deep() {
        let text = |depth: usize| {
            let (open, close) = ("[".repeat(depth), "]".repeat(depth));
            format!(r#"{{"a":{open}1{close},"b":"c"}}"#)
        };
        let stored = parse_stored(text(10).as_bytes()).unwrap();
        assert!(!stored.is_truncated);
        assert_eq!(
            stored.value,
            serde_json::from_str::<Value>(&text(10)).unwrap()
        );
        let stored = parse_stored(text(50_000).as_bytes()).unwrap();
        assert!(stored.is_truncated);
        assert_eq!(stored.value["b"], json!("c"));
        assert!(parse_stored(b"{").is_err());
    }
}

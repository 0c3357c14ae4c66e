//! Values of a plugin as JSON.

use outrigger_chart::Profile;
use outrigger_gotmpl::json;
use outrigger_gotmpl::value::Value as GoValue;
use serde_json::{Map, Value};

use crate::commands::chart::values::ValuesFlags;

/// The values that the flags set. An expression that Helm would ignore is a usage error.
pub(super) fn from_flags(flags: &ValuesFlags) -> anyhow::Result<Map<String, Value>> {
    flags.ensure_complete()?;
    let merged = flags.merge(Profile::Helm4)?;
    let text = json::encode(&GoValue::Map(merged), false).map_err(anyhow::Error::msg)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Removes the value at a dotted path, and maps that become empty. Returns whether the value existed.
pub(super) fn remove(values: &mut Map<String, Value>, path: &str) -> bool {
    match path.split_once('.') {
        None => values.remove(path).is_some(),
        Some((first, rest)) => {
            let Some(Value::Object(inner)) = values.get_mut(first) else {
                return false;
            };
            let removed = remove(inner, rest);
            if removed && inner.is_empty() {
                values.remove(first);
            }
            removed
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn removes_a_value_and_the_maps_that_become_empty() {
        let mut values = json!({"a": {"b": {"c": 1}}, "d": {"e": 1, "f": 2}});
        let map = values.as_object_mut().unwrap();
        assert!(remove(map, "a.b.c"));
        assert!(remove(map, "d.e"));
        assert!(!remove(map, "d.x") && !remove(map, "d.f.g"));
        assert_eq!(values, json!({"d": {"f": 2}}));
    }

    /// It was dropped, and the command succeeded.
    #[test]
    fn an_incomplete_expression_is_a_usage_error() {
        let flags = ValuesFlags {
            set: vec!["a[0=3".to_owned()],
            ..ValuesFlags::default()
        };
        let error = from_flags(&flags).unwrap_err();
        assert!(error.is::<crate::report::UsageError>());
        assert_eq!(
            error.to_string(),
            r#"failed parsing --set data: "a[0=3" ends unexpectedly"#
        );
    }

    #[test]
    fn values_of_flags_keep_their_types() {
        let flags = ValuesFlags {
            set: vec!["a.b=1,c=true,d=x".to_owned()],
            set_string: vec!["e=1".to_owned()],
            ..ValuesFlags::default()
        };
        let values = Value::Object(from_flags(&flags).unwrap());
        assert_eq!(
            values,
            json!({"a": {"b": 1}, "c": true, "d": "x", "e": "1"})
        );
    }
}

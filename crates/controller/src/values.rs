//! Values that may hold secrets: what they come from, and what they become, show nothing of themselves.

use std::fmt;

use outrigger_api::plugin::{PluginSpec, ValuesFrom};
use outrigger_api::values::{self, Data, Error};
use serde_json::{Map, Value};

/// What an object that values come from holds.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Referenced {
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) data: Data,
}

impl fmt::Debug for Referenced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Referenced")
            .field("resource_version", &self.resource_version)
            .field("keys", &self.data.keys())
            .finish_non_exhaustive()
    }
}

/// Merged values.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Values(pub(crate) Map<String, Value>);

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Values(…)")
    }
}

/// Merges the sources and the plugin's own values.
pub(crate) fn merge(
    spec: &PluginSpec,
    sources: &[(ValuesFrom, Option<Referenced>)],
) -> Result<Values, Error> {
    let find = |wanted: &ValuesFrom| {
        let found = sources.iter().find(|(source, _)| source == wanted);
        found.and_then(|(_, object)| object.as_ref().map(|object| object.data.clone()))
    };
    values::merge(spec, find).map(Values)
}

/// Whether it may come right without a change of the plugin.
pub(crate) fn is_missing(error: &Error) -> bool {
    matches!(error, Error::Missing { .. } | Error::MissingKey { .. })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_show_nothing() {
        let values = Values(json!({"password": "hunter2"}).as_object().unwrap().clone());
        assert!(!format!("{values:?}").contains("hunter2"));
        let object = Referenced {
            uid: "u".to_owned(),
            resource_version: "1".to_owned(),
            data: Data::from([("k".to_owned(), b"hunter2".to_vec())]),
        };
        let text = format!("{object:?}");
        assert!(text.contains('k') && !text.contains("hunter2"));
    }
}

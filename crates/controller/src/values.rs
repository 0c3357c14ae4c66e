//! Chart values and their sources. Both may hold secrets, so their `Debug` output omits the content.

use std::fmt;

use outrigger_api::plugin::{PluginSpec, ValuesFrom};
use outrigger_api::values::{self, Data, Error};
use serde_json::{Map, Value};

/// The content of a ConfigMap or Secret that values come from.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SourceObject {
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) data: Data,
}

impl fmt::Debug for SourceObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceObject")
            .field("resource_version", &self.resource_version)
            .field("keys", &self.data.keys())
            .finish_non_exhaustive()
    }
}

/// The merged values.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Values(pub(crate) Map<String, Value>);

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Values(…)")
    }
}

/// Merges the sources of `spec.valuesFrom` with `spec.values`.
pub(crate) fn merge(
    spec: &PluginSpec,
    sources: &[(ValuesFrom, Option<SourceObject>)],
) -> Result<Values, Error> {
    let find = |from: &ValuesFrom| {
        let found = sources.iter().find(|(source, _)| source == from);
        found.and_then(|(_, object)| object.as_ref().map(|object| object.data.clone()))
    };
    values::merge(spec, find).map(Values)
}

/// Whether a source or its key does not exist. A watch reports when it is created.
pub(crate) fn is_missing(error: &Error) -> bool {
    matches!(error, Error::Missing { .. } | Error::MissingKey { .. })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn debug_output_omits_the_content() {
        let values = Values(json!({"password": "hunter2"}).as_object().unwrap().clone());
        assert!(!format!("{values:?}").contains("hunter2"));
        let object = SourceObject {
            uid: "u".to_owned(),
            resource_version: "1".to_owned(),
            data: Data::from([("k".to_owned(), b"hunter2".to_vec())]),
        };
        let text = format!("{object:?}");
        assert!(text.contains('k') && !text.contains("hunter2"));
    }
}

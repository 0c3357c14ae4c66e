//! Placeholders: what `{ns}` and its like stand for in a step.

use std::collections::BTreeMap;

use serde_json::Value;

/// Names and what they stand for, in one run of one case.
#[derive(Debug, Clone)]
pub(crate) struct Places(BTreeMap<String, String>);

impl Places {
    pub(crate) fn new(case: &str) -> Self {
        let namespaced = |group: &str| format!("/apis/{group}/namespaces/{case}");
        let places = [
            ("ns", case.to_owned()),
            ("core", format!("/api/v1/namespaces/{case}")),
            ("apps", namespaced("apps/v1")),
            ("batch", namespaced("batch/v1")),
            ("net", namespaced("networking.k8s.io/v1")),
            ("policy", namespaced("policy/v1")),
            ("scaling", namespaced("autoscaling/v2")),
            (
                "leases",
                format!("{}/leases", namespaced("coordination.k8s.io/v1")),
            ),
            ("rbac", namespaced("rbac.authorization.k8s.io/v1")),
            (
                "clusterrbac",
                "/apis/rbac.authorization.k8s.io/v1".to_owned(),
            ),
            ("reviews", "/apis/authorization.k8s.io/v1".to_owned()),
            (
                "crds",
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned(),
            ),
            ("group", format!("{case}.example.com")),
            (
                "cr",
                format!("/apis/{case}.example.com/v1/namespaces/{case}/widgets"),
            ),
        ];
        Self(places.map(|(name, text)| (name.to_owned(), text)).into())
    }

    pub(crate) fn set(&mut self, name: &str, text: String) {
        self.0.insert(name.to_owned(), text);
    }

    pub(crate) fn fill(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.0 {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        text
    }

    pub(crate) fn fill_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.fill(text).into(),
            Value::Array(items) => items.iter().map(|item| self.fill_value(item)).collect(),
            Value::Object(entries) => entries
                .iter()
                .map(|(key, value)| (self.fill(key), self.fill_value(value)))
                .collect(),
            other => other.clone(),
        }
    }
}

/// Escapes what may not stand in a path and query; `%` and what is legal stays.
pub(crate) fn encode(path: &str) -> String {
    let mut encoded = String::new();
    for byte in path.bytes() {
        let legal = byte.is_ascii_alphanumeric() || b"-._~%/?&=+,;:@!$'()*".contains(&byte);
        if legal {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_are_filled_in_and_others_stay() {
        let mut places = Places::new("my-case");
        places.set("rv", "7".into());
        let filled = places.fill("GET {core}/pods?resourceVersion={rv}&x={y}");
        assert_eq!(
            filled,
            "GET /api/v1/namespaces/my-case/pods?resourceVersion=7&x={y}"
        );
    }

    #[test]
    fn a_selector_is_escaped() {
        assert_eq!(encode("/p?l=a in (b,c)"), "/p?l=a%20in%20(b,c)");
    }
}

//! Variables of a step, such as `{ns}`, and their substitution.

use std::collections::BTreeMap;

use serde_json::Value;

/// The variables of one run of a case, by name.
#[derive(Debug, Clone)]
pub(super) struct Variables(BTreeMap<String, String>);

impl Variables {
    pub(super) fn new(case: &str) -> Self {
        let namespaced = |group: &str| format!("/apis/{group}/namespaces/{case}");
        let variables = [
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
        Self(variables.map(|(name, text)| (name.to_owned(), text)).into())
    }

    pub(super) fn set(&mut self, name: &str, text: String) {
        self.0.insert(name.to_owned(), text);
    }

    pub(super) fn substitute(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.0 {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        text
    }

    pub(super) fn substitute_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.substitute(text).into(),
            Value::Array(items) => items
                .iter()
                .map(|item| self.substitute_value(item))
                .collect(),
            Value::Object(entries) => entries
                .iter()
                .map(|(key, value)| (self.substitute(key), self.substitute_value(value)))
                .collect(),
            other => other.clone(),
        }
    }
}

/// Percent-encodes characters that a path and query must not contain; `%` stays.
pub(super) fn encode(path: &str) -> String {
    let mut encoded = String::new();
    for byte in path.bytes() {
        let is_allowed = byte.is_ascii_alphanumeric() || b"-._~%/?&=+,;:@!$'()*".contains(&byte);
        if is_allowed {
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
    fn substitutes_known_variables_only() {
        let mut variables = Variables::new("my-case");
        variables.set("rv", "7".into());
        let path = variables.substitute("GET {core}/pods?resourceVersion={rv}&x={y}");
        assert_eq!(
            path,
            "GET /api/v1/namespaces/my-case/pods?resourceVersion=7&x={y}"
        );
    }

    #[test]
    fn encodes_a_label_selector() {
        assert_eq!(encode("/p?l=a in (b,c)"), "/p?l=a%20in%20(b,c)");
    }
}

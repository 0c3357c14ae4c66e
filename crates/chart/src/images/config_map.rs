//! Images that a ConfigMap names in its texts. They cannot be relocated, because the format of the texts is unknown.

use std::collections::BTreeSet;

use serde_json::Value;

use super::is_full_reference;

/// The full image references in the data of a ConfigMap, each with its key.
pub fn find_in_config_map(object: &Value) -> Vec<(String, String)> {
    if object["kind"] != "ConfigMap" {
        return Vec::new();
    }
    let data = object["data"].as_object().into_iter().flatten();
    let mut found = BTreeSet::new();
    for (key, text) in data {
        let words = text.as_str().unwrap_or_default().split(is_separator);
        for word in words.map(|word| word.trim_matches([':', '.', '-', '/'])) {
            if is_full_reference(word) {
                found.insert((key.clone(), word.to_owned()));
            }
        }
    }
    found.into_iter().collect()
}

/// Characters that do not occur in a reference.
fn is_separator(c: char) -> bool {
    !(c.is_ascii_alphanumeric() || "./-_:@".contains(c))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_references_in_any_text() {
        let object = json!({"kind": "ConfigMap", "data": {
            "config.yaml": "proxy:\n  image: \"quay.io/istio/proxyv2:1.20\"\n  url: https://example.com/a:1\n",
            "values": "{\"hub\":\"gcr.io/a/b@sha256:00\", \"other\": \"plain text, see example.com\"}",
            "none": "key: value",
        }});
        let found = find_in_config_map(&object);
        let images: Vec<&str> = found.iter().map(|(_, image)| image.as_str()).collect();
        assert_eq!(
            images,
            ["quay.io/istio/proxyv2:1.20", "gcr.io/a/b@sha256:00"]
        );
        assert_eq!(found[0].0, "config.yaml");
        assert_eq!(
            find_in_config_map(&json!({"kind": "Secret", "data": {"a": "quay.io/a:1"}})),
            []
        );
    }
}

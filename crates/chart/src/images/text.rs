//! Images in annotations and texts. They cannot be relocated, because the format of the texts is unknown.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Location, MAX_DEPTH, Origin, has_tag, is_full_reference, is_image_key, is_reference, rules,
    string,
};

/// Reports an image.
type Report<'a> = dyn FnMut(Location<'_>, String) + 'a;

/// Finds what [`visit`](super::visit) does not: in annotations, data, scripts, defaults of definitions, and by rules.
pub(super) fn find(object: &Value, report: &mut Report<'_>) {
    find_in_object(object, report, 0);
}

fn find_in_object(object: &Value, report: &mut Report<'_>, depth: usize) {
    let (kind, name) = (string(&object["kind"]), string(&object["metadata"]["name"]));
    if kind.ends_with("List")
        && depth < MAX_DEPTH
        && let Some(Value::Array(items)) = object.get("items")
    {
        for item in items {
            find_in_object(item, report, depth + 1);
        }
        return;
    }
    let mut report = |field: &str, origin: Origin, image: String| {
        let location = Location {
            kind: &kind,
            name: &name,
            field,
            origin,
        };
        report(location, image);
    };
    for (field, image) in rules::derived(object, &kind) {
        report(field, Origin::Rule, image);
    }
    let is_data = ["ConfigMap", "Secret"].contains(&kind.as_str());
    walk(object, "", 0, &mut |path, text| {
        let key = path.rsplit(['.', '/']).next().unwrap_or(path);
        let is_annotation = path.contains("metadata.annotations.");
        let is_script =
            path.contains(".args[") || path.contains(".command[") || path.contains(".env[");
        let is_default = kind == "CustomResourceDefinition" && key == "default";
        let is_text = is_data
            && ["data.", "stringData."]
                .iter()
                .any(|start| path.starts_with(start));
        let origin = if is_annotation {
            Origin::Annotation
        } else if is_text || is_default || (is_script && text.contains(is_separator)) {
            Origin::Text
        } else {
            return;
        };
        if is_image_key(key) && has_tag(text) && is_reference(text) {
            report(path, origin, text.to_owned());
            return;
        }
        for image in images_in(text) {
            report(path, origin, image);
        }
    });
}

/// Calls back for each string below a value, with its path.
fn walk(node: &Value, path: &str, depth: usize, visitor: &mut dyn FnMut(&str, &str)) {
    match node {
        _ if depth > MAX_DEPTH => {}
        Value::String(text) => visitor(path, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, &format!("{path}[{index}]"), depth + 1, visitor);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                walk(value, &path, depth + 1, visitor);
            }
        }
        _ => {}
    }
}

/// The images of a text: full references, and the values of fields named `image` in YAML or JSON.
pub(super) fn images_in(text: &str) -> BTreeSet<String> {
    let words = text
        .split(is_separator)
        .map(|word| word.trim_matches([':', '.', '-', '/']));
    let full = words.filter(|word| is_full_reference(word));
    let fields = text.lines().flat_map(fields_of_line);
    full.chain(fields).map(str::to_owned).collect()
}

/// The values of `image: VALUE` and `"image": "VALUE"`.
fn fields_of_line(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices(':').filter_map(|(colon, _)| {
        let key = line[..colon].trim_end_matches(['"', '\'']);
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let key = key.rsplit(|c| !is_word(c)).next().unwrap_or_default();
        let value = scalar(line[colon + 1..].trim_start());
        (is_image_key(key) && is_reference(value) && !is_other_scalar(value)).then_some(value)
    })
}

/// The first scalar of a text, without its quotes.
fn scalar(text: &str) -> &str {
    let quoted = |quote: char| text.strip_prefix(quote)?.split(quote).next();
    let plain = || text.split(|c: char| c.is_whitespace() || c == ',' || c == '}');
    quoted('"')
        .or_else(|| quoted('\''))
        .unwrap_or_else(|| plain().next().unwrap_or_default())
}

/// Whether a plain scalar is not a string.
fn is_other_scalar(text: &str) -> bool {
    text.parse::<f64>().is_ok() || ["true", "false", "null", "yes", "no"].contains(&text)
}

/// Characters that do not occur in a reference.
fn is_separator(c: char) -> bool {
    !(c.is_ascii_alphanumeric() || "./-_:@".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_references_and_image_fields_in_any_text() {
        let check = |text: &str, expected: &[&str]| {
            let found: Vec<String> = images_in(text).into_iter().collect();
            assert_eq!(found, expected, "{text}");
        };
        check(
            "proxy:\n  image: \"quay.io/istio/proxyv2:1.20\"\n  url: https://example.com/a:1\n",
            &["quay.io/istio/proxyv2:1.20"],
        );
        check(
            "{\"hub\":\"gcr.io/a/b@sha256:00\", \"other\": \"plain text, see example.com\"}",
            &["gcr.io/a/b@sha256:00"],
        );
        check(
            "containers:\n- name: helper\n  image: rancher/busybox:1\n- {name: b, image: busybox}\n",
            &["busybox", "rancher/busybox:1"],
        );
        check(
            "{\"baseImage\":\"a/b:1\",\"docker_image\":'c:2'}",
            &["a/b:1", "c:2"],
        );
        check(
            "image: {{ .image }}\nimage: true\nimage: |\n  x\nimage:\nimages: a:1\n",
            &[],
        );
        check("下载: a\n下载image: a/b:1\n", &["a/b:1"]);
        check("key: value", &[]);
    }
}

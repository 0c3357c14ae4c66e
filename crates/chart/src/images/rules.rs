//! Custom resources whose operators derive images from other fields than those named `image`.

use serde_json::Value;

/// How the images of a kind are derived.
enum Rule {
    /// `HUB/NAME:TAG`, from `spec.hub` and `spec.tag`
    Hub(&'static [&'static str]),
    /// `REPOSITORY:VERSION`, from `spec.version`, unless there is `spec.image`
    Version(&'static str),
}

/// Rules by API group and kind.
const RULES: &[(&str, &str, Rule)] = &[
    (
        "install.istio.io",
        "IstioOperator",
        Rule::Hub(&["pilot", "proxyv2"]),
    ),
    (
        "elasticsearch.k8s.elastic.co",
        "Elasticsearch",
        Rule::Version("docker.elastic.co/elasticsearch/elasticsearch"),
    ),
    (
        "kibana.k8s.elastic.co",
        "Kibana",
        Rule::Version("docker.elastic.co/kibana/kibana"),
    ),
    (
        "apm.k8s.elastic.co",
        "ApmServer",
        Rule::Version("docker.elastic.co/apm/apm-server"),
    ),
    (
        "logstash.k8s.elastic.co",
        "Logstash",
        Rule::Version("docker.elastic.co/logstash/logstash"),
    ),
];

/// The images that the operator of an object derives, each with the field that determines it.
pub(super) fn derived(object: &Value, kind: &str) -> Vec<(&'static str, String)> {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let group = api_version.split('/').next().unwrap_or_default();
    let rule = RULES
        .iter()
        .find(|(of_group, of_kind, _)| *of_group == group && *of_kind == kind);
    let spec = |field: &str| {
        object["spec"][field]
            .as_str()
            .filter(|text| !text.is_empty())
    };
    match rule {
        None => Vec::new(),
        Some((.., Rule::Hub(names))) => match (spec("hub"), spec("tag")) {
            (Some(hub), Some(tag)) => {
                let image = |name: &&str| ("spec.hub", format!("{hub}/{name}:{tag}"));
                names.iter().map(image).collect()
            }
            _ => Vec::new(),
        },
        Some((.., Rule::Version(repository))) => match (spec("version"), spec("image")) {
            (Some(version), None) => vec![("spec.version", format!("{repository}:{version}"))],
            _ => Vec::new(),
        },
    }
}

/// Adds the tag of a `baseImage`, which is in a field beside it or in the `spec`.
pub(super) fn complete(object: &Value, field: &str, image: String) -> String {
    let Some(parent) = field.strip_suffix("baseImage") else {
        return image;
    };
    if super::has_tag(&image) {
        return image;
    }
    let pointer = format!("/{}", parent.trim_end_matches('.').replace('.', "/"));
    let beside = object.pointer(&pointer);
    let tag = [beside, object.get("spec")]
        .into_iter()
        .flatten()
        .find_map(|fields| {
            ["tag", "version"]
                .iter()
                .find_map(|key| fields[*key].as_str())
        });
    match tag {
        Some(tag) => format!("{image}:{tag}"),
        None => image,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn images_are_derived_from_hubs_and_versions() {
        let istio = json!({"apiVersion": "install.istio.io/v1alpha1", "spec": {"hub": "docker.io/istio", "tag": "1.20.0"}});
        let found: Vec<String> = derived(&istio, "IstioOperator")
            .into_iter()
            .map(|(_, image)| image)
            .collect();
        assert_eq!(
            found,
            [
                "docker.io/istio/pilot:1.20.0",
                "docker.io/istio/proxyv2:1.20.0"
            ]
        );
        let kibana =
            json!({"apiVersion": "kibana.k8s.elastic.co/v1", "spec": {"version": "8.1.0"}});
        let expected = "docker.elastic.co/kibana/kibana:8.1.0".to_owned();
        assert_eq!(derived(&kibana, "Kibana"), [("spec.version", expected)]);
        let own = json!({"apiVersion": "kibana.k8s.elastic.co/v1", "spec": {"version": "8.1.0", "image": "a:1"}});
        assert_eq!(derived(&own, "Kibana"), []);
        assert_eq!(derived(&istio, "Other"), []);
    }

    #[test]
    fn a_base_image_gets_the_nearest_version() {
        let object = json!({"spec": {"version": "v6", "pd": {"baseImage": "pingcap/pd"}, "tikv": {"baseImage": "a/b", "version": "v7"}}});
        let check = |field: &str, image: &str| complete(&object, field, image.to_owned());
        assert_eq!(check("spec.pd.baseImage", "pingcap/pd"), "pingcap/pd:v6");
        assert_eq!(check("spec.tikv.baseImage", "a/b"), "a/b:v7");
        assert_eq!(check("spec.pd.baseImage", "a/b:1"), "a/b:1");
        assert_eq!(check("spec.pd.image", "a/b"), "a/b");
    }
}

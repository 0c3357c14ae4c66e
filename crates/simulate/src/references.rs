//! The `ConfigMaps` and Secrets that a pod needs, and what is missing, in the words of the kubelet.
//!
//! Volumes of drivers, and secrets for pulling images, are not checked: nothing is mounted or pulled.

use serde_json::{Map, Value, json};

use super::cache::{Cache, ObjectRef};
use super::object::{items, namespace, text};

pub(super) const CONFIG_MAPS: &str = "configmaps";
pub(super) const SECRETS: &str = "secrets";

/// A reference to an object, or to one of its keys.
struct Reference<'a> {
    plural: &'static str,
    name: &'a str,
    key: Option<&'a str>,
    is_optional: bool,
}

/// What is missing.
enum Missing<'a> {
    Object(&'a Reference<'a>),
    Key(&'a Reference<'a>, &'a str),
}

impl<'a> Reference<'a> {
    /// `reference` names the object in its field `name`.
    fn new(plural: &'static str, reference: &'a Value, name: &'static str) -> Option<Self> {
        Some(Self {
            plural,
            name: reference[name].as_str()?,
            key: reference["key"].as_str(),
            is_optional: reference["optional"] == true,
        })
    }

    fn missing(&'a self, pod: &Value, cache: &Cache) -> Option<Missing<'a>> {
        // A simulated Job creates nothing. What a completed one might have created holds up no pod.
        if self.is_optional || cache.has_completed_job(namespace(pod)) {
            return None;
        }
        let id = ObjectRef::new(self.plural, namespace(pod), self.name);
        let Some(object) = cache.get(&id) else {
            return Some(Missing::Object(self));
        };
        let key = self.key.filter(|key| !has_key(object, key))?;
        Some(Missing::Key(self, key))
    }

    /// `configmap` or `secret`.
    fn kind(&self) -> &'static str {
        if self.plural == SECRETS {
            "secret"
        } else {
            "configmap"
        }
    }
}

fn has_key(object: &Value, key: &str) -> bool {
    ["data", "binaryData"]
        .iter()
        .any(|field| object[field].get(key).is_some())
}

/// Why a volume of the pod cannot be mounted.
pub(super) fn failed_mount(pod: &Value, cache: &Cache) -> Option<String> {
    items(&pod["spec"]["volumes"]).iter().find_map(|volume| {
        let references = of_volume(volume);
        let reason = references.iter().find_map(|reference| {
            Some(match reference.missing(pod, cache)? {
                Missing::Object(reference) => {
                    format!("{} \"{}\" not found", reference.kind(), reference.name)
                }
                Missing::Key(reference, key) => match reference.plural {
                    SECRETS => format!("references non-existent secret key: {key}"),
                    _ => format!("references non-existent config key: {key}"),
                },
            })
        })?;
        let name = text(&volume["name"]);
        Some(format!(
            "MountVolume.SetUp failed for volume \"{name}\" : {reason}"
        ))
    })
}

/// Why a container cannot be created.
pub(super) fn config_error(container: &Value, pod: &Value, cache: &Cache) -> Option<String> {
    of_container(container).iter().find_map(|reference| {
        Some(match reference.missing(pod, cache)? {
            Missing::Object(reference) => {
                format!("{} \"{}\" not found", reference.kind(), reference.name)
            }
            Missing::Key(reference, key) => {
                let kind = if reference.plural == SECRETS {
                    "Secret"
                } else {
                    "ConfigMap"
                };
                let namespace = namespace(pod);
                let name = reference.name;
                format!("couldn't find key {key} in {kind} {namespace}/{name}")
            }
        })
    })
}

/// The first container in a list of the pod that cannot be created, with the reason.
pub(super) fn first_config_error(pod: &Value, containers: &str, cache: &Cache) -> Option<String> {
    let mut containers = items(&pod["spec"][containers]).iter();
    containers.find_map(|container| config_error(container, pod, cache))
}

/// Whether a pod refers to an object.
pub(super) fn refers_to(pod: &Value, plural: &str, name: &str) -> bool {
    let is_same = |reference: &Reference<'_>| reference.plural == plural && reference.name == name;
    let containers = ["initContainers", "containers"];
    let mut containers = containers
        .iter()
        .flat_map(|field| items(&pod["spec"][field]));
    items(&pod["spec"]["volumes"])
        .iter()
        .any(|volume| of_volume(volume).iter().any(is_same))
        || containers.any(|container| of_container(container).iter().any(is_same))
}

/// An object without the values of its keys, which nothing here reads.
pub(super) fn keys_only(object: &Value) -> Value {
    let metadata = &object["metadata"];
    let metadata = ["namespace", "name", "uid", "resourceVersion"]
        .map(|field| (field.to_owned(), metadata[field].clone()));
    let keys = |field: &str| -> Value {
        let keys = object[field].as_object().into_iter().flatten();
        let keys = keys.map(|(key, _)| (key.clone(), Value::Null));
        Value::Object(keys.collect())
    };
    json!({
        "metadata": Map::from_iter(metadata), "data": keys("data"), "binaryData": keys("binaryData"),
    })
}

fn of_volume(volume: &Value) -> Vec<Reference<'_>> {
    let projected = items(&volume["projected"]["sources"]).iter();
    let projected = projected.flat_map(|source| {
        let config_map = of_source(CONFIG_MAPS, &source["configMap"], "name");
        config_map.chain(of_source(SECRETS, &source["secret"], "name"))
    });
    of_source(CONFIG_MAPS, &volume["configMap"], "name")
        .chain(of_source(SECRETS, &volume["secret"], "secretName"))
        .chain(projected)
        .collect()
}

/// The object of a volume source, and the keys that it mounts.
fn of_source<'a>(
    plural: &'static str,
    source: &'a Value,
    name: &'static str,
) -> impl Iterator<Item = Reference<'a>> {
    let object = Reference::new(plural, source, name);
    let keys = items(&source["items"]).iter().filter_map(move |item| {
        let reference = Reference::new(plural, source, name)?;
        let key = item["key"].as_str();
        Some(Reference { key, ..reference })
    });
    object.into_iter().chain(keys)
}

fn of_container(container: &Value) -> Vec<Reference<'_>> {
    let from = items(&container["envFrom"]).iter().flat_map(|source| {
        [
            Reference::new(CONFIG_MAPS, &source["configMapRef"], "name"),
            Reference::new(SECRETS, &source["secretRef"], "name"),
        ]
    });
    let variables = items(&container["env"]).iter().flat_map(|variable| {
        let source = &variable["valueFrom"];
        [
            Reference::new(CONFIG_MAPS, &source["configMapKeyRef"], "name"),
            Reference::new(SECRETS, &source["secretKeyRef"], "name"),
        ]
    });
    from.chain(variables).flatten().collect()
}

//! `cluster.yaml`: the cluster, its node pools, and which plugins are enabled with which values.
//!
//! The engine knows the keys below; everything else is a value of a plugin. kube-aws' `kubeAwsPlugins` and
//! `worker.nodePools` are accepted too.

use std::collections::{BTreeMap, BTreeSet};

use outrigger_goyaml as goyaml;
use outrigger_model::{InvalidName, Owner, PoolName};
use serde_json::{Map, Value};

use crate::nearest::suggestion;
use crate::plugin::Plugin;
use crate::values::{overlay, problems};

/// Why `cluster.yaml` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("failed to parse the configuration")]
    Yaml(#[source] goyaml::Error),
    #[error("{0} is not an object")]
    NotAnObject(String),
    #[error("unknown key {key:?} in {location}{hint}")]
    UnknownKey {
        key: String,
        location: String,
        hint: String,
    },
    #[error("unknown plugin {key:?} in {location}{hint}")]
    UnknownPlugin {
        key: String,
        location: String,
        hint: String,
    },
    #[error("{0} is missing")]
    Missing(&'static str),
    #[error("{0} must be true or false")]
    NotABool(String),
    #[error("node pool {0}")]
    PoolName(usize, #[source] InvalidName),
    #[error("node pool {0} exists twice")]
    RepeatedPool(PoolName),
    #[error("plugin {key:?} is configured twice in {location}")]
    RepeatedPlugin { key: String, location: String },
}

/// `cluster.yaml`, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// Everything but plugins and node pools.
    pub settings: Map<String, Value>,
    plugins: Map<String, Value>,
    pools: BTreeMap<PoolName, Map<String, Value>>,
}

/// Keys of the document that the engine knows.
const KEYS: [&str; 10] = [
    "clusterName",
    "region",
    "kubernetesVersion",
    "s3URI",
    "kmsKeyArn",
    "tags",
    "policy",
    "plugins",
    "nodePools",
    "apiServerName",
];
const POOL_KEYS: [&str; 2] = ["name", "plugins"];

impl Configuration {
    /// Parses `cluster.yaml`.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let document = goyaml::parse_json(bytes).map_err(Error::Yaml)?;
        let mut document = object(document, "the document")?;
        let mut plugins = take_plugins(&mut document, "the document")?;
        let pools = take_pools(&mut document)?;
        for key in document.keys() {
            check_key(key, &KEYS, "the document")?;
        }
        if !document.get("clusterName").is_some_and(Value::is_string) {
            return Err(Error::Missing("clusterName"));
        }
        plugins.sort_keys();
        Ok(Self {
            settings: document,
            plugins,
            pools,
        })
    }

    /// The names of the node pools.
    pub fn pool_names(&self) -> impl Iterator<Item = &PoolName> {
        self.pools.keys()
    }

    /// Adds values from a configuration file of a plugin. Those in `cluster.yaml` win.
    pub fn add_plugin_file(&mut self, key: &str, values: Map<String, Value>) {
        let mut values = values;
        if let Some(Value::Object(given)) = self.plugins.get(key) {
            overlay(&mut values, given);
        }
        self.plugins.insert(key.to_owned(), Value::Object(values));
    }
}

fn object(value: Value, location: &str) -> Result<Map<String, Value>, Error> {
    match value {
        Value::Object(object) => Ok(object),
        Value::Null => Ok(Map::new()),
        _ => Err(Error::NotAnObject(location.to_owned())),
    }
}

fn check_key(key: &str, known: &[&str], location: &str) -> Result<(), Error> {
    if known.contains(&key) {
        return Ok(());
    }
    let hint = suggestion(key, known.iter().copied());
    Err(Error::UnknownKey {
        key: key.to_owned(),
        location: location.to_owned(),
        hint,
    })
}

fn take_plugins(
    object_: &mut Map<String, Value>,
    location: &str,
) -> Result<Map<String, Value>, Error> {
    let mut all = Map::new();
    for name in ["plugins", "kubeAwsPlugins"] {
        let plugins = object(
            object_.remove(name).unwrap_or_default(),
            &format!("{name} of {location}"),
        )?;
        for (key, value) in plugins {
            if all.contains_key(&key) {
                return Err(Error::RepeatedPlugin {
                    key,
                    location: location.to_owned(),
                });
            }
            let value = object(value, &format!("plugin {key} of {location}"))?;
            all.insert(key, Value::Object(value));
        }
    }
    Ok(all)
}

fn take_pools(
    document: &mut Map<String, Value>,
) -> Result<BTreeMap<PoolName, Map<String, Value>>, Error> {
    let mut list = document.remove("nodePools").unwrap_or_default();
    if let Some(worker) = document.remove("worker") {
        let mut worker = object(worker, "worker")?;
        let pools = worker.remove("nodePools").unwrap_or_default();
        if let Some(key) = worker.keys().next() {
            check_key(key, &["nodePools"], "worker")?;
        }
        if list.is_null() {
            list = pools;
        }
    }
    let Some(list) = list.as_array() else {
        return if list.is_null() {
            Ok(BTreeMap::new())
        } else {
            Err(Error::NotAnObject("nodePools".to_owned()))
        };
    };
    let mut pools = BTreeMap::new();
    for (position, pool) in list.iter().enumerate() {
        let location = format!("node pool {position}");
        let mut pool = object(pool.clone(), &location)?;
        let name = pool
            .get("name")
            .and_then(Value::as_str)
            .ok_or(Error::Missing("the name of a node pool"))?;
        let name: PoolName = name
            .parse()
            .map_err(|error| Error::PoolName(position, error))?;
        let plugins = take_plugins(&mut pool, &format!("node pool {name}"))?;
        for key in pool.keys() {
            check_key(key, &POOL_KEYS, &format!("node pool {name}"))?;
        }
        if pools.insert(name.clone(), plugins).is_some() {
            return Err(Error::RepeatedPool(name));
        }
    }
    Ok(pools)
}

/// For which machines a plugin is enabled, with which values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Activation {
    /// The values, if it is enabled for the cluster.
    pub cluster: Option<Map<String, Value>>,
    /// The values in the node pools for which it is enabled.
    pub pools: BTreeMap<PoolName, Map<String, Value>>,
}

impl Activation {
    pub fn is_enabled(&self) -> bool {
        self.cluster.is_some() || !self.pools.is_empty()
    }
}

impl Configuration {
    /// Fails if a plugin is configured that does not exist.
    pub fn check_plugins(&self, plugins: &[Plugin]) -> Result<(), Error> {
        let known: BTreeSet<&str> = plugins
            .iter()
            .flat_map(|plugin| &plugin.metadata.keys)
            .map(String::as_str)
            .collect();
        let pools = self
            .pools
            .iter()
            .map(|(name, plugins)| (format!("node pool {name}"), plugins));
        let all = std::iter::once(("the document".to_owned(), &self.plugins)).chain(pools);
        for (location, configured) in all {
            for key in configured.keys() {
                if !known.contains(key.as_str()) {
                    let hint = suggestion(key, known.iter().copied());
                    return Err(Error::UnknownPlugin {
                        key: key.clone(),
                        location,
                        hint,
                    });
                }
            }
        }
        Ok(())
    }

    /// For which machines a plugin is enabled. An omitted `enabled` in a node pool inherits.
    pub fn activation(&self, plugin: &Plugin) -> Result<Activation, Error> {
        let keys = &plugin.metadata.keys;
        let name = &plugin.metadata.name;
        let (enabled, values) = entry(&self.plugins, keys, &format!("plugin {name}"))?;
        let enabled = enabled.unwrap_or(plugin.metadata.enabled_by_default);
        let mut cluster = plugin.defaults.clone();
        overlay(&mut cluster, &values);
        let mut activation = Activation::default();
        for (pool, plugins) in &self.pools {
            let (in_pool, values) =
                entry(plugins, keys, &format!("plugin {name} of node pool {pool}"))?;
            if in_pool.unwrap_or(enabled) {
                let mut merged = cluster.clone();
                overlay(&mut merged, &values);
                activation.pools.insert(pool.clone(), merged);
            }
        }
        activation.cluster = enabled.then_some(cluster);
        Ok(activation)
    }

    /// The configuration as plugins see it, with the values of all enabled plugins.
    pub fn resolved<'a>(
        &self,
        activations: impl Iterator<Item = (&'a Owner, &'a str, &'a Activation)>,
    ) -> Value {
        let mut document = self.settings.clone();
        let mut plugins = Map::new();
        let mut pools: BTreeMap<&PoolName, Map<String, Value>> =
            self.pools.keys().map(|name| (name, Map::new())).collect();
        for (_, key, activation) in activations {
            if let Some(values) = &activation.cluster {
                plugins.insert(key.to_owned(), Value::Object(values.clone()));
            }
            for (pool, values) in &activation.pools {
                let Some(pool) = pools.get_mut(pool) else {
                    continue;
                };
                pool.insert(key.to_owned(), Value::Object(values.clone()));
            }
        }
        let pools = pools
            .into_iter()
            .map(|(name, plugins)| serde_json::json!({"name": name, "plugins": plugins}));
        document.insert("nodePools".to_owned(), pools.collect());
        document.insert("plugins".to_owned(), Value::Object(plugins));
        document.sort_keys();
        Value::Object(document)
    }
}

/// `enabled` and the values of a plugin.
fn entry(
    plugins: &Map<String, Value>,
    keys: &[String],
    location: &str,
) -> Result<(Option<bool>, Map<String, Value>), Error> {
    let mut given = keys.iter().filter_map(|key| plugins.get(key));
    let Some(values) = given.next().and_then(Value::as_object) else {
        return Ok((None, Map::new()));
    };
    if given.next().is_some() {
        return Err(Error::RepeatedPlugin {
            key: keys[0].clone(),
            location: location.to_owned(),
        });
    }
    let mut values = values.clone();
    let enabled = match values.remove("enabled") {
        None => None,
        Some(Value::Bool(enabled)) => Some(enabled),
        Some(_) => return Err(Error::NotABool(format!("enabled of {location}"))),
    };
    Ok((enabled, values))
}

/// What is wrong with the values of an enabled plugin.
pub(crate) fn value_problems(plugin: &Plugin, activation: &Activation) -> Vec<String> {
    let all = activation.cluster.iter().chain(activation.pools.values());
    let mut found: Vec<String> = all
        .flat_map(|values| problems(values, plugin.schema.as_ref(), &plugin.defaults))
        .collect();
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests;

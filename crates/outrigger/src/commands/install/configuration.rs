//! Reads the configuration of an installation, and merges the package into it.

use std::path::Path;

use anyhow::{Context as _, anyhow, ensure};
use outrigger_expansion::merge::Base;
use outrigger_expansion::{Package, merge};
use serde_json::{Map, Value, json};

use crate::commands::cluster::file::{self, Manifests};
use crate::input_file;
use crate::report::{HintExt as _, note};

/// The name of a cluster whose configuration has none, as in TKEStack.
const DEFAULT_NAME: &str = "global";

/// Keys of `Config` that mean something here.
const CONFIG_KEYS: &[&str] = &["skipsteps"];

/// The objects of a configuration, with what the package adds.
#[derive(Debug)]
pub(super) struct Configuration {
    /// One cluster, its workers and Secrets.
    pub(super) manifests: Manifests,
    pub(super) skip_steps: Vec<String>,
}

/// Where a configuration is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Origin<'o> {
    File(&'o Path),
    /// One that this program has, and what it is called.
    BuiltIn(&'static str, &'static str),
}

impl Origin<'_> {
    pub(super) fn name(self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::BuiltIn(name, _) => name.to_owned(),
        }
    }
}

pub(super) fn read(origin: Origin<'_>, package: Option<&Package>) -> anyhow::Result<Configuration> {
    let name = origin.name();
    match origin {
        Origin::File(path) => {
            ensure!(path.exists(), "{name} does not exist");
            parse(&name, &input_file::read_text(path)?, package)
        }
        Origin::BuiltIn(_, text) => parse(&name, text, package),
    }
}

fn parse(name: &str, text: &str, package: Option<&Package>) -> anyhow::Result<Configuration> {
    let mut objects = file::objects(name, text)?;
    let mut skip_steps = Vec::new();
    let mut clusters = 0;
    for (_, object) in &mut objects {
        let is_tke = is_tke(object);
        if is_tke || object["kind"] == "Cluster" {
            clusters += 1;
            let merged = merged(name, object, package)?;
            *object = if is_tke {
                skip_steps.extend(skipped(name, &merged)?);
                cluster_of(&merged)
            } else {
                merged
            };
            let metadata = &mut object["metadata"];
            if metadata["name"].is_null() {
                metadata["name"] = json!(DEFAULT_NAME);
            }
        }
    }
    ensure!(clusters > 0, "{name} contains no cluster");
    ensure!(
        clusters == 1,
        "{name} has {clusters} clusters; an installation creates one"
    );
    if skip_steps.is_empty()
        && let Some(package) = package
    {
        let steps = package.definition.installer_skip_steps.iter();
        skip_steps.extend(steps.map(|step| step.value.clone()));
    }
    Ok(Configuration {
        manifests: file::of_objects(name, objects)?,
        skip_steps,
    })
}

/// Whether it is `{cluster, Config}`, as TKEStack's installer reads it.
fn is_tke(object: &Value) -> bool {
    let fields = object.as_object();
    object["kind"].is_null() && fields.is_some_and(|fields| field(fields, "cluster").is_some())
}

/// A field whatever its case: so Go decodes them.
fn field<'v>(fields: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    let mut fields = fields.iter();
    let found = fields.find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value)
}

/// The document with what the package adds. Conflicts are printed.
fn merged(name: &str, object: &Value, package: Option<&Package>) -> anyhow::Result<Value> {
    let base = Base::parse(name, &object.to_string())?;
    let Some(package) = package else {
        return Ok(object.clone());
    };
    match merge(&base, package) {
        Ok(effective) => {
            for merge_note in &effective.notes {
                // Skipped steps of the installer are taken from the package then.
                if merge_note.field != "installer_skip_steps" {
                    note(&format!("note: {merge_note}"));
                }
            }
            Ok(effective.document)
        }
        Err(conflicts) => {
            for conflict in &conflicts {
                note(&format!("conflict: {conflict}"));
            }
            Err(anyhow!("package {} conflicts with {name}", package.name))
                .hint("change the configuration or the package, so that each field has one owner")
        }
    }
}

/// The cluster of `tke.json`, whose kind may be left out.
fn cluster_of(document: &Value) -> Value {
    let fields = document.as_object();
    let cluster = fields.and_then(|fields| field(fields, "cluster"));
    let mut cluster = cluster.cloned().unwrap_or_default();
    for (key, value) in [
        ("apiVersion", "platform.tkestack.io/v1"),
        ("kind", "Cluster"),
    ] {
        if cluster[key].as_str().unwrap_or_default().is_empty() {
            cluster[key] = json!(value);
        }
    }
    cluster
}

/// `Config.skipSteps`. What else `Config` says is about components of TKEStack.
fn skipped(name: &str, document: &Value) -> anyhow::Result<Vec<String>> {
    let fields = document.as_object();
    let config = fields.and_then(|fields| field(fields, "config"));
    let Some(config) = config.and_then(Value::as_object) else {
        return Ok(Vec::new());
    };
    let other = config.keys();
    let other: Vec<&str> = other
        .map(String::as_str)
        .filter(|key| !CONFIG_KEYS.contains(&key.to_ascii_lowercase().as_str()))
        .collect();
    if !other.is_empty() {
        note(&format!(
            "note: {name}: Config.{} is for components of TKEStack, and means nothing here",
            other.join(", Config.")
        ));
    }
    let steps = field(config, "skipSteps").cloned().unwrap_or_default();
    if steps.is_null() {
        return Ok(Vec::new());
    }
    serde_json::from_value(steps)
        .with_context(|| format!("{name}: Config.skipSteps is not a list of strings"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TKE: &str = r#"{
        // The first cluster.
        "cluster": {"spec": {"type": "Baremetal", "version": "1.20.4",
            "machines": [{"ip": "10.0.0.1", "username": "root", "password": "eA=="}]}},
        "Config": {"basic": {"username": "admin"}, "skipSteps": ["Import charts"]}
    }"#;

    #[test]
    fn tke_json_is_a_cluster_and_steps_that_are_skipped() {
        let configuration = parse("tke.json", TKE, None).unwrap();
        assert_eq!(configuration.skip_steps, ["Import charts"]);
        let [cluster] = &configuration.manifests.clusters[..] else {
            panic!("one cluster is expected");
        };
        assert_eq!(cluster.metadata.name.as_deref(), Some("global"));
        assert_eq!(cluster.spec.machines[0].ip, "10.0.0.1");
    }

    #[test]
    fn a_configuration_has_one_cluster() {
        let cluster = "apiVersion: outrigger.dev/v1beta1\nkind: Cluster\nmetadata: {name: a}\nspec:\n  \
                       version: 1.0.0\n  machines: [{ip: 10.0.0.1, password: eA==}]\n";
        assert!(parse("a.yaml", cluster, None).is_ok());
        let other = cluster
            .replace("name: a", "name: b")
            .replace("10.0.0.1", "10.0.0.2");
        let error = parse("a.yaml", &format!("{cluster}---\n{other}"), None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a.yaml has 2 clusters; an installation creates one"
        );
        let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n";
        let error = parse("a.yaml", secret, None).unwrap_err();
        assert_eq!(error.to_string(), "a.yaml contains no cluster");
    }
}

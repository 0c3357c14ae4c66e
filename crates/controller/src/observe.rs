//! What is wanted of a plugin: its chart, its values, its cluster, and the digest of all of it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, Client};
use outrigger_api::plugin::{Plugin, ValuesFrom, ValuesKind};

use crate::conditions::READY;
use crate::context::Context;
use crate::digest;
use crate::references::{Read, Reference};
use crate::sources::Material;
use crate::target::Target;
use crate::trouble::{Trouble, unanswered};
use crate::values::{self, Referenced, Values};

/// All that an installation needs.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) target: Target,
    pub(crate) material: Material,
    pub(crate) values: Values,
    pub(crate) image_registry: Option<String>,
    pub(crate) digest: String,
}

/// What was looked at, kept even if something is missing.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    pub(crate) read: Read,
}

/// Looks at everything that decides what a plugin's objects are.
pub(crate) async fn wanted(
    ctx: &Context,
    plugin: &Plugin,
    looked: &mut Looked,
) -> Result<Wanted, Trouble> {
    let target = ctx.targets.of(plugin).await?;
    looked.read.extend(target.read.clone());
    let (values, salts) = values_of(&ctx.client, plugin, looked).await?;
    let material = ctx.sources.fetch(plugin).await?;
    let image_registry = image_registry(ctx, plugin);
    let digest = digest::of(&digest::Inputs {
        spec: &plugin.spec,
        release_name: plugin.release_name(),
        namespace: plugin.release_namespace(),
        chart_digest: material.digest(),
        chart_version: material.version(),
        values: &values,
        salts: &salts,
        image_registry: image_registry.as_deref(),
        kube_version: &target.kube_version,
    });
    Ok(Wanted {
        target,
        material,
        values,
        image_registry,
        digest,
    })
}

/// The registry that the plugin names, else that of all plugins.
pub(crate) fn image_registry(ctx: &Context, plugin: &Plugin) -> Option<String> {
    let own = plugin.spec.image_registry.clone();
    let own = own.filter(|registry| !registry.is_empty());
    own.or_else(|| ctx.default_registry())
}

/// The merged values, and the uids of the Secrets among their sources.
async fn values_of(
    client: &Client,
    plugin: &Plugin,
    looked: &mut Looked,
) -> Result<(Values, Vec<String>), Trouble> {
    let namespace = plugin.namespace();
    let mut sources = Vec::new();
    let mut salts = Vec::new();
    for from in &plugin.spec.values_from {
        let object = referenced(client, namespace, from).await?;
        let reference = Reference {
            source: from.kind.into(),
            namespace: namespace.to_owned(),
            name: from.name.clone(),
        };
        let version = object
            .as_ref()
            .map(|object| object.resource_version.clone());
        looked.read.push((reference, version));
        if from.kind == ValuesKind::Secret {
            salts.extend(object.as_ref().map(|object| object.uid.clone()));
        }
        sources.push((from.clone(), object));
    }
    let values = values::merge(&plugin.spec, &sources)?;
    Ok((values, salts))
}

async fn referenced(
    client: &Client,
    namespace: &str,
    from: &ValuesFrom,
) -> Result<Option<Referenced>, Trouble> {
    let read = match from.kind {
        ValuesKind::ConfigMap => config_map(client, namespace, &from.name).await,
        ValuesKind::Secret => secret(client, namespace, &from.name).await,
    };
    read.map_err(|error| unanswered(READY, &error))
}

async fn config_map(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Option<Referenced>, kube::Error> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let map = api.get_opt(name).await?;
    Ok(map.map(|map| {
        let texts = map.data.unwrap_or_default().into_iter();
        let bytes = map.binary_data.unwrap_or_default().into_iter();
        let data = texts
            .map(|(key, text)| (key, text.into_bytes()))
            .chain(bytes.map(|(key, bytes)| (key, bytes.0)));
        let data = data.collect();
        made(map.metadata.uid, map.metadata.resource_version, data)
    }))
}

async fn secret(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Option<Referenced>, kube::Error> {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let secret = api.get_opt(name).await?;
    Ok(secret.map(|secret| {
        let data = secret.data.unwrap_or_default().into_iter();
        let data = data.map(|(key, bytes)| (key, bytes.0)).collect();
        made(secret.metadata.uid, secret.metadata.resource_version, data)
    }))
}

fn made(
    uid: Option<String>,
    version: Option<String>,
    data: BTreeMap<String, Vec<u8>>,
) -> Referenced {
    Referenced {
        uid: uid.unwrap_or_default(),
        resource_version: version.unwrap_or_default(),
        data,
    }
}

//! Resolves the inputs of an installation: target cluster, chart, values, and the digest of all of them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::ObjectMeta;
use kube::{Api, Client};
use outrigger_api::plugin::{Plugin, ValuesFrom, ValuesKind};

use crate::conditions::READY;
use crate::context::Context;
use crate::digest;
use crate::error::ReconcileError;
use crate::references::{ReadVersions, Reference};
use crate::sources::SourceContent;
use crate::target::Target;
use crate::values::{self, SourceObject, Values};

/// Everything that an installation needs.
#[derive(Debug)]
pub(crate) struct ResolvedInputs {
    pub(crate) target: Target,
    pub(crate) content: SourceContent,
    pub(crate) values: Values,
    pub(crate) image_registry: Option<String>,
    pub(crate) digest: String,
}

/// Fetches everything that determines the objects of a plugin. Adds the references that were read to `read`, also if
/// it fails.
pub(crate) async fn resolve_inputs(
    ctx: &Context,
    plugin: &Plugin,
    read: &mut ReadVersions,
) -> Result<ResolvedInputs, ReconcileError> {
    let target = ctx.targets.resolve(plugin).await?;
    read.extend(target.read.clone());
    let (values, salts) = resolve_values(&ctx.client, plugin, read).await?;
    let content = ctx.sources.fetch(plugin).await?;
    let image_registry = ctx.image_registry(plugin);
    let digest = digest::of(&digest::Inputs {
        spec: &plugin.spec,
        release_name: plugin.release_name(),
        namespace: plugin.release_namespace(),
        chart_digest: content.digest(),
        chart_version: content.version(),
        values: &values,
        salts: &salts,
        image_registry: image_registry.as_deref(),
        kube_version: &target.kube_version,
    });
    Ok(ResolvedInputs {
        target,
        content,
        values,
        image_registry,
        digest,
    })
}

/// The merged values, and the uids of the Secrets that they come from.
async fn resolve_values(
    client: &Client,
    plugin: &Plugin,
    read: &mut ReadVersions,
) -> Result<(Values, Vec<String>), ReconcileError> {
    let namespace = plugin.namespace();
    let mut sources = Vec::new();
    let mut salts = Vec::new();
    for from in &plugin.spec.values_from {
        let object = read_source(client, namespace, from).await;
        let object = object.map_err(|error| ReconcileError::unreachable(READY, &error))?;
        let reference = Reference {
            kind: from.kind.into(),
            namespace: namespace.to_owned(),
            name: from.name.clone(),
        };
        let version = object
            .as_ref()
            .map(|object| object.resource_version.clone());
        read.push((reference, version));
        if from.kind == ValuesKind::Secret {
            salts.extend(object.as_ref().map(|object| object.uid.clone()));
        }
        sources.push((from.clone(), object));
    }
    let values = values::merge(&plugin.spec, &sources)?;
    Ok((values, salts))
}

async fn read_source(
    client: &Client,
    namespace: &str,
    from: &ValuesFrom,
) -> Result<Option<SourceObject>, kube::Error> {
    match from.kind {
        ValuesKind::ConfigMap => read_config_map(client, namespace, &from.name).await,
        ValuesKind::Secret => read_secret(client, namespace, &from.name).await,
    }
}

async fn read_config_map(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Option<SourceObject>, kube::Error> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let map = api.get_opt(name).await?;
    Ok(map.map(|map| {
        let texts = map.data.unwrap_or_default().into_iter();
        let bytes = map.binary_data.unwrap_or_default().into_iter();
        let data = texts
            .map(|(key, text)| (key, text.into_bytes()))
            .chain(bytes.map(|(key, bytes)| (key, bytes.0)));
        source_object(map.metadata, data.collect())
    }))
}

async fn read_secret(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Option<SourceObject>, kube::Error> {
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let secret = api.get_opt(name).await?;
    Ok(secret.map(|secret| {
        let data = secret.data.unwrap_or_default().into_iter();
        let data = data.map(|(key, bytes)| (key, bytes.0)).collect();
        source_object(secret.metadata, data)
    }))
}

fn source_object(metadata: ObjectMeta, data: BTreeMap<String, Vec<u8>>) -> SourceObject {
    SourceObject {
        uid: metadata.uid.unwrap_or_default(),
        resource_version: metadata.resource_version.unwrap_or_default(),
        data,
    }
}

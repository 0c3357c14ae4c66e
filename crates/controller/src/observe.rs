//! Resolves the inputs of an installation: target cluster, chart, values, and the digest of all of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::ObjectMeta;
use kube::{Api, Client};
use outrigger_api::plugin::{Plugin, ValuesFrom, ValuesKind};

use crate::conditions::READY;
use crate::context::Context;
use crate::digest;
use crate::error::ReconcileError;
use crate::redact::{Redactor, SecretVersion};
use crate::references::{ReadVersions, Reference};
use crate::release_ref::ClusterRef;
use crate::sources::SourceContent;
use crate::target::Target;
use crate::task;
use crate::values::{self, SourceObject, Values};

/// The input that a resolution waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AwaitedInput {
    Cluster(ClusterRef),
    Values(String),
    Source(String),
    /// A slot for a request to a source, and the requests that occupy the slots.
    Turn {
        source: String,
        requests: String,
    },
    /// The index of a source, which is already being fetched.
    Index(String),
}

impl AwaitedInput {
    /// The input that is resolved first.
    pub(crate) fn first_of(plugin: &Plugin) -> Self {
        match (ClusterRef::of(plugin), plugin.spec.repo.as_deref()) {
            (ClusterRef::Local, Some(repo)) => Self::Source(outrigger_repository::redacted(repo)),
            (ClusterRef::Local, None) => Self::Source("the repositories".to_owned()),
            (cluster, _) => Self::Cluster(cluster),
        }
    }
}

/// Receives the input that a resolution waits for.
pub(crate) type AwaitedReporter = Arc<dyn Fn(AwaitedInput) + Send + Sync>;
pub(crate) type ReportAwaited<'a> = &'a AwaitedReporter;

/// Everything that an installation needs.
#[derive(Debug)]
pub(crate) struct ResolvedInputs {
    pub(crate) target: Target,
    pub(crate) content: SourceContent,
    pub(crate) values: Values,
    /// Removes values that come from Secrets from messages.
    pub(crate) redactor: Redactor,
    pub(crate) image_registry: Option<String>,
    pub(crate) digest: String,
}

/// Fetches everything that determines the objects of a plugin. Adds the references that were read to `read`, also if
/// it fails.
pub(crate) async fn resolve_inputs(
    ctx: &Context,
    plugin: &Plugin,
    read: &mut ReadVersions,
    report: ReportAwaited<'_>,
) -> Result<ResolvedInputs, ReconcileError> {
    let target = ctx.targets.resolve_reading(plugin, read).await?;
    let (values, size, salts, redactor) = resolve_values(ctx, plugin, read, report).await?;
    let content = fetch(ctx, plugin, report).await?;
    let image_registry = ctx.image_registry(plugin);
    let digest = || {
        digest::of(&digest::Inputs {
            spec: &plugin.spec,
            release_name: plugin.release_name(),
            namespace: plugin.release_namespace(),
            chart_digest: content.digest(),
            chart_version: content.version(),
            values: &values,
            salts: &salts,
            image_registry: image_registry.as_deref(),
            kube_version: &target.kube_version,
        })
    };
    let digest = task::run_blocking(size, digest);
    Ok(ResolvedInputs {
        target,
        content,
        values,
        redactor,
        image_registry,
        digest,
    })
}

async fn fetch(
    ctx: &Context,
    plugin: &Plugin,
    report: ReportAwaited<'_>,
) -> Result<SourceContent, ReconcileError> {
    let started_at = Instant::now();
    let content = ctx.sources.fetch(plugin, report).await;
    let metrics = &ctx.options.metrics;
    metrics.record_fetch(content.is_ok(), started_at.elapsed());
    Ok(content?)
}

/// The merged values, the size of their sources, and the uids and the redactor of the Secrets that they come from.
async fn resolve_values(
    ctx: &Context,
    plugin: &Plugin,
    read: &mut ReadVersions,
    report: ReportAwaited<'_>,
) -> Result<(Values, usize, Vec<String>, Redactor), ReconcileError> {
    let namespace = plugin.namespace();
    let mut sources = Vec::new();
    let mut salts = Vec::new();
    for from in &plugin.spec.values_from {
        let source = format!("{:?} {namespace}/{}", from.kind, from.name);
        report(AwaitedInput::Values(source));
        let object = read_source(&ctx.client, namespace, from).await;
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
    let data = sources.iter().filter_map(|(_, object)| object.as_ref());
    let size = data.flat_map(|object| object.data.values()).map(Vec::len);
    let size = size.sum();
    let values = task::run_blocking(size, || values::merge(&plugin.spec, &sources))?;
    let secrets = sources.iter().filter_map(|(from, object)| {
        let object = object.as_ref()?;
        let version = SecretVersion {
            uid: object.uid.clone(),
            resource_version: object.resource_version.clone(),
            key: from.key.clone(),
        };
        let data = || used_data(from, object);
        (from.kind == ValuesKind::Secret).then(|| ctx.secrets.get(version, data))
    });
    let redactor = Redactor::new(secrets.collect());
    Ok((values, size, salts, redactor))
}

/// The data of a Secret that values are taken from.
fn used_data(from: &ValuesFrom, object: &SourceObject) -> Vec<Vec<u8>> {
    let data = object.data.iter();
    let used = data.filter(|(key, _)| from.key.as_ref().is_none_or(|own| own == *key));
    used.map(|(_, bytes)| bytes.clone()).collect()
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

//! The watches: each is a task that sends its events to the controller, and resumes by itself after errors.

mod existence;
mod failing;

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ObjectMeta};
use kube::core::{DeserializeGuard, PartialObjectMeta};
use kube::runtime::watcher::{self, Config, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt as _};
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;
use outrigger_api::plugin::Plugin;
use outrigger_api::repository::Repository;
use outrigger_release::ExistenceCache;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::Sender;

use crate::backoff::Backoff;
use crate::digest;
use crate::objects::Kind;
use crate::references::ReferenceKind;
use crate::release_ref::ClusterRef;
use crate::sources::Repositories;
use crate::status;
use crate::task::{AbortOnDrop, spawn};
use crate::watch_event::{self, WatchEvent, WatchedObject};
use crate::watches::existence::ExistenceRecorder;
use crate::watches::failing::FailureReporter;

/// The label of the objects of releases.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
const HELM: &str = "Helm";

/// The ConfigMap with the cluster-wide defaults for all plugins.
pub(crate) const DEFAULTS_NAMESPACE: &str = "outrigger-system";
pub(crate) const DEFAULTS_NAME: &str = "outrigger-defaults";
const DEFAULTS_REGISTRY_KEY: &str = "imageRegistry";

/// Kinds whose objects are healthy if they exist. Only their metadata is watched.
const METADATA_ONLY: &[(&str, &str)] = &[
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "ServiceAccount"),
    ("v1", "LimitRange"),
    ("v1", "ResourceQuota"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("networking.k8s.io/v1", "IngressClass"),
    ("scheduling.k8s.io/v1", "PriorityClass"),
    ("storage.k8s.io/v1", "StorageClass"),
];

/// Whether objects of a kind are healthy if they exist, so that only their metadata is watched unless a health rule needs
/// more.
pub(crate) fn is_metadata_only(api_version: &str, kind: &str) -> bool {
    METADATA_ONLY.contains(&(api_version, kind))
}

/// Plugins in one response. Their values may have a mebibyte each, and a response is in memory as text and as objects.
const PLUGINS_PER_PAGE: u32 = 16;

/// Delays before a failed request is repeated.
const BACKOFF: Backoff = Backoff {
    initial: Duration::from_millis(200),
    max: Duration::from_secs(2),
};

/// Watches the plugins of one namespace, or of all.
pub(crate) fn plugins(
    client: Client,
    namespace: Option<String>,
    sender: Sender<WatchEvent>,
) -> AbortOnDrop {
    let api: Api<DeserializeGuard<Plugin>> = match &namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    };
    spawn(forward(
        "plugins",
        watcher(api, Config::default().page_size(PLUGINS_PER_PAGE)),
        sender,
        move |event| {
            let event = deserialized(event, status::keep_status_editors)?;
            Some(WatchEvent::Plugin(namespace.clone(), event))
        },
    ))
}

/// Watches all clusters.
pub(crate) fn clusters(client: Client, sender: Sender<WatchEvent>) -> AbortOnDrop {
    let api: Api<DeserializeGuard<Cluster>> = Api::all(client);
    let events = watcher(api, Config::default());
    spawn(forward("clusters", events, sender, |event| {
        let event = deserialized(event, without_managed_fields)?;
        Some(WatchEvent::Cluster(event))
    }))
}

/// Watches all machines.
pub(crate) fn machines(client: Client, sender: Sender<WatchEvent>) -> AbortOnDrop {
    let api: Api<DeserializeGuard<Machine>> = Api::all(client);
    let events = watcher(api, Config::default());
    spawn(forward("machines", events, sender, |event| {
        let event = deserialized(event, without_managed_fields)?;
        Some(WatchEvent::Machine(event))
    }))
}

/// The managed fields are unused, and the larger half of an object.
fn without_managed_fields(metadata: &mut ObjectMeta) {
    metadata.managed_fields = None;
}

/// Reduces the metadata of objects. Skips objects that do not deserialize: their CRD is not ours.
fn deserialized<K: Resource>(
    event: Event<DeserializeGuard<K>>,
    reduce: fn(&mut ObjectMeta),
) -> Option<Event<Box<K>>> {
    let deserialized = |DeserializeGuard(object): DeserializeGuard<K>| match object {
        Ok(mut object) => {
            reduce(object.meta_mut());
            Some(Box::new(object))
        }
        Err(invalid) => {
            let name = invalid.metadata.name.as_deref();
            tracing::warn!(name, error = invalid.error, "object is not valid");
            None
        }
    };
    Some(match event {
        Event::Apply(object) => Event::Apply(deserialized(object)?),
        Event::Delete(object) => Event::Delete(deserialized(object)?),
        Event::InitApply(object) => Event::InitApply(deserialized(object)?),
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
    })
}

/// Watches the resource versions of each ConfigMap or Secret in a namespace.
pub(crate) fn references(
    client: Client,
    kind: ReferenceKind,
    namespace: String,
    sender: Sender<WatchEvent>,
) -> AbortOnDrop {
    match kind {
        ReferenceKind::ConfigMap => versions::<ConfigMap>(client, kind, namespace, sender),
        ReferenceKind::Secret => versions::<Secret>(client, kind, namespace, sender),
    }
}

fn versions<K>(
    client: Client,
    kind: ReferenceKind,
    namespace: String,
    sender: Sender<WatchEvent>,
) -> AbortOnDrop
where
    K: Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
        + Clone
        + DeserializeOwned
        + Debug
        + Send
        + 'static,
{
    let api: Api<PartialObjectMeta<K>> = Api::namespaced(client, &namespace);
    let events = watcher(api, Config::default());
    spawn(forward("references", events, sender, move |event| {
        let event = watch_event::map(event, |object| {
            let version = object.resource_version().unwrap_or_default();
            (object.name_any(), version)
        });
        Some(WatchEvent::Reference(kind, namespace.clone(), event))
    }))
}

/// Watches the objects of a kind that belong to releases. Full objects if their health depends on more than their
/// existence, else only metadata; the latter also records in `existence` which objects of the kind exist.
pub(crate) fn objects(
    client: impl Future<Output = Option<(Client, Option<String>)>> + Send + 'static,
    cluster: ClusterRef,
    kind: Kind,
    has_health_rule: bool,
    existence: Option<Arc<ExistenceCache>>,
    sender: Sender<WatchEvent>,
) -> AbortOnDrop {
    spawn(async move {
        let Some((client, server)) = client.await else {
            return;
        };
        let mut reporter =
            FailureReporter::new(cluster.clone(), kind.clone(), server, sender.clone());
        if kind == Kind::release_record() {
            return release_records(client, cluster, reporter, sender).await;
        }
        let resource = discover(&client, &kind, &mut reporter).await;
        let managed = Config::default().labels(&format!("{MANAGED_BY}={HELM}"));
        let name = kind.kind.clone();
        if is_metadata_only(&kind.api_version, &kind.kind) && !has_health_rule {
            let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(client, &resource);
            let config = if existence.is_some() {
                Config::default()
            } else {
                managed
            };
            let events = watcher(api, config);
            let recorder = ExistenceRecorder::new(existence, kind.clone());
            forward_reporting(&name, events, sender, Some(reporter), move |event| {
                let event = recorder.record(event)?;
                let event =
                    watch_event::map(event, |object| WatchedObject::new(&object.metadata, None));
                Some(WatchEvent::Object(
                    cluster.clone(),
                    kind.clone(),
                    Box::new(event),
                ))
            })
            .await;
        } else {
            let api: Api<DynamicObject> = Api::all_with(client, &resource);
            let events = watcher(api, managed);
            forward_reporting(&name, events, sender, Some(reporter), move |event| {
                let event = watch_event::map(event, |object| full_object(&object, &kind));
                Some(WatchEvent::Object(
                    cluster.clone(),
                    kind.clone(),
                    Box::new(event),
                ))
            })
            .await;
        }
    })
}

/// Watches which release records exist.
async fn release_records(
    client: Client,
    cluster: ClusterRef,
    reporter: FailureReporter,
    sender: Sender<WatchEvent>,
) {
    let api: Api<PartialObjectMeta<Secret>> = Api::all(client);
    let events = watcher(api, Config::default().labels("owner=helm"));
    let kind = Kind::release_record();
    forward_reporting(&kind.kind, events, sender, Some(reporter), |event| {
        let event = watch_event::map(event, |secret| {
            WatchedObject::release_record(&secret.metadata)
        });
        Some(WatchEvent::Object(
            cluster.clone(),
            kind.clone(),
            Box::new(event),
        ))
    })
    .await;
}

/// Discovers the resource of a kind. Retries until it is served: its CRD may be new.
async fn discover(client: &Client, kind: &Kind, reporter: &mut FailureReporter) -> ApiResource {
    let (group, version) = match kind.api_version.split_once('/') {
        Some((group, version)) => (group, version),
        None => ("", kind.api_version.as_str()),
    };
    let kind = GroupVersionKind::gvk(group, version, &kind.kind);
    let mut failures = 0;
    loop {
        match kube::discovery::pinned_kind(client, &kind).await {
            Ok((resource, _)) => return resource,
            Err(error) => {
                failures += 1;
                tracing::debug!(%error, kind = kind.kind, "failed to discover kind");
                if !matches!(error, kube::Error::Api(_) | kube::Error::Discovery(_)) {
                    reporter.failed(&error).await;
                }
                tokio::time::sleep(BACKOFF.delay(failures)).await;
            }
        }
    }
}

fn full_object(object: &DynamicObject, kind: &Kind) -> WatchedObject {
    let mut watched = WatchedObject::new(&object.metadata, None);
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if !is_metadata_only(&kind.api_version, &kind.kind) {
        let values = outrigger_release::owned_values(&value);
        watched.fields = values.as_ref().map(digest::short);
    }
    value["apiVersion"] = kind.api_version.clone().into();
    value["kind"] = kind.kind.clone().into();
    watched.object = Some(value);
    watched
}

/// Watches the cluster-wide defaults.
pub(crate) fn defaults(client: Client, sender: Sender<WatchEvent>) -> AbortOnDrop {
    let api: Api<ConfigMap> = Api::namespaced(client, DEFAULTS_NAMESPACE);
    let config = Config::default().fields(&format!("metadata.name={DEFAULTS_NAME}"));
    let mut exists = false;
    spawn(forward(
        "defaults",
        watcher(api, config),
        sender,
        move |event| match event {
            Event::Apply(map) | Event::InitApply(map) => {
                exists = true;
                Some(WatchEvent::Defaults(default_registry(&map)))
            }
            Event::Delete(_) => Some(WatchEvent::Defaults(None)),
            Event::Init => {
                exists = false;
                None
            }
            Event::InitDone => (!exists).then_some(WatchEvent::Defaults(None)),
        },
    ))
}

/// The image registry in the cluster-wide defaults.
pub(crate) fn default_registry(map: &ConfigMap) -> Option<String> {
    let registry = map.data.as_ref()?.get(DEFAULTS_REGISTRY_KEY)?.trim();
    (!registry.is_empty()).then(|| registry.to_owned())
}

/// Watches repositories and keeps `table` up to date.
pub(crate) fn repositories(
    client: Client,
    table: Repositories,
    sender: Sender<WatchEvent>,
) -> AbortOnDrop {
    let api: Api<Repository> = Api::all(client);
    let mut listing = HashMap::new();
    spawn(forward(
        "repositories",
        watcher(api, Config::default()),
        sender,
        move |event| {
            match event {
                Event::Init => {
                    listing.clear();
                    return None;
                }
                Event::InitApply(repository) => {
                    listing.insert(repository.name_any(), repository);
                    return None;
                }
                Event::InitDone => table.replace(std::mem::take(&mut listing)),
                Event::Apply(repository) => {
                    if !table.set(repository) {
                        return None;
                    }
                }
                Event::Delete(repository) => table.remove(&repository.name_any()),
            }
            Some(WatchEvent::Repositories)
        },
    ))
}

/// Sends the converted events of a watch to the controller. After an error the watch resumes with backoff.
async fn forward<K>(
    name: &str,
    events: impl Stream<Item = watcher::Result<Event<K>>>,
    sender: Sender<WatchEvent>,
    convert: impl FnMut(Event<K>) -> Option<WatchEvent>,
) {
    forward_reporting(name, events, sender, None, convert).await;
}

/// Like [`forward`], and reports failures.
async fn forward_reporting<K>(
    name: &str,
    events: impl Stream<Item = watcher::Result<Event<K>>>,
    sender: Sender<WatchEvent>,
    mut reporter: Option<FailureReporter>,
    mut convert: impl FnMut(Event<K>) -> Option<WatchEvent>,
) {
    let mut events = std::pin::pin!(events);
    let mut failures = 0;
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                // `Init` precedes the request.
                if !matches!(event, Event::Init) {
                    failures = 0;
                    if let Some(reporter) = &mut reporter {
                        reporter.succeeded().await;
                    }
                }
                if let Some(event) = convert(event)
                    && sender.send(event).await.is_err()
                {
                    return;
                }
            }
            Err(error) => {
                failures += 1;
                tracing::info!(%error, "watch of {name} failed, restarting");
                if let Some(reporter) = &mut reporter {
                    reporter.failed(&error).await;
                }
                tokio::time::sleep(BACKOFF.delay(failures)).await;
            }
        }
    }
}

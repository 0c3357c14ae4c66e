//! The watches: each a task that tells its news, and goes on by itself when the server was away.

mod names;

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::core::{DeserializeGuard, PartialObjectMeta};
use kube::runtime::watcher::{self, Config, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt as _};
use outrigger_api::plugin::Plugin;
use outrigger_api::repository::Repository;
use outrigger_release::ExistenceCache;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::Sender;
use tokio::task::AbortHandle;

use crate::backoff::Backoff;
use crate::news::{self, News, Sight};
use crate::objects::{Kind, Place};
use crate::references::Source;
use crate::watches::names::Names;

/// The label of objects of releases.
const MANAGED: &str = "app.kubernetes.io/managed-by";
const HELM: &str = "Helm";

/// The object with the settings for all plugins.
pub(crate) const DEFAULTS_NAMESPACE: &str = "outrigger-system";
pub(crate) const DEFAULTS_NAME: &str = "outrigger-defaults";
const DEFAULTS_REGISTRY: &str = "imageRegistry";

/// Kinds of which nothing is to know but whether they are there.
const PLAIN: &[(&str, &str)] = &[
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

/// How often a server that does not answer is asked again.
const AWAY: Backoff = Backoff {
    first: Duration::from_millis(200),
    longest: Duration::from_secs(2),
};

/// A task that ends with its owner.
#[derive(Debug)]
pub(crate) struct Watch(AbortHandle);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Starts a task that ends when what is given back is dropped.
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) -> Watch {
    Watch(tokio::spawn(task).abort_handle())
}

/// Watches plugins of a namespace, or of all.
pub(crate) fn plugins(client: Client, namespace: Option<String>, news: Sender<News>) -> Watch {
    let api: Api<DeserializeGuard<Plugin>> = match &namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    };
    spawn(follow(
        "plugins",
        watcher(api, Config::default()),
        news,
        move |event| {
            let event = readable(event)?;
            Some(News::Plugin(namespace.clone(), event))
        },
    ))
}

/// A plugin that cannot be read is left alone: its definition is not ours.
fn readable(event: Event<DeserializeGuard<Plugin>>) -> Option<Event<Box<Plugin>>> {
    let event = match event {
        Event::Apply(DeserializeGuard(Err(bad)))
        | Event::InitApply(DeserializeGuard(Err(bad)))
        | Event::Delete(DeserializeGuard(Err(bad))) => {
            tracing::warn!(plugin = ?bad.metadata.name, error = bad.error, "a plugin cannot be read");
            return None;
        }
        event => news::map(event, |DeserializeGuard(plugin)| plugin.ok().map(Box::new)),
    };
    Some(match event {
        Event::Apply(plugin) => Event::Apply(slim(plugin?)),
        Event::Delete(plugin) => Event::Delete(slim(plugin?)),
        Event::InitApply(plugin) => Event::InitApply(slim(plugin?)),
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
    })
}

/// Who owns which field of a plugin is of no use here, and the larger half of it.
fn slim(mut plugin: Box<Plugin>) -> Box<Plugin> {
    plugin.metadata.managed_fields = None;
    plugin
}

/// Watches the versions of sources of values in a namespace.
pub(crate) fn references(
    client: Client,
    source: Source,
    namespace: String,
    news: Sender<News>,
) -> Watch {
    match source {
        Source::ConfigMap => versions::<ConfigMap>(client, source, namespace, news),
        Source::Secret => versions::<Secret>(client, source, namespace, news),
    }
}

fn versions<K>(client: Client, source: Source, namespace: String, news: Sender<News>) -> Watch
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
    spawn(follow("sources of values", events, news, move |event| {
        let event = news::map(event, |object| {
            let version = object.resource_version().unwrap_or_default();
            (object.name_any(), version)
        });
        Some(News::Reference(source, namespace.clone(), event))
    }))
}

/// Watches objects of a kind that belong to releases. With rules of users, even plain kinds are looked at as a whole.
/// Of plain kinds all names are told to `presence`.
pub(crate) fn objects(
    client: impl Future<Output = Option<Client>> + Send + 'static,
    place: Place,
    kind: Kind,
    has_rules: bool,
    presence: Option<Arc<ExistenceCache>>,
    news: Sender<News>,
) -> Watch {
    spawn(async move {
        let Some(client) = client.await else { return };
        let resource = resource(&client, &kind).await;
        let managed = Config::default().labels(&format!("{MANAGED}={HELM}"));
        let is_plain = PLAIN.contains(&(kind.api_version.as_str(), kind.kind.as_str()));
        let is_plain = is_plain && !has_rules;
        let name = kind.kind.clone();
        if is_plain {
            let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(client, &resource);
            let config = if presence.is_some() {
                Config::default()
            } else {
                managed
            };
            let events = watcher(api, config);
            let names = Names::new(presence, kind.clone());
            follow(&name, events, news, move |event| {
                let event = names.managed(event)?;
                let event = news::map(event, |object| Sight::of(&object.metadata, None));
                Some(News::Object(place.clone(), kind.clone(), Box::new(event)))
            })
            .await;
        } else {
            let api: Api<DynamicObject> = Api::all_with(client, &resource);
            let events = watcher(api, managed);
            follow(&name, events, news, move |event| {
                let event = news::map(event, |object| whole(object, &kind));
                Some(News::Object(place.clone(), kind.clone(), Box::new(event)))
            })
            .await;
        }
    })
}

/// Where a kind is served. It is asked for until it is: its definition may just have been made.
async fn resource(client: &Client, kind: &Kind) -> ApiResource {
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
                tracing::debug!(%error, kind = kind.kind, "a kind is not found");
                tokio::time::sleep(AWAY.pause(failures)).await;
            }
        }
    }
}

/// An object with all that its health may depend on.
fn whole(mut object: DynamicObject, kind: &Kind) -> Sight {
    let mut sight = Sight::of(&object.metadata, None);
    object.metadata.managed_fields = None;
    let mut value = serde_json::to_value(&object).unwrap_or_default();
    value["apiVersion"] = kind.api_version.clone().into();
    value["kind"] = kind.kind.clone().into();
    sight.object = Some(value);
    sight
}

/// Watches the settings for all plugins.
pub(crate) fn defaults(client: Client, news: Sender<News>) -> Watch {
    let api: Api<ConfigMap> = Api::namespaced(client, DEFAULTS_NAMESPACE);
    let config = Config::default().fields(&format!("metadata.name={DEFAULTS_NAME}"));
    let mut is_listed = false;
    spawn(follow(
        "defaults",
        watcher(api, config),
        news,
        move |event| match event {
            Event::Apply(map) | Event::InitApply(map) => {
                is_listed = true;
                Some(News::Defaults(registry(&map)))
            }
            Event::Delete(_) => Some(News::Defaults(None)),
            Event::Init => {
                is_listed = false;
                None
            }
            Event::InitDone => (!is_listed).then_some(News::Defaults(None)),
        },
    ))
}

pub(crate) fn registry(map: &ConfigMap) -> Option<String> {
    let registry = map.data.as_ref()?.get(DEFAULTS_REGISTRY)?.trim();
    (!registry.is_empty()).then(|| registry.to_owned())
}

/// Watches repositories into a table that others read.
pub(crate) fn repositories(
    client: Client,
    table: crate::sources::Repositories,
    news: Sender<News>,
) -> Watch {
    let api: Api<Repository> = Api::all(client);
    let mut listing = HashMap::new();
    spawn(follow(
        "repositories",
        watcher(api, Config::default()),
        news,
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
            Some(News::Repositories)
        },
    ))
}

/// Tells the events of a watch. Errors are waited out; the watch then starts anew where it can.
async fn follow<K>(
    name: &str,
    events: impl Stream<Item = watcher::Result<Event<K>>>,
    news: Sender<News>,
    mut tell: impl FnMut(Event<K>) -> Option<News>,
) {
    let mut events = std::pin::pin!(events);
    let mut failures = 0;
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                failures = 0;
                if let Some(told) = tell(event)
                    && news.send(told).await.is_err()
                {
                    return;
                }
            }
            Err(error) => {
                failures += 1;
                tracing::info!(%error, "the watch of {name} starts anew");
                tokio::time::sleep(AWAY.pause(failures)).await;
            }
        }
    }
}

//! Mirrors objects of KubeGems and TKEStack: each becomes a Plugin or Cluster that it owns, and the status of that is
//! translated back.
//!
//! One mirror per kind, which runs while the CRD of the kind exists. When an object is deleted, the garbage collector of
//! the cluster deletes its mirror object, whose finalizer is removed then. A mirror object that is deleted alone stays, so
//! that nothing is uninstalled.

mod source;

use std::collections::HashMap;
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{self, Config, Event, watcher};
use kube::{Api, Client, Resource, ResourceExt as _};
use outrigger_api::compat::{ForeignKind, MIRRORS, ORIGIN_FINALIZER};
use serde_json::{Value, json};

use crate::backoff::Backoff;
use crate::conditions::format_time;
use crate::key::Key;
use crate::status::{merge_patch, patch_params};
use source::{Source, TkestackCluster};

const FIELD_MANAGER: &str = "outrigger-mirror";

const BACKOFF: Backoff = Backoff {
    initial: Duration::from_millis(200),
    max: Duration::from_secs(10),
};

/// Why an event could not be processed.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("watch failed")]
    Watch(#[from] watcher::Error),
    #[error(transparent)]
    Api(#[from] kube::Error),
}

/// Mirrors all kinds. Never returns.
pub(crate) async fn run(client: Client, now: fn() -> Timestamp) {
    let plugins = ForeignKind::ALL
        .iter()
        .map(|kind| run_while_defined(client.clone(), *kind, now));
    let clusters = run_while_defined(client.clone(), TkestackCluster, now);
    futures::future::join(futures::future::join_all(plugins), clusters).await;
}

/// Runs the mirror of a kind while its CRD exists.
async fn run_while_defined<S: Source>(client: Client, kind: S, now: fn() -> Timestamp) {
    let resource = kind.resource();
    let name = format!("{}.{}", resource.plural, resource.group);
    let api: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(client.clone());
    let config = Config::default().fields(&format!("metadata.name={name}"));
    let mut events = std::pin::pin!(watcher(api, config));
    let mut failures = 0;
    let mut mirror: Option<futures::future::BoxFuture<'static, ()>> = None;
    loop {
        let event = match mirror.as_mut() {
            None => Some(events.next().await),
            Some(running) => tokio::select! {
                event = events.next() => Some(event),
                () = running => None,
            },
        };
        let Some(event) = event else {
            mirror = None;
            continue;
        };
        match event {
            None => return,
            Some(Ok(Event::Apply(_) | Event::InitApply(_))) => {
                failures = 0;
                if mirror.is_none() {
                    mirror = Some(Box::pin(Mirror::new(client.clone(), kind, now).run()));
                }
            }
            Some(Ok(Event::Delete(_))) => {
                mirror = None;
                // Its objects are deleted with it.
                if let Err(error) = release_all(&client, kind).await {
                    tracing::warn!(%error, kind = resource.kind, "failed to release mirrors");
                }
            }
            Some(Ok(_)) => {}
            Some(Err(_)) => {
                failures += 1;
                tokio::time::sleep(BACKOFF.delay(failures)).await;
            }
        }
    }
}

struct Mirror<S: Source> {
    client: Client,
    kind: S,
    resource: ApiResource,
    now: fn() -> Timestamp,
    objects: HashMap<Key, DynamicObject>,
    mirrors: HashMap<Key, S::Mirror>,
    /// Whether all objects are known.
    has_listed: bool,
    /// The statuses of objects that cannot be mirrored.
    rejected: HashMap<Key, Value>,
}

impl<S: Source> Mirror<S> {
    fn new(client: Client, kind: S, now: fn() -> Timestamp) -> Self {
        Self {
            client,
            kind,
            resource: kind.resource(),
            now,
            objects: HashMap::new(),
            mirrors: HashMap::new(),
            has_listed: false,
            rejected: HashMap::new(),
        }
    }

    async fn run(mut self) {
        let objects: Api<DynamicObject> = Api::all_with(self.client.clone(), &self.resource);
        let mirrors: Api<S::Mirror> = Api::all(self.client.clone());
        let label = format!("{MIRRORS}={}", self.kind.label());
        let mut objects = std::pin::pin!(watcher(objects, Config::default()));
        let mut mirrors = std::pin::pin!(watcher(mirrors, Config::default().labels(&label)));
        let mut failures = 0;
        loop {
            let result = tokio::select! {
                Some(event) = objects.next() => match event {
                    Ok(event) => self.handle_object(event).await,
                    Err(error) => Err(Error::Watch(error)),
                },
                Some(event) = mirrors.next() => match event {
                    Ok(event) => self.handle_mirror(event).await,
                    Err(error) => Err(Error::Watch(error)),
                },
                else => return,
            };
            match result {
                Ok(()) => failures = 0,
                Err(error) => {
                    failures += 1;
                    if let Error::Api(error) = error {
                        tracing::info!(%error, kind = self.resource.kind, "failed to mirror object");
                    }
                    tokio::time::sleep(BACKOFF.delay(failures)).await;
                }
            }
        }
    }

    async fn handle_object(&mut self, event: Event<DynamicObject>) -> Result<(), Error> {
        match event {
            Event::Apply(object) | Event::InitApply(object) => {
                let key = key(&object.metadata);
                let before = self.objects.insert(key.clone(), object);
                let object = &self.objects[&key];
                let has_changed = before.is_none_or(|before| differs(&before, object));
                if has_changed && object.metadata.deletion_timestamp.is_none() {
                    self.apply_mirror(&key).await?;
                }
                self.sync_status(&key).await
            }
            Event::Delete(object) => {
                let key = key(&object.metadata);
                self.objects.remove(&key);
                self.rejected.remove(&key);
                self.release_orphan(&key).await
            }
            Event::Init => Ok(()),
            Event::InitDone => {
                self.has_listed = true;
                let keys: Vec<Key> = self.mirrors.keys().cloned().collect();
                for key in keys {
                    self.release_orphan(&key).await?;
                }
                Ok(())
            }
        }
    }

    /// Lets a mirror be deleted if its object does not exist.
    async fn release_orphan(&self, key: &Key) -> Result<(), Error> {
        match self.mirrors.get(key) {
            Some(mirror) if self.has_listed && !self.objects.contains_key(key) => {
                Ok(release::<S>(&self.client, mirror).await?)
            }
            _ => Ok(()),
        }
    }

    async fn handle_mirror(&mut self, event: Event<S::Mirror>) -> Result<(), Error> {
        match event {
            Event::Apply(mirror) | Event::InitApply(mirror) => {
                let key = key(mirror.meta());
                self.mirrors.insert(key.clone(), mirror);
                self.release_orphan(&key).await?;
                self.sync_status(&key).await
            }
            Event::Delete(mirror) => {
                let key = key(mirror.meta());
                self.mirrors.remove(&key);
                // Deleted although its owner exists: recreate it.
                match self.objects.get(&key) {
                    Some(object) if object.metadata.deletion_timestamp.is_none() => {
                        self.apply_mirror(&key).await?;
                        self.sync_status(&key).await
                    }
                    _ => Ok(()),
                }
            }
            Event::Init | Event::InitDone => Ok(()),
        }
    }

    /// Creates or updates the mirror of an object, or records why that is impossible.
    async fn apply_mirror(&mut self, key: &Key) -> Result<(), Error> {
        self.rejected.remove(key);
        let Some(object) = self.objects.get(key) else {
            return Ok(());
        };
        let value = self.value(object);
        let mut mirror = match self.kind.convert(value.clone()) {
            Ok(mirror) => mirror,
            Err(error) => {
                let now = format_time((self.now)());
                let status = self.kind.rejected_status(&value, &error, &now);
                self.rejected.insert(key.clone(), status);
                return Ok(());
            }
        };
        let metadata = mirror.meta_mut();
        metadata.namespace = Some(key.namespace.clone()).filter(|namespace| !namespace.is_empty());
        metadata.name = Some(key.name.clone());
        metadata.generate_name = None;
        metadata.owner_references = Some(vec![self.owner(object)]);
        metadata.finalizers = Some(vec![ORIGIN_FINALIZER.to_owned()]);
        let labels = metadata.labels.get_or_insert_default();
        labels.insert(MIRRORS.to_owned(), self.kind.label());
        let api = S::api(self.client.clone(), &key.namespace);
        let existing = api.get_opt(&key.name).await?;
        if existing.is_some_and(|existing| !is_owned(&existing, object)) {
            let kind = S::Mirror::kind(&()).to_lowercase();
            let message =
                format!("a {kind} of this name exists and does not belong to this object");
            let status = json!({"phase": "Failed", "message": message});
            self.rejected.insert(key.clone(), status);
            return Ok(());
        }
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        let applied = api
            .patch(&key.name, &parameters, &Patch::Apply(&mirror))
            .await;
        match applied {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(reply)) if reply.code == 422 || reply.code == 400 => {
                let status = json!({"phase": "Failed", "message": reply.message});
                self.rejected.insert(key.clone(), status);
                Ok(())
            }
            Err(error) => Err(Error::Api(error)),
        }
    }

    /// Writes the status of an object: the translated status of its mirror, or why it has none.
    async fn sync_status(&self, key: &Key) -> Result<(), Error> {
        let Some(object) = self.objects.get(key) else {
            return Ok(());
        };
        if let Some(status) = self.rejected.get(key) {
            return self.write_status(key, object, status.clone()).await;
        }
        let mirror = self.mirrors.get(key);
        let Some(mirror) = mirror.filter(|mirror| is_owned(*mirror, object)) else {
            return Ok(());
        };
        let status = self.kind.status(&self.value(object), mirror);
        self.write_status(key, object, status).await
    }

    async fn write_status(
        &self,
        key: &Key,
        object: &DynamicObject,
        status: Value,
    ) -> Result<(), Error> {
        let before = object.data.get("status").cloned();
        let Some(change) = merge_patch(&before.unwrap_or_else(|| json!({})), &status) else {
            return Ok(());
        };
        let client = self.client.clone();
        let api: Api<DynamicObject> = if key.namespace.is_empty() {
            Api::all_with(client, &self.resource)
        } else {
            Api::namespaced_with(client, &key.namespace, &self.resource)
        };
        let parameters = patch_params(FIELD_MANAGER);
        let patch = Patch::Merge(json!({"status": change}));
        match api.patch_status(&key.name, &parameters, &patch).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(reply)) if reply.code == 404 => Ok(()),
            Err(error) => Err(Error::Api(error)),
        }
    }

    fn owner(&self, object: &DynamicObject) -> OwnerReference {
        OwnerReference {
            api_version: self.resource.api_version.clone(),
            kind: self.resource.kind.clone(),
            name: object.name_any(),
            uid: object.uid().unwrap_or_default(),
            controller: Some(true),
            block_owner_deletion: None,
        }
    }

    fn value(&self, object: &DynamicObject) -> Value {
        let mut object = object.clone();
        object.metadata.managed_fields = None;
        let mut value = serde_json::to_value(&object).unwrap_or_default();
        value["apiVersion"] = self.resource.api_version.clone().into();
        value["kind"] = self.resource.kind.clone().into();
        value
    }
}

/// Removes the finalizer of a mirror.
async fn release<S: Source>(client: &Client, mirror: &S::Mirror) -> Result<(), kube::Error> {
    let mut finalizers = mirror.finalizers().to_vec();
    if !finalizers.iter().any(|name| name == ORIGIN_FINALIZER) {
        return Ok(());
    }
    finalizers.retain(|name| name != ORIGIN_FINALIZER);
    let version = mirror.resource_version();
    let patch = json!({"metadata": {"resourceVersion": version, "finalizers": finalizers}});
    let key = key(mirror.meta());
    let api = S::api(client.clone(), &key.namespace);
    let (parameters, patch) = (patch_params(FIELD_MANAGER), Patch::Merge(&patch));
    match api.patch(&key.name, &parameters, &patch).await {
        // A conflict means that the watch reports the mirror again.
        Err(kube::Error::Api(reply)) if reply.code == 404 || reply.code == 409 => Ok(()),
        released => released.map(drop),
    }
}

/// Removes the finalizers of all mirrors of a kind.
async fn release_all<S: Source>(client: &Client, kind: S) -> Result<(), kube::Error> {
    let api: Api<S::Mirror> = Api::all(client.clone());
    let parameters = ListParams::default().labels(&format!("{MIRRORS}={}", kind.label()));
    for mirror in api.list(&parameters).await? {
        release::<S>(client, &mirror).await?;
    }
    Ok(())
}

fn key(metadata: &kube::api::ObjectMeta) -> Key {
    Key::new(
        metadata.namespace.clone().unwrap_or_default(),
        metadata.name.clone().unwrap_or_default(),
    )
}

/// Whether an object changed in what its mirror is made from.
fn differs(before: &DynamicObject, after: &DynamicObject) -> bool {
    let parts = |object: &DynamicObject| {
        let metadata = object.metadata.clone();
        (metadata.generation, metadata.labels, metadata.annotations)
    };
    parts(before) != parts(after)
}

fn is_owned<K: Resource>(mirror: &K, object: &DynamicObject) -> bool {
    let owners = mirror.owner_references().iter();
    let uid = object.uid().unwrap_or_default();
    owners.into_iter().any(|owner| owner.uid == uid)
}

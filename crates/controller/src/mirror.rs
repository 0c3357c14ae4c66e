//! Objects of KubeGems and TKEStack, mirrored: each becomes a Plugin that it owns, and gets its status back.
//!
//! One task for each kind. It waits until the kind is defined, and stops when the definition goes. The Plugin goes with
//! its owner, by the garbage collector of the cluster.

use std::collections::HashMap;
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::compat::Foreign;
use outrigger_api::plugin::Plugin;
use serde_json::{Value, json};

use crate::backoff::Backoff;
use crate::conditions::time_text;
use crate::key::Key;
use crate::status::difference;

const MANAGER: &str = "outrigger-mirror";

/// On the plugins of a mirror: of which kind it is.
const LABEL: &str = "outrigger.dev/mirrors";

const AWAY: Backoff = Backoff {
    first: Duration::from_millis(200),
    longest: Duration::from_secs(10),
};

/// Mirrors all kinds, for as long as it is polled.
pub(crate) async fn run(client: Client, now: fn() -> Timestamp) {
    let mirrors = Foreign::ALL
        .iter()
        .map(|kind| follow_definition(client.clone(), *kind, now));
    futures::future::join_all(mirrors).await;
}

/// Mirrors a kind as long as it is defined.
async fn follow_definition(client: Client, kind: Foreign, now: fn() -> Timestamp) {
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
            Some(Ok(Event::Delete(_))) => mirror = None,
            Some(Ok(_)) => {}
            Some(Err(_)) => {
                failures += 1;
                tokio::time::sleep(AWAY.pause(failures)).await;
            }
        }
    }
}

struct Mirror {
    client: Client,
    kind: Foreign,
    resource: ApiResource,
    now: fn() -> Timestamp,
    objects: HashMap<Key, DynamicObject>,
    plugins: HashMap<Key, Plugin>,
}

impl Mirror {
    fn new(client: Client, kind: Foreign, now: fn() -> Timestamp) -> Self {
        Self {
            client,
            kind,
            resource: kind.resource(),
            now,
            objects: HashMap::new(),
            plugins: HashMap::new(),
        }
    }

    async fn run(mut self) {
        let objects: Api<DynamicObject> = Api::all_with(self.client.clone(), &self.resource);
        let plugins: Api<Plugin> = Api::all(self.client.clone());
        let label = format!("{LABEL}={}", self.label());
        let mut objects = std::pin::pin!(watcher(objects, Config::default()));
        let mut plugins = std::pin::pin!(watcher(plugins, Config::default().labels(&label)));
        let mut failures = 0;
        loop {
            let result = tokio::select! {
                Some(event) = objects.next() => match event {
                    Ok(event) => self.take_object(event).await,
                    Err(_) => Err(None),
                },
                Some(event) = plugins.next() => match event {
                    Ok(event) => self.take_plugin(event).await,
                    Err(_) => Err(None),
                },
                else => return,
            };
            match result {
                Ok(()) => failures = 0,
                Err(error) => {
                    failures += 1;
                    if let Some(error) = error {
                        tracing::info!(%error, kind = self.resource.kind, "an object was not mirrored");
                    }
                    tokio::time::sleep(AWAY.pause(failures)).await;
                }
            }
        }
    }

    /// A label value for the kind.
    fn label(&self) -> String {
        format!("{}.{}", self.resource.plural, self.resource.group)
    }

    async fn take_object(
        &mut self,
        event: Event<DynamicObject>,
    ) -> Result<(), Option<kube::Error>> {
        match event {
            Event::Apply(object) | Event::InitApply(object) => {
                let key = key(&object.metadata);
                let before = self.objects.insert(key.clone(), object);
                let generation = before
                    .as_ref()
                    .and_then(|before| before.metadata.generation);
                let object = &self.objects[&key];
                let is_new = before.is_none() || generation != object.metadata.generation;
                if is_new && object.metadata.deletion_timestamp.is_none() {
                    self.mirror(&key).await?;
                }
                self.give_back(&key).await
            }
            Event::Delete(object) => {
                self.objects.remove(&key(&object.metadata));
                Ok(())
            }
            Event::Init | Event::InitDone => Ok(()),
        }
    }

    async fn take_plugin(&mut self, event: Event<Plugin>) -> Result<(), Option<kube::Error>> {
        match event {
            Event::Apply(plugin) | Event::InitApply(plugin) => {
                let key = Key::of(&plugin);
                self.plugins.insert(key.clone(), plugin);
                self.give_back(&key).await
            }
            Event::Delete(plugin) => {
                let key = Key::of(&plugin);
                self.plugins.remove(&key);
                // Somebody removed it though its owner is there: it comes back.
                match self.objects.get(&key) {
                    Some(object) if object.metadata.deletion_timestamp.is_none() => {
                        self.mirror(&key).await
                    }
                    _ => Ok(()),
                }
            }
            Event::Init | Event::InitDone => Ok(()),
        }
    }

    /// Makes or changes the plugin of an object.
    async fn mirror(&self, key: &Key) -> Result<(), Option<kube::Error>> {
        let Some(object) = self.objects.get(key) else {
            return Ok(());
        };
        let value = self.value(object);
        let mut plugin = match self.kind.convert(value.clone()) {
            Ok(plugin) => plugin,
            Err(error) => {
                let now = time_text((self.now)());
                let status = self.kind.refusal(&value, &error, &now);
                return self.write(key, object, status).await;
            }
        };
        plugin.metadata.namespace = Some(key.namespace.clone());
        plugin.metadata.name = Some(key.name.clone());
        plugin.metadata.owner_references = Some(vec![self.owner(object)]);
        plugin.labels_mut().insert(LABEL.to_owned(), self.label());
        plugin.status = None;
        let api: Api<Plugin> = Api::namespaced(self.client.clone(), &key.namespace);
        let present = api.get_opt(&key.name).await.map_err(Some)?;
        if present.is_some_and(|present| !is_owned(&present, object)) {
            let message = "there is another plugin of this name already";
            let status = json!({"phase": "Failed", "message": message});
            return self.write(key, object, status).await;
        }
        let parameters = PatchParams::apply(MANAGER).force();
        let applied = api
            .patch(&key.name, &parameters, &Patch::Apply(&plugin))
            .await;
        match applied {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(reply)) if reply.code == 422 || reply.code == 400 => {
                let status = json!({"phase": "Failed", "message": reply.message});
                self.write(key, object, status).await
            }
            Err(error) => Err(Some(error)),
        }
    }

    /// Tells an object what became of its plugin.
    async fn give_back(&self, key: &Key) -> Result<(), Option<kube::Error>> {
        let (Some(object), Some(plugin)) = (self.objects.get(key), self.plugins.get(key)) else {
            return Ok(());
        };
        if !is_owned(plugin, object) {
            return Ok(());
        }
        let status = self.kind.status(&self.value(object), plugin);
        self.write(key, object, status).await
    }

    async fn write(
        &self,
        key: &Key,
        object: &DynamicObject,
        status: Value,
    ) -> Result<(), Option<kube::Error>> {
        let before = object.data.get("status").cloned();
        let Some(change) = difference(&before.unwrap_or_else(|| json!({})), &status) else {
            return Ok(());
        };
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), &key.namespace, &self.resource);
        let parameters = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(json!({"status": change}));
        match api.patch_status(&key.name, &parameters, &patch).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(reply)) if reply.code == 404 => Ok(()),
            Err(error) => Err(Some(error)),
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

fn key(metadata: &kube::api::ObjectMeta) -> Key {
    Key::new(
        metadata.namespace.clone().unwrap_or_default(),
        metadata.name.clone().unwrap_or_default(),
    )
}

fn is_owned(plugin: &Plugin, object: &DynamicObject) -> bool {
    let owners = plugin.owner_references().iter();
    let uid = object.uid().unwrap_or_default();
    owners.into_iter().any(|owner| owner.uid == uid)
}

//! Applies watch events to the index and enqueues the plugins that they affect.

use std::collections::{BTreeSet, HashMap};

use kube::runtime::watcher::Event;
use outrigger_api::plugin::Plugin;
use outrigger_release::health::{self, Health};

use super::{Controller, WorkItem};
use crate::health_rules;
use crate::index::Enqueued;
use crate::key::Key;
use crate::lifecycle::is_superseded;
use crate::objects::{Kind, ObjectHealth, ObjectName, ObservedObject};
use crate::references::{Reference, ReferenceKind};
use crate::release_ref::{ClusterRef, ReleaseRef};
use crate::watch_event::{WatchEvent, WatchedObject};

impl Controller {
    pub(super) fn handle_event(&mut self, event: WatchEvent) {
        match event {
            WatchEvent::Plugin(namespace, event) => self.handle_plugin(namespace, event),
            WatchEvent::Reference(kind, namespace, event) => {
                self.handle_reference(kind, &namespace, event);
            }
            WatchEvent::Object(cluster, kind, event) => {
                self.handle_object(&cluster, &kind, *event);
            }
            WatchEvent::WatchFailing(cluster, kind, error) => {
                if self.index.objects.set_failing(&cluster, &kind, error) {
                    let enqueued = self.index.plugins_of(&cluster);
                    self.enqueue(enqueued);
                }
            }
            WatchEvent::Defaults(registry) => {
                self.have_defaults_synced = true;
                if self.ctx.set_cluster_registry(registry) {
                    self.enqueue_all();
                }
            }
            WatchEvent::Repositories => {
                self.have_repositories_synced = true;
                self.ctx.resolutions.retain(|_| false);
                self.index.drop_cached_digests();
                self.enqueue_all();
            }
            WatchEvent::TaskWaiting(key) => self.queue.free_slot(&WorkItem::Plugin(key)),
            WatchEvent::ResolutionChanged(key) => self.queue.add(WorkItem::Plugin(key)),
            WatchEvent::Cluster(event) => self.handle_cluster(event),
            WatchEvent::Machine(event) => self.handle_machine(event),
            WatchEvent::AttemptEnded(cluster) => self.enqueue_cluster(&cluster),
        }
    }

    fn handle_plugin(&mut self, namespace: Option<String>, event: Event<Box<Plugin>>) {
        match event {
            Event::Init => {
                self.plugin_listings.insert(namespace, BTreeSet::new());
            }
            Event::InitApply(plugin) => {
                let listing = self.plugin_listings.entry(namespace).or_default();
                listing.insert(Key::of(&plugin));
                self.apply_plugin(*plugin);
            }
            Event::InitDone => {
                let listing = self.plugin_listings.remove(&namespace);
                self.unsynced_namespaces.remove(&namespace);
                self.replace_plugins(namespace.as_deref(), listing.unwrap_or_default());
            }
            Event::Apply(plugin) => self.apply_plugin(*plugin),
            Event::Delete(plugin) => {
                let key = Key::of(&plugin);
                self.ctx.resolutions.cancel(&key);
                let enqueued = self.index.delete(&key);
                self.enqueue(enqueued);
            }
        }
    }

    /// Deletes the plugins of the namespace, or of all, that are not in the completed list.
    fn replace_plugins(&mut self, namespace: Option<&str>, mut listed: BTreeSet<Key>) {
        if let Some(namespace) = namespace {
            let others = self.index.keys();
            listed.extend(others.filter(|key| key.namespace != namespace).cloned());
        }
        self.ctx.resolutions.retain(|key| listed.contains(key));
        let enqueued = self.index.retain(&listed);
        self.enqueue(enqueued);
        // The server may have been unreachable: plugins in backoff retry now.
        self.enqueue_all();
        self.watch_all_objects();
        self.watch_references();
    }

    fn apply_plugin(&mut self, plugin: Plugin) {
        let key = Key::of(&plugin);
        let before = self.index.plugin(&key).cloned();
        let rules_before = before.as_ref().map(|before| before.spec.health.as_slice());
        let rules_before = rules_before.unwrap_or_default();
        let changed_rules: Vec<Kind> = if rules_before == plugin.spec.health {
            Vec::new()
        } else {
            let rules = rules_before.iter().chain(&plugin.spec.health);
            rules.map(Kind::of_rule).collect()
        };
        let uid = plugin.metadata.uid.clone();
        let enqueued = self.index.apply(plugin);
        if let (Some(before), Some(after)) = (&before, self.index.plugin(&key))
            && is_superseded(before, after)
            && let Some(superseded) = self.superseded.get(&key)
        {
            superseded.send_replace(true);
        }
        self.enqueue(enqueued);
        match before.filter(|before| before.metadata.uid == uid) {
            None => self.index.drop_edited_status(&key),
            // The watch may report the writes of a running task before the task ends.
            Some(_) if self.superseded.contains_key(&key) => {}
            Some(before) => {
                if self.index.keep_status(&key, before.status.as_ref()) {
                    self.enqueue(Enqueued::from([key]));
                }
            }
        }
        if self.has_synced() {
            self.watch_references();
        }
        if !changed_rules.is_empty() {
            self.restart_object_watches(&changed_rules);
        }
    }

    fn handle_reference(
        &mut self,
        kind: ReferenceKind,
        namespace: &str,
        event: Event<(String, String)>,
    ) {
        let scope = (kind, namespace.to_owned());
        let reference = |name: String| Reference {
            kind,
            namespace: namespace.to_owned(),
            name,
        };
        let references = &mut self.index.references;
        let enqueued: Enqueued = match event {
            Event::Init => {
                self.reference_listings.insert(scope, HashMap::new());
                return;
            }
            Event::InitApply((name, version)) => {
                let listing = self.reference_listings.entry(scope).or_default();
                listing.insert(name, version);
                return;
            }
            Event::InitDone => {
                let listing = self.reference_listings.remove(&scope).unwrap_or_default();
                references.observe_list(kind, namespace, &listing)
            }
            Event::Apply((name, version)) => {
                let enqueued = references.observe(&reference(name), Some(&version));
                enqueued.into_iter().collect()
            }
            Event::Delete((name, _)) => {
                let enqueued = references.observe(&reference(name), None);
                enqueued.into_iter().collect()
            }
        };
        self.ctx.resolutions.retain(|key| !enqueued.contains(key));
        self.restart_remote_watches(&enqueued);
        self.enqueue(enqueued);
    }

    fn handle_object(&mut self, cluster: &ClusterRef, kind: &Kind, event: Event<WatchedObject>) {
        let releases = match event {
            Event::Init => {
                self.index.objects.start_listing(cluster, kind);
                return;
            }
            Event::InitApply(object) => {
                let (name, object) = self.observe_object(cluster, object);
                self.index.objects.add_listed(cluster, kind, name, object);
                return;
            }
            Event::InitDone => {
                let enqueued = self.index.finish_listing(cluster, kind);
                return self.enqueue(enqueued);
            }
            Event::Apply(object) => {
                let (name, object) = self.observe_object(cluster, object);
                self.index.objects.apply(cluster, kind, name, object)
            }
            Event::Delete(object) => self.index.objects.delete(cluster, kind, &object.name),
        };
        let enqueued = self.index.owners(&releases);
        self.enqueue(enqueued);
    }

    /// Assesses the health of an object by the rules of the plugin that it belongs to.
    fn observe_object(
        &self,
        cluster: &ClusterRef,
        watched: WatchedObject,
    ) -> (ObjectName, ObservedObject) {
        let health = match (&watched.object, &watched.release) {
            (Some(object), Some((namespace, name))) => {
                let release = ReleaseRef {
                    cluster: cluster.clone(),
                    namespace: namespace.clone(),
                    name: name.clone(),
                };
                // A plugin with invalid rules is rejected.
                let rules = self
                    .index
                    .owner(&release)
                    .and_then(|plugin| health_rules::compile(plugin).ok())
                    .unwrap_or_default();
                object_health(health::assess(object, &rules))
            }
            _ => ObjectHealth::Healthy,
        };
        let observed = ObservedObject {
            release: watched.release,
            health,
            fields: watched.fields,
            resource_version: watched.resource_version,
            record: watched.record,
        };
        (watched.name, observed)
    }
}

fn object_health(health: Health) -> ObjectHealth {
    match health {
        Health::Current => ObjectHealth::Healthy,
        Health::Failed(message) => ObjectHealth::Failed(message),
        Health::InProgress(message) => ObjectHealth::Progressing(message),
        Health::Terminating => ObjectHealth::Progressing("is being deleted".to_owned()),
        Health::NotFound => ObjectHealth::Failed("is missing".to_owned()),
    }
}

//! What is watched: the kinds of objects that plugins added, and the namespaces that they take values from.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Engine;
use crate::act;
use crate::key::Key;
use crate::objects::{Kind, Place};
use crate::watches;
use crate::world::{self, Woken};

impl Engine {
    pub(super) fn watch_objects(&mut self, key: &Key) {
        let Some((place, inventory)) = self.world.inventory(key) else {
            return;
        };
        let new: BTreeSet<(Place, Kind)> = inventory
            .iter()
            .map(|entry| (place.clone(), Kind::of(entry)))
            .filter(|watched| !self.object_watches.contains_key(watched))
            .collect();
        self.start_object_watches(new);
    }

    pub(super) fn watch_all_objects(&mut self) {
        let new = self.used_kinds();
        self.start_object_watches(new);
    }

    fn used_kinds(&self) -> BTreeSet<(Place, Kind)> {
        let inventories = self.world.inventories();
        inventories
            .flat_map(|(place, inventory)| {
                let kinds: BTreeSet<Kind> = inventory.iter().map(Kind::of).collect();
                kinds.into_iter().map(move |kind| (place.clone(), kind))
            })
            .collect()
    }

    fn start_object_watches(&mut self, kinds: BTreeSet<(Place, Kind)>) {
        for (place, kind) in kinds {
            let slot = (place.clone(), kind.clone());
            let has_rules = self.world.has_rules_for(&kind);
            let (ctx, where_) = (Arc::clone(&self.ctx), place.clone());
            self.object_watches.entry(slot).or_insert_with(|| {
                let news = ctx.news.clone();
                let presence = ctx.targets.presence(&where_);
                let client = async move { act::watching_client(&ctx, &where_).await };
                watches::objects(client, place, kind, has_rules, presence, news)
            });
        }
    }

    pub(super) fn watch_sources(&mut self) {
        for (source, namespace) in self.world.references.places() {
            let slot = (source, namespace.clone());
            let ctx = &self.ctx;
            self.source_watches.entry(slot).or_insert_with(|| {
                watches::references(ctx.client.clone(), source, namespace, ctx.news.clone())
            });
        }
    }

    /// Ends watches that nobody needs.
    pub(super) fn tidy_watches(&mut self) {
        let used = self.used_kinds();
        let objects = &mut self.world.objects;
        self.object_watches.retain(|slot, _| {
            let is_used = used.contains(slot);
            if !is_used {
                objects.forget(&slot.0, &slot.1);
            }
            is_used
        });
        let places = self.world.references.places();
        self.source_watches.retain(|slot, _| places.contains(slot));
    }

    /// The ways to other clusters may have changed with the Secrets that these plugins read: they are taken anew.
    pub(super) fn renew_watches(&mut self, plugins: &Woken) {
        let places: BTreeSet<Place> = plugins
            .iter()
            .filter_map(|key| self.world.plugin(key))
            .map(|plugin| world::place(plugin))
            .filter(|place| *place != Place::Here)
            .collect();
        if places.is_empty() {
            return;
        }
        self.object_watches
            .retain(|(place, _), _| !places.contains(place));
        self.watch_all_objects();
    }

    /// Lists the objects of a plugin anew, because it has other rules for their health.
    pub(super) fn judge_anew(&mut self, key: &Key) {
        let Some((place, inventory)) = self.world.inventory(key) else {
            return;
        };
        let slots: BTreeSet<(Place, Kind)> = inventory
            .iter()
            .map(|entry| (place.clone(), Kind::of(entry)))
            .collect();
        self.object_watches.retain(|slot, _| !slots.contains(slot));
        self.start_object_watches(slots);
    }
}

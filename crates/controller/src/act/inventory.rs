//! The inventory of a plugin: the objects that its release installed, as the status lists them.

use std::collections::{HashMap, HashSet};

use outrigger_api::plugin::InventoryEntry;
use outrigger_release::{Object, ObjectId, Outcome};

use crate::digest;
use crate::observed::object_text;
use crate::watch_event::parse_resource_version;
use crate::watches::is_metadata_only;

/// The objects to be applied.
pub(super) fn planned(objects: &[Object]) -> Vec<InventoryEntry> {
    let entries = objects.iter();
    entries
        .map(|object| entry(object.id(), object.is_kept(), None))
        .collect()
}

/// The applied objects, and their resource versions.
pub(super) fn applied(outcome: &Outcome) -> (Vec<InventoryEntry>, HashMap<InventoryEntry, u64>) {
    let mut resource_versions = HashMap::new();
    let entries = outcome.inventory.iter().map(|object| {
        let id = &object.object;
        let state = if is_metadata_only(&id.api_version, &id.kind) {
            &object.fields
        } else {
            &object.values
        };
        let fields = state.as_ref().map(digest::short);
        let entry = entry(&object.object, object.keep, fields);
        if let Some(version) = &object.resource_version {
            resource_versions.insert(entry.clone(), parse_resource_version(Some(version)));
        }
        entry
    });
    (entries.collect(), resource_versions)
}

/// Adds the applied objects that the inventory does not list.
pub(crate) fn merge(inventory: &mut Vec<InventoryEntry>, applied: Vec<InventoryEntry>) {
    let listed: HashSet<ObjectId> = inventory.iter().map(object_id).collect();
    let new = applied
        .into_iter()
        .filter(|entry| !listed.contains(&object_id(entry)));
    inventory.extend(new);
}

pub(super) fn object_id(entry: &InventoryEntry) -> ObjectId {
    ObjectId {
        api_version: entry.api_version.clone(),
        kind: entry.kind.clone(),
        namespace: entry.namespace.clone(),
        name: entry.name.clone(),
    }
}

/// Names the first objects, and the number of the others.
pub(crate) fn summary(inventory: &[InventoryEntry]) -> String {
    const MAX_NAMED: usize = 10;
    let names: Vec<String> = inventory
        .iter()
        .take(MAX_NAMED)
        .map(|entry| object_text(&entry.kind, entry.namespace.as_deref(), &entry.name))
        .collect();
    let mut text = names.join(", ");
    if inventory.len() > MAX_NAMED {
        text.push_str(&format!(" and {} more", inventory.len() - MAX_NAMED));
    }
    text
}

pub(super) fn entry(id: &ObjectId, keep: bool, fields: Option<String>) -> InventoryEntry {
    InventoryEntry {
        api_version: id.api_version.clone(),
        kind: id.kind.clone(),
        namespace: id.namespace.clone(),
        name: id.name.clone(),
        keep,
        fields,
    }
}

//! What a plugin added, as its status keeps it.

use std::collections::{HashMap, HashSet};

use outrigger_api::plugin::InventoryEntry;
use outrigger_release::{Object, ObjectId, Outcome};

use crate::digest;
use crate::facts::object_text;
use crate::news::version_number;

/// The objects that are about to be applied.
pub(super) fn planned(objects: &[Object]) -> Vec<InventoryEntry> {
    let entries = objects.iter();
    entries
        .map(|object| entry(object.id(), object.is_kept(), None))
        .collect()
}

/// The objects that were applied, and the versions that they have now.
pub(super) fn after(outcome: &Outcome) -> (Vec<InventoryEntry>, HashMap<InventoryEntry, u64>) {
    let mut versions = HashMap::new();
    let entries = outcome.inventory.iter().map(|one| {
        let fields = one.fields.as_ref().map(digest::short);
        let entry = entry(&one.object, one.keep, fields);
        if let Some(version) = &one.resource_version {
            versions.insert(entry.clone(), version_number(Some(version)));
        }
        entry
    });
    (entries.collect(), versions)
}

/// Adds what may be there too.
pub(super) fn unite(inventory: &mut Vec<InventoryEntry>, planned: Vec<InventoryEntry>) {
    let known: HashSet<ObjectId> = inventory.iter().map(object_id).collect();
    let new = planned
        .into_iter()
        .filter(|entry| !known.contains(&object_id(entry)));
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

/// The first few objects in words, and how many more there are.
pub(super) fn text(inventory: &[InventoryEntry]) -> String {
    const SHOWN: usize = 10;
    let names: Vec<String> = inventory
        .iter()
        .take(SHOWN)
        .map(|entry| object_text(&entry.kind, entry.namespace.as_deref(), &entry.name))
        .collect();
    let mut text = names.join(", ");
    if inventory.len() > SHOWN {
        text.push_str(&format!(" and {} more", inventory.len() - SHOWN));
    }
    text
}

fn entry(id: &ObjectId, keep: bool, fields: Option<String>) -> InventoryEntry {
    InventoryEntry {
        api_version: id.api_version.clone(),
        kind: id.kind.clone(),
        namespace: id.namespace.clone(),
        name: id.name.clone(),
        keep,
        fields,
    }
}

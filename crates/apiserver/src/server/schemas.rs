//! A cache of schemas and field managers by kind and subresource.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use outrigger_builtin::kinds::{Custom, Kind, Kinds};
use outrigger_structural::merge::{self, FieldManager, reset_fields};
use outrigger_structural::schema::{Schema, builtin};

/// The schema and the field manager of a resource or subresource.
#[derive(Debug)]
pub(crate) struct ResourceSchema {
    pub(crate) schema: Schema,
    pub(crate) manager: FieldManager,
}

#[derive(Debug)]
struct Entry {
    custom: Option<Arc<Custom>>,
    schema: Arc<ResourceSchema>,
}

/// Entries are created on first use.
#[derive(Debug, Default)]
pub(crate) struct SchemaCache {
    entries: RwLock<HashMap<String, Entry>>,
}

impl SchemaCache {
    pub(crate) fn get(&self, kinds: &Kinds, kind: &Kind, subresource: &str) -> Arc<ResourceSchema> {
        let id = id(kind, subresource);
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get(&id).filter(|entry| entry.is_for(kind)) {
            return Arc::clone(&entry.schema);
        }
        drop(entries);
        let schema = Arc::new(build(kinds, kind, subresource));
        let entry = Entry {
            custom: kind.custom.clone(),
            schema: Arc::clone(&schema),
        };
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.insert(id, entry);
        schema
    }

    /// Whether the entry exists. Creating one compiles all patterns and rules of a definition.
    pub(crate) fn has(&self, kind: &Kind, subresource: &str) -> bool {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.get(&id(kind, subresource));
        entry.is_some_and(|entry| entry.is_for(kind))
    }

    /// Removes the kinds of a definition.
    pub(crate) fn remove(&self, definition: &str) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|_, entry| {
            let custom = entry.custom.as_ref();
            custom.is_none_or(|custom| custom.definition != definition)
        });
    }
}

fn id(kind: &Kind, subresource: &str) -> String {
    let Kind {
        group,
        version,
        kind,
        ..
    } = kind;
    format!("{group}/{version}/{kind}/{subresource}")
}

impl Entry {
    fn is_for(&self, kind: &Kind) -> bool {
        match (&self.custom, &kind.custom) {
            (None, None) => true,
            (Some(cached), Some(current)) => Arc::ptr_eq(cached, current),
            _ => false,
        }
    }
}

fn build(kinds: &Kinds, kind: &Kind, subresource: &str) -> ResourceSchema {
    let api_version = kind.api_version();
    let mut schemas: BTreeMap<String, Schema> = BTreeMap::new();
    let reset = if kind.custom.is_some() {
        let group = kinds.group(&kind.group);
        let versions = group.into_iter().flat_map(|group| &group.versions);
        for sibling in versions.flat_map(|version| &version.kinds) {
            if sibling.kind == kind.kind {
                schemas.insert(sibling.api_version(), custom_schema(sibling));
            }
        }
        reset_fields::of_custom_resource(kind.has_status(), subresource)
    } else {
        let schema = builtin::schema(&api_version, &kind.kind);
        schemas.insert(
            api_version.clone(),
            schema.cloned().unwrap_or_else(Schema::untyped),
        );
        reset_fields::of_built_in(&kind.kind, subresource)
    };
    let schema = schemas.get(&api_version).cloned();
    let merged = merge::Kind {
        api_version,
        name: kind.kind.clone(),
        schemas,
    };
    ResourceSchema {
        schema: schema.unwrap_or_else(Schema::untyped),
        manager: FieldManager::new(Arc::new(merged), subresource, reset),
    }
}

fn custom_schema(kind: &Kind) -> Schema {
    let schema = kind.custom.as_ref().map(|custom| &custom.schema);
    let schema = schema.and_then(|schema| Schema::structural(schema).ok());
    schema.unwrap_or_else(Schema::untyped)
}

//! Schemas and field managers of kinds, made when first asked for and kept as long as the kind stays the same.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use outrigger_builtin::kinds::{Custom, Kind, Kinds};
use outrigger_structural::merge::{self, FieldManager, reset_fields};
use outrigger_structural::schema::{Schema, builtin};

/// What writes to one endpoint of a kind need.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) schema: Schema,
    pub(crate) manager: FieldManager,
}

#[derive(Debug)]
struct Entry {
    custom: Option<Arc<Custom>>,
    shape: Arc<Shape>,
}

/// All shapes that were needed so far.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    made: RwLock<HashMap<String, Entry>>,
}

impl Shapes {
    /// The shape of an endpoint: the main one if `subresource` is empty.
    pub(crate) fn get(&self, kinds: &Kinds, kind: &Kind, subresource: &str) -> Arc<Shape> {
        let id = format!(
            "{}/{}/{}/{subresource}",
            kind.group, kind.version, kind.kind
        );
        let made = self.made.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = made.get(&id).filter(|entry| entry.is_of(kind)) {
            return Arc::clone(&entry.shape);
        }
        drop(made);
        let shape = Arc::new(make(kinds, kind, subresource));
        let entry = Entry {
            custom: kind.custom.clone(),
            shape: Arc::clone(&shape),
        };
        let mut made = self.made.write().unwrap_or_else(PoisonError::into_inner);
        made.insert(id, entry);
        shape
    }

    /// Forgets the kinds of a definition.
    pub(crate) fn forget(&self, definition: &str) {
        let mut made = self.made.write().unwrap_or_else(PoisonError::into_inner);
        made.retain(|_, entry| {
            let custom = entry.custom.as_ref();
            custom.is_none_or(|custom| custom.definition != definition)
        });
    }
}

impl Entry {
    fn is_of(&self, kind: &Kind) -> bool {
        match (&self.custom, &kind.custom) {
            (None, None) => true,
            (Some(mine), Some(now)) => Arc::ptr_eq(mine, now),
            _ => false,
        }
    }
}

fn make(kinds: &Kinds, kind: &Kind, subresource: &str) -> Shape {
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
    Shape {
        schema: schema.unwrap_or_else(Schema::untyped),
        manager: FieldManager::new(Arc::new(merged), subresource, reset),
    }
}

fn custom_schema(kind: &Kind) -> Schema {
    let schema = kind.custom.as_ref().map(|custom| &custom.schema);
    let schema = schema.and_then(|schema| Schema::structural(schema).ok());
    schema.unwrap_or_else(Schema::untyped)
}

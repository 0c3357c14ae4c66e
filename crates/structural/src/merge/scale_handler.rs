//! `ScaleHandler`: converts the managed fields of an object to those of its scale subresource and back.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::managed_fields::{self, DecodeError, ManagedFields};
use super::path::Path;
use super::set::Set;

const SCALE_VERSION: &str = "autoscaling/v1";

/// The path of the replicas in the parent, by `apiVersion`. `None` for versions without a scale subresource.
pub type ReplicasPathMappings = BTreeMap<String, Option<Path>>;

fn replicas() -> Path {
    Path::of_fields(["spec", "replicas"])
}

/// The managed fields of the scale: the managers of the parent's replicas own the replicas of the scale.
pub fn scale_to_subresource(
    parent: &Value,
    mappings: &ReplicasPathMappings,
) -> Result<Value, DecodeError> {
    let mut scale = ManagedFields::new();
    for (id, mut entry) in managed_fields::decode(Some(parent))? {
        let Some(Some(path)) = mappings.get(&entry.api_version) else {
            continue;
        };
        if entry.fields.contains(path) {
            entry.fields = [replicas()].into_iter().collect();
            SCALE_VERSION.clone_into(&mut entry.api_version);
            scale.insert(id, entry);
        }
    }
    Ok(encode(&scale))
}

/// The managed fields of the parent after a write to its scale.
pub fn scale_to_parent(
    parent: &Value,
    scale: &Value,
    mappings: &ReplicasPathMappings,
    api_version: &str,
) -> Result<Value, DecodeError> {
    let parent = managed_fields::decode(Some(parent))?;
    let mut scale = managed_fields::decode(Some(scale))?;
    let mut result = ManagedFields::new();
    for (id, entry) in &parent {
        let Some(path) = mappings.get(&entry.api_version) else {
            continue;
        };
        let mut entry = entry.clone();
        if let Some(path) = path.as_ref().filter(|path| entry.fields.contains(path))
            && scale.remove(id).is_none()
        {
            let replicas: Set = [path.clone()].into_iter().collect();
            entry.fields = entry.fields.difference(&replicas);
        }
        if !entry.fields.is_empty() {
            result.insert(id.clone(), entry);
        }
    }
    let own_path = mappings.get(api_version).cloned().flatten();
    for (id, mut entry) in scale {
        if entry.fields.contains(&replicas()) {
            entry.fields = own_path.iter().cloned().collect();
            entry.time = parent.get(&id).and_then(|entry| entry.time.clone());
            api_version.clone_into(&mut entry.api_version);
            result.insert(id, entry);
        }
    }
    Ok(encode(&result))
}

fn encode(managed: &ManagedFields) -> Value {
    let mut object = Value::Object(Map::new());
    managed_fields::encode(&mut object, managed);
    managed_fields::remove(&mut object).unwrap_or_else(|| Value::Array(Vec::new()))
}

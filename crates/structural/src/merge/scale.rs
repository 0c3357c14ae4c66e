//! Ownership of `spec.replicas` between an object and its scale.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::managed::{self, Managed};
use super::path::Path;
use super::set::Set;

const SCALE_VERSION: &str = "autoscaling/v1";

/// Where the replicas of an object stand, by `apiVersion`. Versions without a scale have no path.
pub type ScalePaths = BTreeMap<String, Option<Path>>;

fn replicas() -> Path {
    Path::of_fields(["spec", "replicas"])
}

/// The entries of a scale: whoever owns the replicas of the parent owns those of the scale.
pub fn scale_from_parent(parent: &Value, paths: &ScalePaths) -> Result<Value, String> {
    let mut scale = Managed::new();
    for (id, mut entry) in managed::read(Some(parent))? {
        let Some(Some(path)) = paths.get(&entry.api_version) else {
            continue;
        };
        if entry.fields.contains(path) {
            entry.fields = [replicas()].into_iter().collect();
            SCALE_VERSION.clone_into(&mut entry.api_version);
            scale.insert(id, entry);
        }
    }
    Ok(entries(&scale))
}

/// The entries of the parent after its scale was written.
pub fn scale_to_parent(
    parent: &Value,
    scale: &Value,
    paths: &ScalePaths,
    api_version: &str,
) -> Result<Value, String> {
    let parent = managed::read(Some(parent))?;
    let mut scale = managed::read(Some(scale))?;
    let mut result = Managed::new();
    for (id, entry) in &parent {
        let Some(path) = paths.get(&entry.api_version) else {
            continue;
        };
        let mut entry = entry.clone();
        if let Some(path) = path.as_ref().filter(|path| entry.fields.contains(path))
            && scale.remove(id).is_none()
        {
            let taken: Set = [path.clone()].into_iter().collect();
            entry.fields = entry.fields.difference(&taken);
        }
        if !entry.fields.is_empty() {
            result.insert(id.clone(), entry);
        }
    }
    let own_path = paths.get(api_version).cloned().flatten();
    for (id, mut entry) in scale {
        if entry.fields.contains(&replicas()) {
            entry.fields = own_path.iter().cloned().collect();
            entry.time = parent.get(&id).and_then(|entry| entry.time.clone());
            api_version.clone_into(&mut entry.api_version);
            result.insert(id, entry);
        }
    }
    Ok(entries(&result))
}

fn entries(managed: &Managed) -> Value {
    let mut object = Value::Object(Map::new());
    managed::write(&mut object, managed);
    managed::strip(&mut object).unwrap_or_else(|| Value::Array(Vec::new()))
}

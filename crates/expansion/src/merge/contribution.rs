//! What a package adds to the configuration, by the key of `expansion.yaml`.

use serde_json::{Map, Value, json};

use crate::definition::{ExtraArgs, Text};
use crate::package::{Package, PackagedFile};

/// The contribution of a key, in the form of the field. `None` if the package has none.
pub(super) fn of(package: &Package, key: &str) -> Option<Value> {
    let definition = &package.definition;
    let value = match key {
        "requires.kubernetes" => json!(definition.requires.kubernetes.as_ref()?.value),
        "files" => files(package),
        "files[].hook" => hooks(&package.files),
        "installer_skip_steps" => texts(&definition.installer_skip_steps),
        "create_cluster_skip_conditions" => texts(&definition.create_cluster_skip_conditions),
        "create_cluster_delegate_conditions" => {
            texts(&definition.create_cluster_delegate_conditions)
        }
        key => arguments(key, &definition.create_cluster_extra_args),
    };
    let is_empty = match &value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    (!is_empty).then_some(value)
}

fn texts(list: &[Text]) -> Value {
    list.iter().map(|text| json!(text.value)).collect()
}

/// The sources of a package are below its name in the files root, so that they are not those of another package.
fn files(package: &Package) -> Value {
    let files = package.files.iter().map(|file| {
        let mut entry = json!({
            "src": format!("{}/{}", package.name, file.path),
            "dst": file.dst,
        });
        if file.force {
            entry["force"] = json!(true);
        }
        entry
    });
    files.collect()
}

fn hooks(files: &[PackagedFile]) -> Value {
    let hooks = files.iter();
    let hooks = hooks.filter_map(|file| Some((file.hook?.to_owned(), json!(file.dst))));
    Value::Object(hooks.collect())
}

fn arguments(key: &str, all: &ExtraArgs) -> Value {
    let component = key.strip_prefix("create_cluster_extra_args.");
    let arguments = component.and_then(|component| all.get(component));
    let arguments = arguments.into_iter().flatten();
    let arguments = arguments.map(|(name, text)| (name.clone(), json!(text.value)));
    Value::Object(arguments.collect::<Map<_, _>>())
}

//! Validation of volumes.

use outrigger_apimachinery::quantity::Quantity;
use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use super::container::{descending, field_reference, no_parent};
use super::resources;
use crate::fields::{list, text};
use crate::validation::field_checks::{push_invalid, require, validate_optional_enum};

type Check = fn(&mut Vec<Error>, &Path<'_>, &Value);

/// The volume sources that are validated; others are only counted.
const SOURCES: &[(&str, Check)] = &[
    ("emptyDir", empty_dir),
    ("hostPath", host_path),
    ("gcePersistentDisk", ignore),
    ("awsElasticBlockStore", ignore),
    ("secret", secret),
    ("nfs", nfs),
    ("iscsi", ignore),
    ("glusterfs", ignore),
    ("flocker", ignore),
    ("persistentVolumeClaim", claim),
    ("rbd", ignore),
    ("cinder", ignore),
    ("cephfs", ignore),
    ("quobyte", ignore),
    ("downwardAPI", downward),
    ("fc", ignore),
    ("flexVolume", ignore),
    ("configMap", config_map),
    ("azureFile", ignore),
    ("vsphereVolume", ignore),
    ("photonPersistentDisk", ignore),
    ("portworxVolume", ignore),
    ("azureDisk", ignore),
    ("storageos", ignore),
    ("projected", projected),
    ("scaleIO", ignore),
    ("csi", csi),
    ("ephemeral", ignore),
    ("image", ignore),
];

/// Validates all volumes of a Pod spec. Returns the names of the valid ones, to which mounts may refer.
pub(super) fn check_all<'a>(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    spec: &'a Value,
) -> Vec<&'a str> {
    let mut names = Vec::new();
    for (index, volume) in list(spec, "volumes").iter().enumerate() {
        let field = path.index(index);
        let before = errors.len();
        source(errors, &field, volume);
        let name = text(volume, "name");
        let field = field.child("name");
        if require(errors, &field, name) {
            push_invalid(errors, &field, name, syntax::dns1123_label(name));
        }
        if names.contains(&name) {
            errors.push(Error::duplicate(&field, name));
        }
        if errors.len() == before {
            names.push(name);
        }
    }
    names
}

/// Requires exactly one volume source, also of `PersistentVolumes`.
pub(in super::super) fn source(errors: &mut Vec<Error>, path: &Path<'_>, volume: &Value) -> bool {
    let mut has_one = false;
    for (key, check) in SOURCES {
        if !volume[*key].is_object() {
            continue;
        }
        if has_one {
            let detail = "may not specify more than 1 volume type";
            errors.push(Error::forbidden(&path.child(key), detail));
        } else {
            has_one = true;
            check(errors, &path.child(key), &volume[*key]);
        }
    }
    has_one
}

pub(super) fn is_source(key: &str) -> bool {
    SOURCES.iter().any(|(source, _)| *source == key)
}

fn ignore(_: &mut Vec<Error>, _: &Path<'_>, _: &Value) {}

fn empty_dir(errors: &mut Vec<Error>, path: &Path<'_>, source: &Value) {
    let limit = source["sizeLimit"].as_str().map(Quantity::parse);
    if let Some(Ok(limit)) = limit
        && limit.is_negative()
    {
        let detail = "SizeLimit field must be a valid resource quantity";
        errors.push(Error::forbidden(&path.child("sizeLimit"), detail));
    }
}

fn host_path(errors: &mut Vec<Error>, path: &Path<'_>, source: &Value) {
    let field = path.child("path");
    let on_host = text(source, "path");
    if !require(errors, &field, on_host) {
        return;
    }
    no_parent(errors, &field, on_host);
    let types = [
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    validate_optional_enum(errors, &path.child("type"), &source["type"], &types);
}

fn secret(errors: &mut Vec<Error>, path: &Path<'_>, source: &Value) {
    require(
        errors,
        &path.child("secretName"),
        text(source, "secretName"),
    );
    mode(errors, path, source);
    items(errors, path, source);
}

fn config_map(errors: &mut Vec<Error>, path: &Path<'_>, source: &Value) {
    require(errors, &path.child("name"), text(source, "name"));
    mode(errors, path, source);
    items(errors, path, source);
}

fn mode(errors: &mut Vec<Error>, path: &Path<'_>, source: &Value) {
    if let Some(mode) = source["defaultMode"].as_i64()
        && !(0..=0o777).contains(&mode)
    {
        let detail = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.push(Error::invalid(&path.child("defaultMode"), mode, detail));
    }
}

fn items(errors: &mut Vec<Error>, path: &Path<'_>, source: &Value) {
    let field = path.child("items");
    for (index, item) in list(source, "items").iter().enumerate() {
        let field = field.index(index);
        require(errors, &field.child("key"), text(item, "key"));
        let file = text(item, "path");
        if require(errors, &field.child("path"), file) {
            file_name(errors, &field.child("path"), file);
        }
    }
}

fn file_name(errors: &mut Vec<Error>, path: &Path<'_>, file: &str) {
    descending(errors, path, file);
    if file.starts_with("..") && !file.starts_with("../") {
        errors.push(Error::invalid(path, file, "must not start with '..'"));
    }
}

fn nfs(errors: &mut Vec<Error>, path: &Path<'_>, source: &Value) {
    require(errors, &path.child("server"), text(source, "server"));
    let exported = text(source, "path");
    let field = path.child("path");
    if require(errors, &field, exported) && !exported.starts_with('/') {
        errors.push(Error::invalid(&field, exported, "must be an absolute path"));
    }
}

fn claim(errors: &mut Vec<Error>, path: &Path<'_>, source: &Value) {
    require(errors, &path.child("claimName"), text(source, "claimName"));
}

fn csi(errors: &mut Vec<Error>, path: &Path<'_>, source: &Value) {
    require(errors, &path.child("driver"), text(source, "driver"));
}

fn downward(errors: &mut Vec<Error>, path: &Path<'_>, source: &Value) {
    mode(errors, path, source);
    let field = path.child("items");
    for (index, item) in list(source, "items").iter().enumerate() {
        let field = field.index(index);
        let file = text(item, "path");
        if require(errors, &field.child("path"), file) {
            file_name(errors, &field.child("path"), file);
        }
        if item["fieldRef"].is_object() {
            field_reference(errors, &field.child("fieldRef"), &item["fieldRef"]);
        } else if item["resourceFieldRef"].is_object() {
            let field = field.child("resourceFieldRef");
            resources::reference(errors, &field, &item["resourceFieldRef"]);
        } else {
            let detail = "one of fieldRef and resourceFieldRef is required";
            errors.push(Error::required(&field, detail));
        }
    }
}

fn projected(errors: &mut Vec<Error>, path: &Path<'_>, source: &Value) {
    mode(errors, path, source);
    let field = path.child("sources");
    for (index, source) in list(source, "sources").iter().enumerate() {
        let field = field.index(index);
        for key in ["secret", "configMap"] {
            if source[key].is_object() {
                let field = field.child(key);
                require(errors, &field.child("name"), text(&source[key], "name"));
                items(errors, &field, &source[key]);
            }
        }
        if source["downwardAPI"].is_object() {
            downward(errors, &field.child("downwardAPI"), &source["downwardAPI"]);
        }
        let token = &source["serviceAccountToken"];
        if token.is_object() {
            let field = field.child("serviceAccountToken");
            require(errors, &field.child("path"), text(token, "path"));
        }
    }
}

//! Volumes, their classes, and other things that hold data or measure it.

use serde_json::{Map, Value, json};

use super::{Rule, default, part, text};

pub(super) fn of_type(name: &str) -> Option<Rule> {
    of_source(name).or_else(|| of_kind(name))
}

/// Rules of the older sources of volumes.
fn of_source(name: &str) -> Option<Rule> {
    let rule: Rule = match name {
        "core/v1.AzureDiskVolumeSource" => |source| {
            default(
                source,
                [
                    ("cachingMode", json!("ReadWrite")),
                    ("fsType", json!("ext4")),
                    ("kind", json!("Shared")),
                    ("readOnly", json!(false)),
                ],
            );
        },
        "core/v1.ISCSIVolumeSource" | "core/v1.ISCSIPersistentVolumeSource" => |source| {
            default(source, [("iscsiInterface", json!("default"))]);
        },
        "core/v1.RBDVolumeSource" | "core/v1.RBDPersistentVolumeSource" => |source| {
            default(
                source,
                [
                    ("keyring", json!("/etc/ceph/keyring")),
                    ("pool", json!("rbd")),
                    ("user", json!("admin")),
                ],
            );
        },
        "core/v1.ScaleIOVolumeSource" | "core/v1.ScaleIOPersistentVolumeSource" => |source| {
            default(
                source,
                [
                    ("fsType", json!("xfs")),
                    ("storageMode", json!("ThinProvisioned")),
                ],
            );
        },
        _ => return None,
    };
    Some(rule)
}

fn of_kind(name: &str) -> Option<Rule> {
    let rule: Rule = match name {
        "core/v1.PersistentVolume" => |volume| {
            if let Some(spec) = part(volume, "spec") {
                default(
                    spec,
                    [
                        ("persistentVolumeReclaimPolicy", json!("Retain")),
                        ("volumeMode", json!("Filesystem")),
                    ],
                );
            }
            pending(volume);
        },
        "core/v1.PersistentVolumeClaim" => pending,
        "core/v1.PersistentVolumeClaimSpec" => |spec| {
            default(spec, [("volumeMode", json!("Filesystem"))]);
        },
        "core/v1.Secret" => secret,
        "core/v1.NodeStatus" => |status| {
            if let Some(capacity) = status.get("capacity").cloned() {
                status.entry("allocatable").or_insert(capacity);
            }
        },
        "core/v1.NodeSpec" => node_spec,
        "core/v1.LimitRangeItem" => limit_range_item,
        "storage/v1.StorageClass" => |class| {
            default(
                class,
                [
                    ("reclaimPolicy", json!("Delete")),
                    ("volumeBindingMode", json!("Immediate")),
                ],
            );
        },
        "storage/v1.CSIDriverSpec" => |spec| {
            default(
                spec,
                [
                    ("attachRequired", json!(true)),
                    ("podInfoOnMount", json!(false)),
                    ("storageCapacity", json!(false)),
                    ("fsGroupPolicy", json!("ReadWriteOnceWithFSType")),
                    ("volumeLifecycleModes", json!(["Persistent"])),
                    ("requiresRepublish", json!(false)),
                    ("seLinuxMount", json!(false)),
                ],
            );
        },
        _ => return None,
    };
    Some(rule)
}

fn pending(volume: &mut Map<String, Value>) {
    if let Some(status) = part(volume, "status") {
        default(status, [("phase", json!("Pending"))]);
    }
}

/// The old and the new name of the addresses of Pods on a node; the first of the new is the old.
fn node_spec(spec: &mut Map<String, Value>) {
    if let Some(range) = spec.get("podCIDR").cloned() {
        default(spec, [("podCIDRs", json!([range]))]);
    } else if let Some(range) = spec.get("podCIDRs").map(|ranges| ranges[0].clone()) {
        default(spec, [("podCIDR", range)]);
    }
}

/// Texts are only a convenience for writing; they are kept as data.
fn secret(secret: &mut Map<String, Value>) {
    use base64::Engine as _;
    default(secret, [("type", json!("Opaque"))]);
    let Some(Value::Object(texts)) = secret.remove("stringData") else {
        return;
    };
    let engine = base64::engine::general_purpose::STANDARD;
    if let Some(data) = part(secret, "data") {
        for (key, value) in texts {
            let bytes = engine.encode(value.as_str().unwrap_or_default());
            data.insert(key, bytes.into());
        }
    }
}

/// What a container gets that says nothing: the maximum, and as its request the default or the minimum.
fn limit_range_item(item: &mut Map<String, Value>) {
    if text(item, "type") != "Container" {
        return;
    }
    for (from, to) in [
        ("max", "default"),
        ("default", "defaultRequest"),
        ("min", "defaultRequest"),
    ] {
        if let Some(Value::Object(amounts)) = item.get(from).cloned()
            && let Some(target) = part(item, to)
        {
            for (name, amount) in amounts {
                target.entry(name).or_insert(amount);
            }
        }
    }
}

//! Defaults of volumes, Secrets, Nodes, `LimitRanges`, and of the group `storage.k8s.io`.

use serde_json::json;

use super::Rule;
use crate::core::{limit_range, node, persistent_volume_claim, secret};
use crate::fields::{object_mut, set_missing};

pub(super) fn of_type(name: &str) -> Option<Rule> {
    of_source(name).or_else(|| of_kind(name))
}

/// Rules of deprecated volume sources.
fn of_source(name: &str) -> Option<Rule> {
    let rule: Rule = match name {
        "core/v1.AzureDiskVolumeSource" => |source| {
            set_missing(
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
            set_missing(source, [("iscsiInterface", json!("default"))]);
        },
        "core/v1.RBDVolumeSource" | "core/v1.RBDPersistentVolumeSource" => |source| {
            set_missing(
                source,
                [
                    ("keyring", json!("/etc/ceph/keyring")),
                    ("pool", json!("rbd")),
                    ("user", json!("admin")),
                ],
            );
        },
        "core/v1.ScaleIOVolumeSource" | "core/v1.ScaleIOPersistentVolumeSource" => |source| {
            set_missing(
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
            if let Some(spec) = object_mut(volume, "spec") {
                set_missing(
                    spec,
                    [
                        ("persistentVolumeReclaimPolicy", json!("Retain")),
                        ("volumeMode", json!("Filesystem")),
                    ],
                );
            }
            persistent_volume_claim::set_pending(volume);
        },
        "core/v1.PersistentVolumeClaim" => persistent_volume_claim::set_pending,
        "core/v1.PersistentVolumeClaimSpec" => |spec| {
            set_missing(spec, [("volumeMode", json!("Filesystem"))]);
        },
        "core/v1.Secret" => secret::set_defaults,
        "core/v1.NodeStatus" => |status| {
            if let Some(capacity) = status.get("capacity").cloned() {
                status.entry("allocatable").or_insert(capacity);
            }
        },
        "core/v1.NodeSpec" => node::set_spec_defaults,
        "core/v1.LimitRangeItem" => limit_range::set_item_defaults,
        "storage/v1.StorageClass" => |class| {
            set_missing(
                class,
                [
                    ("reclaimPolicy", json!("Delete")),
                    ("volumeBindingMode", json!("Immediate")),
                ],
            );
        },
        "storage/v1.CSIDriverSpec" => |spec| {
            set_missing(
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

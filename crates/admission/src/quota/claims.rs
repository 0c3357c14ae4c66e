//! What `PersistentVolumeClaims` use of a quota.

use outrigger_apimachinery::quantity::Quantity;
use outrigger_builtin::fields::text;
use serde_json::Value;

use super::Scope;
use crate::resource_list::ResourceList;

const RESOURCES: [&str; 2] = ["persistentvolumeclaims", "requests.storage"];
/// Between the name of a storage class and a resource.
const BY_CLASS: &str = ".storageclass.storage.k8s.io/";

pub(super) fn measures(name: &str) -> bool {
    let by_class = name.rsplit_once(BY_CLASS);
    RESOURCES.contains(&by_class.map_or(name, |(_, resource)| resource))
}

pub(super) fn usage(claim: &Value) -> ResourceList {
    const ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
    let annotation = claim["metadata"]["annotations"][ANNOTATION].as_str();
    let class = annotation.unwrap_or_else(|| text(&claim["spec"], "storageClassName"));
    let amounts = [Some(Quantity::ONE), requested_storage(claim)];
    let mut usage = ResourceList::new();
    for (resource, amount) in RESOURCES.into_iter().zip(amounts) {
        if let Some(amount) = amount {
            usage.insert(resource.to_owned(), amount);
            if !class.is_empty() {
                usage.insert(format!("{class}{BY_CLASS}{resource}"), amount);
            }
        }
    }
    usage
}

/// In whole bytes. A volume that is still as large as before a reduced request counts by its size.
fn requested_storage(claim: &Value) -> Option<Quantity> {
    let parse = |value: &Value| Quantity::parse(value.as_str()?).ok();
    let request = parse(&claim["spec"]["resources"]["requests"]["storage"])?;
    let amount = match parse(&claim["status"]["allocatedResources"]["storage"]) {
        Some(allocated) if allocated > request => allocated,
        _ => request,
    };
    Some(amount.to_whole())
}

pub(super) fn is_in_scope(scope: &Scope<'_>, claim: &Value) -> bool {
    if scope.name != "VolumeAttributesClass" {
        return false;
    }
    let status = &claim["status"];
    let names = [
        text(&claim["spec"], "volumeAttributesClassName"),
        text(status, "currentVolumeAttributesClassName"),
        text(
            &status["modifyVolumeStatus"],
            "targetVolumeAttributesClassName",
        ),
    ];
    let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    scope.selects(&names)
}

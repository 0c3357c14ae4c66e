//! Objects that mutating admission plugins return: policies may write any field, so what the request has settled is checked
//! again.

use outrigger_admission as admission;
use outrigger_apimachinery::status::Status;
use outrigger_builtin::kinds::Kind;
use outrigger_store::Object;
use serde_json::Value;

use super::WriteRequest;
use crate::server::Lookup;
use crate::verbs::decode::metadata_of;
use crate::verbs::update::requested_version;

impl WriteRequest<'_, '_> {
    /// Runs the mutating plugins. The object keeps its type and its namespace.
    pub(super) fn mutate(
        &self,
        kind: &Kind,
        operation: admission::Operation<'_>,
        object: &mut Value,
    ) -> Result<(), Status> {
        let before = type_of(object);
        let attributes = self.attributes(kind, operation);
        let lookup = Lookup(self.ctx.state);
        self.ctx
            .evaluate(|| admission::mutate(&attributes, object, &lookup))??;
        let after = type_of(object);
        if after != before {
            return Err(Status::internal(format!(
                "failed to convert object: converting ({after}) to ({before}): unknown conversion"
            )));
        }
        self.ensure_namespace(object)
    }

    /// Takes the resource version from an object to be created, which may have none.
    pub(super) fn take_resource_version(&mut self, object: &mut Value) {
        let version = metadata_of(object).remove("resourceVersion");
        self.has_resource_version |= version.is_some_and(|version| version != "" && version != "0");
    }

    /// The resource version that a plugin wrote must be that of the stored object.
    pub(super) fn check_resource_version(&self, new: &Value, old: &Object) -> Result<(), Status> {
        match requested_version(new)? {
            Some(version) if version != old.revision() => {
                Err(Status::modified(self.ctx.group_resource(), self.ctx.name()))
            }
            _ => Ok(()),
        }
    }
}

/// Version and kind, as Go names the type.
fn type_of(object: &Value) -> String {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    format!("{}.{}", text("apiVersion"), text("kind"))
}

/// Removes fields that only the server sets on a new object.
pub(in crate::verbs) fn wipe_system_fields(object: &mut Value) {
    let metadata = metadata_of(object);
    for name in [
        "creationTimestamp",
        "uid",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
    ] {
        metadata.remove(name);
    }
}

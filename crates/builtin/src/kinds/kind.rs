//! One served version of a kind, with all that the generic request path needs.

use std::sync::Arc;

use outrigger_apimachinery::{GroupKind, GroupResource, GroupVersion};
use serde_json::Value;

use crate::strategy::Strategy;

/// The verbs of a resource with full support.
pub(super) const ALL_VERBS: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

/// One served version of one kind.
#[expect(clippy::struct_field_names, reason = "the names are those of the API")]
#[derive(Debug, Clone)]
pub struct Kind {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub list_kind: String,
    pub plural: String,
    pub singular: String,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    pub namespaced: bool,
    /// In the order of discovery.
    pub verbs: Vec<&'static str>,
    pub subresources: Vec<Subresource>,
    pub storage: Storage,
    pub writes: Writes,
    pub deletion: Deletion,
    pub strategy: &'static dyn Strategy,
    /// Field labels that field selectors support besides `metadata.name` and `metadata.namespace`.
    pub fields: Vec<SelectableField>,
    /// The deprecation warning of every response.
    pub deprecation: Option<String>,
    /// Set for custom resources.
    pub custom: Option<Arc<Custom>>,
}

impl Kind {
    pub fn group_version(&self) -> GroupVersion<'_> {
        GroupVersion::new(&self.group, &self.version)
    }

    pub fn group_kind(&self) -> GroupKind<'_> {
        GroupKind::new(&self.group, &self.kind)
    }

    pub fn group_resource(&self) -> GroupResource<'_> {
        GroupResource::new(&self.group, &self.plural)
    }

    /// The `apiVersion` of its objects.
    pub fn api_version(&self) -> String {
        self.group_version().to_string()
    }

    pub fn has_verb(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }

    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources
            .iter()
            .find(|subresource| subresource.name == name)
    }

    /// Whether there is a status subresource.
    pub fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// Whether objects are stored. Reviews and the like are not.
    pub fn is_stored(&self) -> bool {
        self.has_verb("get") && self.has_verb("create")
    }

    /// Whether served and stored objects differ in more than `apiVersion`.
    pub fn is_converted(&self) -> bool {
        self.custom.is_none()
            && (self.group != self.storage.group || self.version != self.storage.version)
    }
}

/// A subresource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subresource {
    pub name: &'static str,
    /// The group version of the request and response objects, if different from that of the resource.
    pub group_version: Option<(&'static str, &'static str)>,
    /// The kind of the request and response objects.
    pub kind: String,
    pub verbs: &'static [&'static str],
}

/// The storage group and version. Kinds with the same storage share their objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storage {
    pub group: String,
    pub version: String,
    /// `storageVersionHash`, by which clients detect changes of the storage version. Empty if nothing is stored.
    pub hash: String,
}

/// How objects are created and updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writes {
    /// `metadata.generation` is incremented by changes of the spec.
    pub generation: bool,
    /// `AllowCreateOnUpdate`: PUT creates missing objects.
    pub create_on_update: bool,
    /// `AllowUnconditionalUpdate`: PUT may omit the resource version.
    pub unconditional_update: bool,
}

/// How objects are deleted.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Deletion {
    /// The response is the object instead of a `Status`.
    pub returns_object: bool,
    /// Deletion is graceful (Pods).
    pub graceful: bool,
    /// Dependents are orphaned unless the request has a propagation policy.
    pub orphans_by_default: bool,
    /// Garbage collection ignores owners and dependents (Events).
    pub without_garbage_collection: bool,
}

/// A field label of field selectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectableField {
    pub label: String,
    /// Dotted paths, of which the first non-empty one is used.
    pub paths: Vec<String>,
    /// The value if all paths are empty.
    pub missing: &'static str,
}

/// The annotation of `CustomResourceDefinitions` whose objects get generated names: `cls-` yields `cls-x7k2p`.
pub const NAME_PREFIX: &str = "outrigger.dev/generated-name-prefix";

/// The part of a `CustomResourceDefinition` for one version.
#[derive(Debug, Clone, Default)]
pub struct Custom {
    /// The name of the `CustomResourceDefinition`.
    pub definition: String,
    /// `openAPIV3Schema`.
    pub schema: Value,
    pub scale: Option<Scale>,
    pub columns: Vec<PrinterColumn>,
    /// The prefix of generated names, from [`NAME_PREFIX`].
    pub name_prefix: Option<String>,
    /// The definition is terminating, and objects can no longer be created.
    pub terminating: bool,
}

/// The JSON paths of the scale subresource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scale {
    pub spec_replicas: String,
    pub status_replicas: String,
    pub label_selector: Option<String>,
}

/// One of `additionalPrinterColumns`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrinterColumn {
    pub name: String,
    pub type_: String,
    pub format: String,
    pub description: String,
    pub priority: i64,
    pub json_path: String,
}

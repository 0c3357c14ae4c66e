//! One served version of one kind, with all that the generic request path must know about it.

use std::sync::Arc;

use outrigger_apimachinery::{GroupKind, GroupResource, GroupVersion};
use serde_json::Value;

use crate::strategy::Strategy;

/// What a client may do with a resource that is served in full.
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
    /// In the order in which discovery lists them.
    pub verbs: Vec<&'static str>,
    pub subresources: Vec<Subresource>,
    pub storage: Storage,
    pub writes: Writes,
    pub deletion: Deletion,
    pub strategy: &'static dyn Strategy,
    /// What field selectors may name beside `metadata.name` and `metadata.namespace`.
    pub fields: Vec<SelectableField>,
    /// Sent as a warning with every answer.
    pub deprecation: Option<String>,
    /// Set for kinds that a definition has added.
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

    /// Whether status is written through its own endpoint only.
    pub fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// Whether objects can be kept at all; reviews and the like are answered and forgotten.
    pub fn is_stored(&self) -> bool {
        self.has_verb("get") && self.has_verb("create")
    }

    /// Whether what is served differs from what is stored in more than the name of the version.
    pub fn is_converted(&self) -> bool {
        self.custom.is_none()
            && (self.group != self.storage.group || self.version != self.storage.version)
    }
}

/// An endpoint below an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subresource {
    pub name: &'static str,
    /// The group and version of the objects that are exchanged, if not those of the resource.
    pub group_version: Option<(&'static str, &'static str)>,
    /// The kind of the objects that are exchanged.
    pub kind: String,
    pub verbs: &'static [&'static str],
}

/// Where and in which version objects are kept. Two kinds with the same group here share their objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storage {
    pub group: String,
    pub version: String,
    /// Told to clients so that they notice when the stored version changes. Empty if nothing is stored.
    pub hash: String,
}

/// How objects are created and updated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writes {
    /// `metadata.generation` counts changes of what is desired.
    pub generation: bool,
    /// A PUT to a name that is free creates the object.
    pub create_on_update: bool,
    /// A PUT may leave out the resource version.
    pub unconditional_update: bool,
}

/// How objects are deleted.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Deletion {
    /// The answer is the object, also when it is gone at once.
    pub returns_object: bool,
    /// The object stays for its grace period (Pods).
    pub graceful: bool,
    /// Dependents are orphaned if the request does not say.
    pub orphans_by_default: bool,
    /// Owners and dependents are not looked at (Events).
    pub without_garbage_collection: bool,
}

/// What a field selector may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectableField {
    pub label: String,
    /// Where the value is, as dotted paths; the first that is not empty counts.
    pub paths: Vec<String>,
    /// The value of an object that has none of them.
    pub missing: &'static str,
}

/// A definition with this annotation asks for generated names: `cls-` makes `cls-x7k2p`.
pub const NAME_PREFIX: &str = "outrigger.dev/generated-name-prefix";

/// What a definition says about one version of its kind.
#[derive(Debug, Clone, Default)]
pub struct Custom {
    /// The name of the definition.
    pub definition: String,
    /// `openAPIV3Schema`.
    pub schema: Value,
    pub scale: Option<Scale>,
    pub columns: Vec<PrinterColumn>,
    /// What the name of an object begins with that comes without one, from [`NAME_PREFIX`].
    pub name_prefix: Option<String>,
    /// The definition is being deleted: nothing can be created.
    pub terminating: bool,
}

/// Where the scale of a custom resource is, as JSON paths.
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

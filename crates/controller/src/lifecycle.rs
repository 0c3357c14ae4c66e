//! Predicates on the lifecycle of a plugin: deleted, disabled, protected by our finalizer.

use kube::ResourceExt as _;
use outrigger_api::compat;
use outrigger_api::plugin::{FINALIZER, Plugin};

/// Whether a deletion was requested. That of a mirror counts only with its origin.
pub(crate) fn is_deleted(plugin: &Plugin) -> bool {
    compat::is_deleted(plugin)
}

pub(crate) fn has_finalizer(plugin: &Plugin) -> bool {
    plugin.finalizers().iter().any(|name| name == FINALIZER)
}

/// Whether the release of the plugin is to be uninstalled: the plugin is deleted or disabled.
pub(crate) fn is_removing(plugin: &Plugin) -> bool {
    is_deleted(plugin) || !plugin.spec.enabled
}

/// Whether a reconcile of the plugin as it was before works on an outdated spec.
pub(crate) fn is_superseded(before: &Plugin, after: &Plugin) -> bool {
    before.metadata.generation != after.metadata.generation
        || is_deleted(before) != is_deleted(after)
}

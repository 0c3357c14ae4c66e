//! Which plugins created a plugin, and how many one plugin may create: a chart that creates itself must not fill the cluster.
//!
//! Helm's annotations on a plugin name the release that it is an object of, and with that its creator.

use outrigger_api::compat::ForeignKind;
use outrigger_api::reason::Reason;
use outrigger_release::{Desired, ObjectId};

use crate::conditions::Cause;
use crate::key::Key;

/// The maximum number of levels below a plugin that a user created.
pub(crate) const MAX_DEPTH: usize = 8;

/// The maximum number of plugins below a plugin that a user created, on all levels.
pub(crate) const MAX_DESCENDANTS: usize = 500;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lineage {
    /// The creator of the plugin, its creator, and so on. The last one was created by a user.
    pub(crate) ancestors: Vec<Key>,
    /// The number of plugins that this one created.
    pub(crate) children: usize,
    /// The number of plugins that the last ancestor, or this plugin if it has none, created on all levels.
    pub(crate) family: usize,
}

impl Lineage {
    /// Why the plugin must not create these objects, if it must not.
    pub(crate) fn reject(&self, key: &Key, desired: &Desired) -> Option<Cause> {
        // Hooks have no annotations that would name their creator.
        let hook = desired.hooks().iter().find(|hook| hook.kind == "Plugin");
        if let Some(hook) = hook {
            let message = format!(
                "Plugin {} is a hook, but hooks cannot create plugins",
                hook.name
            );
            return Some(Cause::new(Reason::HooksRefused, message));
        }
        let objects = desired.objects().iter();
        let planned = objects.filter(|object| is_plugin(object.id())).count();
        self.reject_plugins(key, planned)
    }

    fn reject_plugins(&self, key: &Key, planned: usize) -> Option<Cause> {
        if planned == 0 {
            return None;
        }
        let root = self.ancestors.last().unwrap_or(key);
        if self.ancestors.len() >= MAX_DEPTH {
            let path = self.ancestors.iter().rev().chain([key]);
            let path: Vec<String> = path.map(|key| key.relative_to(&root.namespace)).collect();
            let message = format!(
                "its chart would create plugins {} levels below plugin {root}, more than {MAX_DEPTH}: {}",
                self.ancestors.len() + 1,
                path.join(" → "),
            );
            return Some(Cause::new(Reason::NestingTooDeep, message));
        }
        let total = self.family.saturating_sub(self.children) + planned;
        (total > MAX_DESCENDANTS).then(|| {
            let message = format!(
                "its chart would create {planned} plugins, and plugin {root} {total} on all levels, more than {MAX_DESCENDANTS}"
            );
            Cause::new(Reason::TooManyPlugins, message)
        })
    }
}

/// Whether an object is a plugin, or is mirrored by one.
fn is_plugin(id: &ObjectId) -> bool {
    id.kind == "Plugin" && id.api_version.starts_with("outrigger.dev/")
        || ForeignKind::of(&id.api_version, &id.kind).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lineage(depth: usize, children: usize, family: usize) -> Lineage {
        let ancestors = (0..depth).rev();
        Lineage {
            ancestors: ancestors
                .map(|at| Key::new("default", format!("p{at}")))
                .collect(),
            children,
            family,
        }
    }

    #[track_caller]
    fn check(lineage: &Lineage, planned: usize, expected: Option<(&str, &str)>) {
        let cause = lineage.reject_plugins(&Key::new("default", "me"), planned);
        let cause = cause
            .as_ref()
            .map(|cause| (cause.reason.as_str(), &*cause.message));
        assert_eq!(cause, expected);
    }

    #[test]
    fn plugins_are_created_down_to_a_depth() {
        check(&lineage(MAX_DEPTH, 0, 8), 0, None);
        check(&lineage(MAX_DEPTH - 1, 0, 8), 2, None);
        let message = "its chart would create plugins 9 levels below plugin default/p0, more than 8: \
                       p0 → p1 → p2 → p3 → p4 → p5 → p6 → p7 → me";
        check(
            &lineage(MAX_DEPTH, 0, 8),
            2,
            Some(("NestingTooDeep", message)),
        );
    }

    #[test]
    fn a_plugin_has_a_limited_number_of_descendants_and_may_keep_those_it_has() {
        check(&lineage(0, 0, 0), 500, None);
        check(&lineage(0, 500, 500), 500, None);
        check(&lineage(1, 3, 499), 4, None);
        let message = "its chart would create 5 plugins, and plugin default/p0 501 on all levels, more than 500";
        check(&lineage(1, 3, 499), 5, Some(("TooManyPlugins", message)));
    }
}

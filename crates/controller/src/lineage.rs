//! Which plugins created a plugin, and how many one plugin may create: a chart that creates itself must not fill the cluster.
//!
//! Helm's annotations on a plugin name the release that it is an object of, and with that its creator.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

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
    /// The numbers of plugins that the last ancestor, or this plugin if it has none, and its descendants created.
    pub(crate) family: HashMap<Key, usize>,
}

/// How long a plugin that creates plugins counts those that the index may not have yet.
const RESERVED_FOR: Duration = Duration::from_mins(1);

/// How many plugins are about to be created: plugins of a family that create some at the same time must not exceed the limit
/// together.
#[derive(Debug, Default)]
pub(crate) struct Reservations {
    /// By creator.
    planned: Mutex<HashMap<Key, Reservation>>,
}

#[derive(Debug)]
struct Reservation {
    root: Key,
    plugins: usize,
    until: Instant,
}

impl Reservations {
    /// The number of plugins that others of the family have created or are about to create. Reserves `planned` for a plugin
    /// if they are not too many together.
    fn reserve(&self, lineage: &Lineage, key: &Key, planned: usize, now: Instant) -> usize {
        let all = self.planned.lock();
        let mut all = all.unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, reservation| reservation.until > now);
        let root = lineage.root(key);
        let mut family = lineage.family.clone();
        for (creator, reservation) in &*all {
            if reservation.root == *root {
                let known = family.entry(creator.clone()).or_default();
                *known = reservation.plugins.max(*known);
            }
        }
        family.remove(key);
        let others: usize = family.values().sum();
        if others + planned <= MAX_DESCENDANTS {
            let reservation = Reservation {
                root: root.clone(),
                plugins: planned,
                until: now + RESERVED_FOR,
            };
            all.insert(key.clone(), reservation);
        }
        others
    }
}

impl Lineage {
    /// Why the plugin must not create these objects, if it must not.
    pub(crate) fn reject(
        &self,
        key: &Key,
        desired: &Desired,
        reservations: &Reservations,
    ) -> Option<Cause> {
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
        self.reject_plugins(key, planned, reservations)
    }

    /// The plugin that a user created.
    fn root<'a>(&'a self, key: &'a Key) -> &'a Key {
        self.ancestors.last().unwrap_or(key)
    }

    fn reject_plugins(
        &self,
        key: &Key,
        planned: usize,
        reservations: &Reservations,
    ) -> Option<Cause> {
        if planned == 0 {
            return None;
        }
        let root = self.root(key);
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
        let total = reservations.reserve(self, key, planned, Instant::now()) + planned;
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
            family: HashMap::from([
                (Key::new("default", "me"), children),
                (Key::new("default", "p0"), family - children),
            ]),
        }
    }

    #[track_caller]
    fn check(lineage: &Lineage, planned: usize, expected: Option<(&str, &str)>) {
        let me = Key::new("default", "me");
        let cause = lineage.reject_plugins(&me, planned, &Reservations::default());
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

    /// Each counted only what the index had when it started, so that they created 534 plugins together.
    #[test]
    fn plugins_that_create_plugins_at_the_same_time_share_the_limit() {
        let reservations = Reservations::default();
        let family = HashMap::from([(Key::new("default", "p0"), 3)]);
        let lineage = Lineage {
            ancestors: vec![Key::new("default", "p0")],
            family,
        };
        let is_rejected = |name: &str, planned: usize| {
            let rejected =
                lineage.reject_plugins(&Key::new("default", name), planned, &reservations);
            rejected.is_some()
        };
        assert!(!is_rejected("a", 300));
        assert!(is_rejected("b", 198));
        assert!(!is_rejected("b", 197));
        // A retry takes the place of the first attempt.
        assert!(!is_rejected("a", 300));
        assert!(is_rejected("c", 1));
        let later = Instant::now() + 2 * RESERVED_FOR;
        let others = reservations.reserve(&lineage, &Key::new("default", "c"), 1, later);
        assert_eq!(others, 3);
    }
}

//! How many pods each `ReplicaSet` of a deployment may have during a rollout. Pure arithmetic.

use serde_json::Value;

use super::object::{scaled_value, text};

/// `spec.strategy` of a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    /// All old pods are deleted before the first new one is created.
    Recreate,
    Rolling {
        surge: i64,
        unavailable: i64,
    },
}

impl Strategy {
    pub(super) fn of(strategy: &Value, desired: i64) -> Self {
        if text(&strategy["type"]) == "Recreate" {
            return Self::Recreate;
        }
        let rolling = &strategy["rollingUpdate"];
        let surge = scaled_value(&rolling["maxSurge"], desired, true)
            .unwrap_or(0)
            .max(0);
        let unavailable = scaled_value(&rolling["maxUnavailable"], desired, false)
            .unwrap_or(0)
            .max(0);
        // At least one pod must be replaceable.
        let unavailable = if surge == 0 && unavailable == 0 {
            1
        } else {
            unavailable
        };
        Self::Rolling {
            surge,
            unavailable: unavailable.min(desired),
        }
    }

    pub(super) fn surge(self) -> i64 {
        match self {
            Self::Recreate => 0,
            Self::Rolling { surge, .. } => surge,
        }
    }

    pub(super) fn unavailable(self) -> i64 {
        match self {
            Self::Recreate => 0,
            Self::Rolling { unavailable, .. } => unavailable,
        }
    }
}

/// The pods of one `ReplicaSet`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// `spec.replicas`.
    pub(super) replicas: i64,
    pub(super) available: i64,
}

/// The state of a rollout.
#[derive(Debug, Clone)]
pub(super) struct Rollout {
    pub(super) desired: i64,
    pub(super) strategy: Strategy,
    pub(super) new: Counts,
    pub(super) old: Vec<Counts>,
    /// An old `ReplicaSet` still has pods, terminating ones included.
    pub(super) has_old_pods: bool,
}

impl Counts {
    fn unavailable(self) -> i64 {
        self.replicas.saturating_sub(self.available).max(0)
    }
}

impl Rollout {
    fn sum(&self, count: impl Fn(&Counts) -> i64) -> i64 {
        let all = self.old.iter().chain([&self.new]);
        all.map(count).fold(0, i64::saturating_add)
    }

    fn total(&self) -> i64 {
        self.sum(|counts| counts.replicas)
    }

    /// The desired replicas of the new `ReplicaSet`.
    pub(super) fn new_replicas(&self) -> i64 {
        match self.strategy {
            Strategy::Recreate if self.has_old_pods => self.new.replicas.min(self.desired),
            Strategy::Recreate => self.desired,
            Strategy::Rolling { surge, .. } => {
                if self.new.replicas >= self.desired {
                    return self.desired;
                }
                let room = self.desired.saturating_add(surge);
                let room = room.saturating_sub(self.total()).max(0);
                self.new.replicas.saturating_add(room).min(self.desired)
            }
        }
    }

    /// The desired replicas of each old `ReplicaSet`.
    pub(super) fn old_replicas(&self) -> Vec<i64> {
        let mut wanted: Vec<i64> = self.old.iter().map(|counts| counts.replicas).collect();
        let Strategy::Rolling { unavailable, .. } = self.strategy else {
            wanted.fill(0);
            return wanted;
        };
        let min_available = self.desired.saturating_sub(unavailable);
        let not_yet_available = self.new.unavailable();
        let mut room = self.total().saturating_sub(min_available);
        room = room.saturating_sub(not_yet_available).max(0);
        // Unavailable pods are removed first.
        for (wanted, counts) in wanted.iter_mut().zip(&self.old) {
            let unavailable_pods = counts.unavailable().min(room);
            *wanted = wanted.saturating_sub(unavailable_pods);
            room = room.saturating_sub(unavailable_pods);
        }
        let available = self.sum(|counts| counts.available);
        let mut room = room.min(available.saturating_sub(min_available).max(0));
        for wanted in &mut wanted {
            let removed = (*wanted).clamp(0, room);
            *wanted = wanted.saturating_sub(removed);
            room = room.saturating_sub(removed);
        }
        wanted
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rollout(desired: i64, new: (i64, i64), old: &[(i64, i64)]) -> Rollout {
        let counts = |&(replicas, available): &(i64, i64)| Counts {
            replicas,
            available,
        };
        let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}});
        Rollout {
            desired,
            strategy: Strategy::of(&strategy, desired),
            new: counts(&new),
            old: old.iter().map(counts).collect(),
            has_old_pods: !old.is_empty(),
        }
    }

    #[test]
    fn the_first_replica_set_gets_all_replicas() {
        assert_eq!(rollout(3, (0, 0), &[]).new_replicas(), 3);
        assert_eq!(rollout(3, (5, 5), &[]).new_replicas(), 3);
    }

    #[test]
    fn a_rolling_update_respects_its_limits_and_completes() {
        let (desired, mut new, mut old) = (4, (0, 0), (4, 4));
        for _ in 0..20 {
            let current = rollout(desired, new, &[old]);
            new.0 = current.new_replicas();
            let current = rollout(desired, new, &[old]);
            old.0 = current.old_replicas()[0];
            old.1 = old.1.min(old.0);
            assert!(new.0 + old.0 <= 5, "too many: {new:?} {old:?}");
            assert!(new.1 + old.1 >= 3, "too few: {new:?} {old:?}");
            new.1 = new.0;
        }
        assert_eq!((new, old.0), ((4, 4), 0));
    }

    #[test]
    fn unready_pods_stop_a_rolling_update() {
        let current = rollout(4, (2, 0), &[(3, 3)]);
        assert_eq!(
            (current.new_replicas(), current.old_replicas()),
            (2, vec![3])
        );
    }

    #[test]
    fn recreate_waits_for_the_last_old_pod() {
        let mut current = rollout(2, (0, 0), &[(2, 2)]);
        current.strategy = Strategy::Recreate;
        assert_eq!(
            (current.new_replicas(), current.old_replicas()),
            (0, vec![0])
        );
        current.has_old_pods = false;
        assert_eq!(current.new_replicas(), 2);
    }
}

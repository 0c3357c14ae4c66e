//! In which order kinds are installed, the reverse for removal, and which need not wait for each other.

use std::cmp::Ordering;

use crate::profile::Profile;

/// Helm's order of installation; what is not listed comes last, by name. The kinds of one stage need nothing of each
/// other.
const STAGES: &[&[&str]] = &[
    &["PriorityClass", "Namespace"],
    &[
        "NetworkPolicy",
        "ResourceQuota",
        "LimitRange",
        "PodSecurityPolicy",
        "PodDisruptionBudget",
        "ServiceAccount",
    ],
    // The secret of an account needs the account; all are counted by quotas.
    &[
        "Secret",
        "SecretList",
        "ConfigMap",
        "StorageClass",
        "PersistentVolume",
    ],
    // A claim needs its class.
    &[
        "PersistentVolumeClaim",
        "CustomResourceDefinition",
        "ClusterRole",
        "ClusterRoleList",
    ],
    // A binding needs its role.
    &[
        "ClusterRoleBinding",
        "ClusterRoleBindingList",
        "Role",
        "RoleList",
    ],
    &["RoleBinding", "RoleBindingList", "Service"],
    // Pods need what they mount, their account and, for their environment, the services.
    &[
        "DaemonSet",
        "Pod",
        "ReplicationController",
        "ReplicaSet",
        "Deployment",
        "HorizontalPodAutoscaler",
        "StatefulSet",
        "Job",
        "CronJob",
    ],
    &["IngressClass"],
    &["Ingress"],
    &["APIService"],
];

/// Helm 4 adds these at the end.
const WEBHOOKS: &[&str] = &[
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// A total order of kinds.
#[derive(Debug, Clone, Copy)]
pub struct KindOrder {
    profile: Profile,
    uninstall: bool,
}

impl KindOrder {
    pub fn install(profile: Profile) -> Self {
        Self {
            profile,
            uninstall: false,
        }
    }

    pub fn uninstall(profile: Profile) -> Self {
        Self {
            profile,
            uninstall: true,
        }
    }

    /// Equal for equal kinds only; sort with a stable sort to keep the order within a kind.
    pub fn compare(self, a: &str, b: &str) -> Ordering {
        match (self.rank(a), self.rank(b)) {
            (None, None) => a.cmp(b),
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (Some(a), Some(b)) if self.uninstall => b.cmp(&a),
            (Some(a), Some(b)) => a.cmp(&b),
        }
    }

    fn rank(self, kind: &str) -> Option<usize> {
        // Removal keeps services until what uses them is gone, but takes them before everything older.
        let all = || STAGES.iter().copied().flatten();
        let position = |kind: &str| all().position(|&known| known == kind);
        if self.uninstall && kind == "Service" {
            return position("IngressClass").map(|at| at * 2 - 1);
        }
        if let Some(at) = position(kind) {
            return Some(at * 2);
        }
        if !self.profile.rules().orders_webhooks {
            return None;
        }
        let at = WEBHOOKS.iter().position(|&known| known == kind)?;
        Some((all().count() + at) * 2)
    }
}

/// Whether objects of two kinds that follow each other need not wait for each other.
pub fn are_together(one: &str, other: &str) -> bool {
    let share = |stage: &&[&str]| stage.contains(&one) && stage.contains(&other);
    one == other || STAGES.iter().any(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_needs_another_comes_in_a_later_stage() {
        let needs = [
            ("ServiceAccount", "Secret"),
            ("ResourceQuota", "ConfigMap"),
            ("StorageClass", "PersistentVolumeClaim"),
            ("ClusterRole", "ClusterRoleBinding"),
            ("Role", "RoleBinding"),
            ("Service", "Deployment"),
            ("Namespace", "ServiceAccount"),
            ("CustomResourceDefinition", "Certificate"),
        ];
        for (needed, needing) in needs {
            assert!(!are_together(needed, needing), "{needed} {needing}");
            let order = KindOrder::install(Profile::Helm4).compare(needed, needing);
            assert_eq!(order, Ordering::Less, "{needed} {needing}");
        }
        assert!(are_together("Certificate", "Certificate"));
    }

    #[test]
    fn removal_goes_backwards_with_services_early() {
        let mut kinds = vec![
            "Namespace",
            "Service",
            "Pod",
            "Ingress",
            "CronJob",
            "Zebra",
            "APIService",
            "IngressClass",
            "ValidatingWebhookConfiguration",
            "Ant",
        ];
        kinds.sort_by(|a, b| KindOrder::uninstall(Profile::Helm4).compare(a, b));
        assert_eq!(
            kinds,
            [
                "ValidatingWebhookConfiguration",
                "APIService",
                "Ingress",
                "IngressClass",
                "Service",
                "CronJob",
                "Pod",
                "Namespace",
                "Ant",
                "Zebra",
            ]
        );
        kinds.sort_by(|a, b| KindOrder::install(Profile::Helm3).compare(a, b));
        assert_eq!(
            kinds,
            [
                "Namespace",
                "Service",
                "Pod",
                "CronJob",
                "IngressClass",
                "Ingress",
                "APIService",
                "Ant",
                "ValidatingWebhookConfiguration",
                "Zebra",
            ]
        );
    }
}

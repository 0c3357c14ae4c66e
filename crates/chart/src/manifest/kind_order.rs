//! In which order kinds are installed, and the reverse for removal.

use std::cmp::Ordering;

use crate::profile::Profile;

/// Helm's order of installation; what is not listed comes last, by name.
const INSTALL: &[&str] = &[
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
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
        let position = |kind: &str| INSTALL.iter().position(|&known| known == kind);
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
        Some((INSTALL.len() + at) * 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

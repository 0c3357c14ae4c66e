//! Helm's order of kinds for installation and removal, and which kinds are independent of each other.

use std::cmp::Ordering;

use crate::profile::Profile;

/// Helm's install order; other kinds are last, sorted by name. The kinds of one stage do not depend on each other.
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
    // Token secrets depend on their service account; all these kinds may be limited by quotas.
    &[
        "Secret",
        "SecretList",
        "ConfigMap",
        "StorageClass",
        "PersistentVolume",
    ],
    // A claim depends on its storage class.
    &[
        "PersistentVolumeClaim",
        "CustomResourceDefinition",
        "ClusterRole",
        "ClusterRoleList",
    ],
    // A binding depends on its role.
    &[
        "ClusterRoleBinding",
        "ClusterRoleBindingList",
        "Role",
        "RoleList",
    ],
    &["RoleBinding", "RoleBindingList", "Service"],
    // Pods depend on their volumes, their service account and, for their environment, on services.
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

/// Helm 4 appends these.
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

    /// Equal only for the same kind: use a stable sort to keep the order within a kind.
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
        // On uninstall, services are deleted after ingresses but before workloads.
        let all = || STAGES.iter().copied().flatten();
        let position = |kind: &str| all().position(|&other| other == kind);
        if self.uninstall && kind == "Service" {
            return position("IngressClass").map(|index| index * 2 - 1);
        }
        if let Some(index) = position(kind) {
            return Some(index * 2);
        }
        if !self.profile.rules().orders_webhooks {
            return None;
        }
        let index = WEBHOOKS.iter().position(|&other| other == kind)?;
        Some((all().count() + index) * 2)
    }
}

/// Whether objects of two adjacent kinds can be applied concurrently.
pub fn are_independent(a: &str, b: &str) -> bool {
    let has_both = |stage: &&[&str]| stage.contains(&a) && stage.contains(&b);
    a == b || STAGES.iter().any(has_both)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_in_a_later_stage_than_its_dependencies() {
        let dependencies = [
            ("ServiceAccount", "Secret"),
            ("ResourceQuota", "ConfigMap"),
            ("StorageClass", "PersistentVolumeClaim"),
            ("ClusterRole", "ClusterRoleBinding"),
            ("Role", "RoleBinding"),
            ("Service", "Deployment"),
            ("Namespace", "ServiceAccount"),
            ("CustomResourceDefinition", "Certificate"),
        ];
        for (dependency, dependent) in dependencies {
            assert!(
                !are_independent(dependency, dependent),
                "{dependency} {dependent}"
            );
            let order = KindOrder::install(Profile::Helm4).compare(dependency, dependent);
            assert_eq!(order, Ordering::Less, "{dependency} {dependent}");
        }
        assert!(are_independent("Certificate", "Certificate"));
    }

    #[test]
    fn uninstall_reverses_the_order_except_for_services() {
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

//! Which kinds may be applied or removed at the same time?
//!
//! The order of kinds is Helm's. Most neighbours in it need nothing of each other; where one does, a stage ends.

/// Kinds that stand side by side in the order and need nothing of each other.
const TOGETHER: &[&[&str]] = &[
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
];

/// Whether objects of two kinds that follow each other need not wait for each other.
pub(crate) fn are_together(one: &str, other: &str) -> bool {
    let share = |stage: &&[&str]| stage.contains(&one) && stage.contains(&other);
    one == other || TOGETHER.iter().any(share)
}

#[cfg(test)]
mod tests {
    use outrigger_chart::Profile;
    use outrigger_chart::manifest::kind_order::KindOrder;

    use super::*;

    /// A stage that had a gap would apply some of its kinds before, some after what stands in the gap.
    #[test]
    fn each_stage_is_one_stretch_of_the_order() {
        let order = KindOrder::install(Profile::Helm4);
        let mut kinds: Vec<&str> = TOGETHER.concat();
        let written = kinds.clone();
        kinds.sort_by(|a, b| order.compare(a, b));
        assert_eq!(kinds, written);
        let stages = kinds.chunk_by(|a, b| are_together(a, b));
        assert_eq!(stages.count(), TOGETHER.len());
    }

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
        }
        assert!(are_together("Certificate", "Certificate"));
    }
}

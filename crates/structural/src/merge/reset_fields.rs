//! `GetResetFields` of the strategies: the fields that a write to a resource or subresource cannot change, and of which
//! it therefore does not change the managers.

/// Paths of field names.
pub type Fields = &'static [&'static [&'static str]];

const STATUS: Fields = &[&["status"]];
const SPEC: Fields = &[&["spec"]];
const SPEC_AND_METADATA: Fields = &[&["metadata"], &["spec"]];

/// The reset fields of custom resources.
pub fn of_custom_resource(has_status: bool, subresource: &str) -> Fields {
    match subresource {
        "status" => SPEC_AND_METADATA,
        "" if has_status => STATUS,
        _ => &[],
    }
}

/// The reset fields of built-in kinds.
pub fn of_built_in(kind: &str, subresource: &str) -> Fields {
    match (kind, subresource) {
        ("CertificateSigningRequest", "") => &[&["spec"], &["status"]],
        ("CertificateSigningRequest", "status") => &[&["spec"], &["status", "conditions"]],
        ("CertificateSigningRequest", "approval") => &[&["spec"], &["status", "certificate"]],
        ("Deployment", "status") => &[&["spec"], &["metadata", "labels"]],
        ("Pod", "status") => &[
            &["spec"],
            &["metadata", "deletionTimestamp"],
            &["metadata", "ownerReferences"],
        ],
        (
            "APIService"
            | "FlowSchema"
            | "PriorityLevelConfiguration"
            | "ServiceCIDR"
            | "ValidatingAdmissionPolicy"
            | "VolumeAttachment",
            "status",
        ) => SPEC_AND_METADATA,
        (_, "status") => SPEC,
        (
            "APIService"
            | "CronJob"
            | "CustomResourceDefinition"
            | "DaemonSet"
            | "Deployment"
            | "FlowSchema"
            | "HorizontalPodAutoscaler"
            | "Ingress"
            | "Job"
            | "Namespace"
            | "Node"
            | "PersistentVolume"
            | "PersistentVolumeClaim"
            | "Pod"
            | "PodDisruptionBudget"
            | "PriorityLevelConfiguration"
            | "ReplicaSet"
            | "ReplicationController"
            | "ResourceQuota"
            | "Service"
            | "StatefulSet"
            | "ValidatingAdmissionPolicy"
            | "VolumeAttachment",
            "",
        )
        | ("Namespace", "finalize") => STATUS,
        _ => &[],
    }
}

//! The fields that an endpoint does not change, and whose ownership it therefore does not touch: the status through
//! the main endpoint, all else through the status endpoint.

/// Paths of field names.
pub type Fields = &'static [&'static [&'static str]];

const STATUS: Fields = &[&["status"]];
const SPEC: Fields = &[&["spec"]];
const SPEC_AND_METADATA: Fields = &[&["metadata"], &["spec"]];

/// The fields that an endpoint of a custom resource leaves alone.
pub fn of_custom_resource(has_status: bool, subresource: &str) -> Fields {
    match subresource {
        "status" => SPEC_AND_METADATA,
        "" if has_status => STATUS,
        _ => &[],
    }
}

/// The fields that an endpoint of a built-in kind leaves alone.
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

//! List types and map types of the built-in kinds. All other lists are atomic, all other maps granular.
//!
//! The rows are what kube-apiserver 1.36 publishes as `x-kubernetes-list-type`, `x-kubernetes-list-map-keys` and
//! `x-kubernetes-map-type`. Names omit the prefix `io.k8s.`.

use serde_json::Value;

/// The default of a list map key.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeyDefault {
    Absent,
    Empty,
    Zero,
    Tcp,
}

impl KeyDefault {
    pub(super) fn value(self) -> Option<Value> {
        match self {
            Self::Absent => None,
            Self::Empty => Some("".into()),
            Self::Zero => Some(0.into()),
            Self::Tcp => Some("TCP".into()),
        }
    }
}

use KeyDefault::{Absent, Empty, Tcp, Zero};

/// A list of type map: definition, property, keys.
type MapList = (
    &'static str,
    &'static str,
    &'static [(&'static str, KeyDefault)],
);

#[rustfmt::skip]
pub(super) const MAP_LISTS: &[MapList] = &[
    ("api.admissionregistration.v1.MutatingAdmissionPolicySpec", "matchConditions", &[("name", Empty)]),
    ("api.admissionregistration.v1.MutatingWebhook", "matchConditions", &[("name", Empty)]),
    ("api.admissionregistration.v1.MutatingWebhookConfiguration", "webhooks", &[("name", Empty)]),
    ("api.admissionregistration.v1.ValidatingAdmissionPolicySpec", "matchConditions", &[("name", Empty)]),
    ("api.admissionregistration.v1.ValidatingAdmissionPolicySpec", "variables", &[("name", Empty)]),
    ("api.admissionregistration.v1.ValidatingAdmissionPolicyStatus", "conditions", &[("type", Empty)]),
    ("api.admissionregistration.v1.ValidatingWebhook", "matchConditions", &[("name", Empty)]),
    ("api.admissionregistration.v1.ValidatingWebhookConfiguration", "webhooks", &[("name", Empty)]),
    ("api.apps.v1.DaemonSetStatus", "conditions", &[("type", Empty)]),
    ("api.apps.v1.DeploymentStatus", "conditions", &[("type", Empty)]),
    ("api.apps.v1.ReplicaSetStatus", "conditions", &[("type", Empty)]),
    ("api.apps.v1.StatefulSetStatus", "conditions", &[("type", Empty)]),
    ("api.autoscaling.v2.HorizontalPodAutoscalerStatus", "conditions", &[("type", Empty)]),
    ("api.certificates.v1.CertificateSigningRequestStatus", "conditions", &[("type", Empty)]),
    ("api.core.v1.ComponentStatus", "conditions", &[("type", Empty)]),
    ("api.core.v1.Container", "env", &[("name", Empty)]),
    ("api.core.v1.Container", "ports", &[("containerPort", Zero), ("protocol", Tcp)]),
    ("api.core.v1.Container", "volumeDevices", &[("devicePath", Empty)]),
    ("api.core.v1.Container", "volumeMounts", &[("mountPath", Empty)]),
    ("api.core.v1.ContainerStatus", "allocatedResourcesStatus", &[("name", Empty)]),
    ("api.core.v1.ContainerStatus", "volumeMounts", &[("mountPath", Empty)]),
    ("api.core.v1.EphemeralContainer", "env", &[("name", Empty)]),
    ("api.core.v1.EphemeralContainer", "ports", &[("containerPort", Zero), ("protocol", Tcp)]),
    ("api.core.v1.EphemeralContainer", "volumeDevices", &[("devicePath", Empty)]),
    ("api.core.v1.EphemeralContainer", "volumeMounts", &[("mountPath", Empty)]),
    ("api.core.v1.NamespaceStatus", "conditions", &[("type", Empty)]),
    ("api.core.v1.NodeStatus", "addresses", &[("type", Empty)]),
    ("api.core.v1.NodeStatus", "conditions", &[("type", Empty)]),
    ("api.core.v1.PersistentVolumeClaimStatus", "conditions", &[("type", Empty)]),
    ("api.core.v1.PodSpec", "containers", &[("name", Empty)]),
    ("api.core.v1.PodSpec", "ephemeralContainers", &[("name", Empty)]),
    ("api.core.v1.PodSpec", "hostAliases", &[("ip", Empty)]),
    ("api.core.v1.PodSpec", "imagePullSecrets", &[("name", Empty)]),
    ("api.core.v1.PodSpec", "initContainers", &[("name", Empty)]),
    ("api.core.v1.PodSpec", "resourceClaims", &[("name", Empty)]),
    ("api.core.v1.PodSpec", "schedulingGates", &[("name", Empty)]),
    ("api.core.v1.PodSpec", "topologySpreadConstraints", &[("topologyKey", Empty), ("whenUnsatisfiable", Empty)]),
    ("api.core.v1.PodSpec", "volumes", &[("name", Empty)]),
    ("api.core.v1.PodStatus", "conditions", &[("type", Empty)]),
    ("api.core.v1.PodStatus", "podIPs", &[("ip", Empty)]),
    ("api.core.v1.PodStatus", "resourceClaimStatuses", &[("name", Empty)]),
    ("api.core.v1.ReplicationControllerStatus", "conditions", &[("type", Empty)]),
    ("api.core.v1.ResourceRequirements", "claims", &[("name", Empty)]),
    ("api.core.v1.ResourceStatus", "resources", &[("resourceID", Empty)]),
    ("api.core.v1.ServiceAccount", "secrets", &[("name", Absent)]),
    ("api.core.v1.ServiceSpec", "ports", &[("port", Zero), ("protocol", Tcp)]),
    ("api.core.v1.ServiceStatus", "conditions", &[("type", Empty)]),
    ("api.flowcontrol.v1.FlowSchemaStatus", "conditions", &[("type", Absent)]),
    ("api.flowcontrol.v1.PriorityLevelConfigurationStatus", "conditions", &[("type", Absent)]),
    ("api.networking.v1.ServiceCIDRStatus", "conditions", &[("type", Empty)]),
    ("api.policy.v1.PodDisruptionBudgetStatus", "conditions", &[("type", Empty)]),
    ("api.resource.v1.AllocatedDeviceStatus", "conditions", &[("type", Empty)]),
    ("api.resource.v1.ResourceClaimStatus", "devices", &[("driver", Empty), ("device", Empty), ("pool", Empty), ("shareID", Absent)]),
    ("api.resource.v1.ResourceClaimStatus", "reservedFor", &[("uid", Empty)]),
    ("api.storage.v1.CSINodeSpec", "drivers", &[("name", Empty)]),
    ("apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionStatus", "conditions", &[("type", Empty)]),
    ("apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps", "x-kubernetes-validations", &[("rule", Empty)]),
    ("apimachinery.pkg.apis.meta.v1.ObjectMeta", "ownerReferences", &[("uid", Empty)]),
    ("kube-aggregator.pkg.apis.apiregistration.v1.APIServiceStatus", "conditions", &[("type", Empty)]),
];

/// Lists of type set.
#[rustfmt::skip]
pub(super) const SETS: &[(&str, &str)] = &[
    ("api.admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec", "validationActions"),
    ("api.batch.v1.PodFailurePolicyOnExitCodesRequirement", "values"),
    ("api.batch.v1.UncountedTerminatedPods", "failed"),
    ("api.batch.v1.UncountedTerminatedPods", "succeeded"),
    ("api.core.v1.ContainerRestartRuleOnExitCodes", "values"),
    ("api.core.v1.NodeAllocatableResourceClaimStatus", "containers"),
    ("api.core.v1.NodeSpec", "podCIDRs"),
    ("api.discovery.v1.Endpoint", "addresses"),
    ("api.flowcontrol.v1.NonResourcePolicyRule", "nonResourceURLs"),
    ("api.flowcontrol.v1.NonResourcePolicyRule", "verbs"),
    ("api.flowcontrol.v1.ResourcePolicyRule", "apiGroups"),
    ("api.flowcontrol.v1.ResourcePolicyRule", "namespaces"),
    ("api.flowcontrol.v1.ResourcePolicyRule", "resources"),
    ("api.flowcontrol.v1.ResourcePolicyRule", "verbs"),
    ("api.storage.v1.CSIDriverSpec", "volumeLifecycleModes"),
    ("apimachinery.pkg.apis.meta.v1.ObjectMeta", "finalizers"),
];

/// Atomic types.
#[rustfmt::skip]
pub(super) const ATOMIC_OBJECTS: &[&str] = &[
    "api.admissionregistration.v1.MatchResources",
    "api.admissionregistration.v1.NamedRuleWithOperations",
    "api.admissionregistration.v1.ParamKind",
    "api.admissionregistration.v1.ParamRef",
    "api.admissionregistration.v1.Variable",
    "api.autoscaling.v1.CrossVersionObjectReference",
    "api.core.v1.ConfigMapKeySelector",
    "api.core.v1.EndpointAddress",
    "api.core.v1.EndpointPort",
    "api.core.v1.FileKeySelector",
    "api.core.v1.LocalObjectReference",
    "api.core.v1.NodeSelector",
    "api.core.v1.NodeSelectorTerm",
    "api.core.v1.ObjectFieldSelector",
    "api.core.v1.ObjectReference",
    "api.core.v1.ResourceFieldSelector",
    "api.core.v1.ScopeSelector",
    "api.core.v1.SecretKeySelector",
    "api.core.v1.SecretReference",
    "api.core.v1.TopologySelectorTerm",
    "api.core.v1.TypedLocalObjectReference",
    "api.discovery.v1.EndpointPort",
    "api.networking.v1.ServiceBackendPort",
    "api.rbac.v1.RoleRef",
    "api.rbac.v1.Subject",
    "apimachinery.pkg.apis.meta.v1.LabelSelector",
    "apimachinery.pkg.apis.meta.v1.OwnerReference",
];

/// Fields whose map type differs from that of their type: atomic (true) or granular (false).
#[rustfmt::skip]
pub(super) const ATOMIC_MAPS: &[(&str, &str, bool)] = &[
    ("api.core.v1.PersistentVolumeClaimStatus", "allocatedResourceStatuses", false),
    ("api.core.v1.PersistentVolumeSpec", "claimRef", false),
    ("api.core.v1.PodSpec", "nodeSelector", true),
    ("api.core.v1.ReplicationControllerSpec", "selector", true),
    ("api.core.v1.ServiceSpec", "selector", true),
    ("api.node.v1.Scheduling", "nodeSelector", true),
];

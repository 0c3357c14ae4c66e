//! The list of built-in kinds.

use k8s_openapi::api::admissionregistration::v1 as admission;
use k8s_openapi::api::apps::v1 as apps;
use k8s_openapi::api::authentication::v1 as authentication;
use k8s_openapi::api::authorization::v1 as authorization;
use k8s_openapi::api::autoscaling::{v1 as autoscaling, v2 as autoscaling_v2};
use k8s_openapi::api::batch::v1 as batch;
use k8s_openapi::api::certificates::v1 as certificates;
use k8s_openapi::api::coordination::v1 as coordination;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::discovery::v1 as discovery;
use k8s_openapi::api::events::v1 as events;
use k8s_openapi::api::flowcontrol::v1 as flowcontrol;
use k8s_openapi::api::networking::v1 as networking;
use k8s_openapi::api::node::v1 as node;
use k8s_openapi::api::policy::v1 as policy;
use k8s_openapi::api::rbac::v1 as rbac;
use k8s_openapi::api::scheduling::v1 as scheduling;
use k8s_openapi::api::storage::v1 as storage;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1 as apiregistration;

use super::BuiltIn;

#[rustfmt::skip]
pub(super) static BUILT_IN: [BuiltIn; 66] = [
    BuiltIn::of::<core::Binding>(),
    BuiltIn::of::<core::ConfigMap>(),
    BuiltIn::of::<core::Endpoints>(),
    BuiltIn::of::<core::Event>(),
    BuiltIn::of::<core::LimitRange>(),
    BuiltIn::of::<core::Namespace>(),
    BuiltIn::of::<core::Node>(),
    BuiltIn::of::<core::PersistentVolume>(),
    BuiltIn::of::<core::PersistentVolumeClaim>(),
    BuiltIn::of::<core::Pod>(),
    BuiltIn::of::<core::PodTemplate>(),
    BuiltIn::of::<core::ReplicationController>(),
    BuiltIn::of::<core::ResourceQuota>(),
    BuiltIn::of::<core::Secret>(),
    BuiltIn::of::<core::Service>(),
    BuiltIn::of::<core::ServiceAccount>(),
    BuiltIn::of::<admission::MutatingAdmissionPolicy>(),
    BuiltIn::of::<admission::MutatingAdmissionPolicyBinding>(),
    BuiltIn::of::<admission::MutatingWebhookConfiguration>(),
    BuiltIn::of::<admission::ValidatingAdmissionPolicy>(),
    BuiltIn::of::<admission::ValidatingAdmissionPolicyBinding>(),
    BuiltIn::of::<admission::ValidatingWebhookConfiguration>(),
    BuiltIn::of::<apiextensions::CustomResourceDefinition>(),
    BuiltIn::of::<apiregistration::APIService>(),
    BuiltIn::of::<apps::ControllerRevision>(),
    BuiltIn::of::<apps::DaemonSet>(),
    BuiltIn::of::<apps::Deployment>(),
    BuiltIn::of::<apps::ReplicaSet>(),
    BuiltIn::of::<apps::StatefulSet>(),
    BuiltIn::of::<authentication::SelfSubjectReview>(),
    BuiltIn::of::<authentication::TokenRequest>(),
    BuiltIn::of::<authentication::TokenReview>(),
    BuiltIn::of::<authorization::LocalSubjectAccessReview>(),
    BuiltIn::of::<authorization::SelfSubjectAccessReview>(),
    BuiltIn::of::<authorization::SelfSubjectRulesReview>(),
    BuiltIn::of::<authorization::SubjectAccessReview>(),
    BuiltIn::of::<autoscaling::HorizontalPodAutoscaler>(),
    BuiltIn::of::<autoscaling::Scale>(),
    BuiltIn::of::<autoscaling_v2::HorizontalPodAutoscaler>(),
    BuiltIn::of::<batch::CronJob>(),
    BuiltIn::of::<batch::Job>(),
    BuiltIn::of::<certificates::CertificateSigningRequest>(),
    BuiltIn::of::<coordination::Lease>(),
    BuiltIn::of::<discovery::EndpointSlice>(),
    BuiltIn::of::<events::Event>(),
    BuiltIn::of::<flowcontrol::FlowSchema>(),
    BuiltIn::of::<flowcontrol::PriorityLevelConfiguration>(),
    BuiltIn::of::<networking::IPAddress>(),
    BuiltIn::of::<networking::Ingress>(),
    BuiltIn::of::<networking::IngressClass>(),
    BuiltIn::of::<networking::NetworkPolicy>(),
    BuiltIn::of::<networking::ServiceCIDR>(),
    BuiltIn::of::<node::RuntimeClass>(),
    BuiltIn::of::<policy::Eviction>(),
    BuiltIn::of::<policy::PodDisruptionBudget>(),
    BuiltIn::of::<rbac::ClusterRole>(),
    BuiltIn::of::<rbac::ClusterRoleBinding>(),
    BuiltIn::of::<rbac::Role>(),
    BuiltIn::of::<rbac::RoleBinding>(),
    BuiltIn::of::<scheduling::PriorityClass>(),
    BuiltIn::of::<storage::CSIDriver>(),
    BuiltIn::of::<storage::CSINode>(),
    BuiltIn::of::<storage::CSIStorageCapacity>(),
    BuiltIn::of::<storage::StorageClass>(),
    BuiltIn::of::<storage::VolumeAttachment>(),
    BuiltIn::of::<storage::VolumeAttributesClass>(),
];

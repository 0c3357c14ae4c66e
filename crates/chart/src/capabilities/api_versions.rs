//! The API versions that Helm assumes without a cluster: those of its client library, in its order, since templates can
//! print them.
//!
//! Helm 3.17.3 has the client libraries of Kubernetes 1.32, Helm 4.2.4 those of 1.36.

use crate::profile::Profile;

/// The API versions of a Helm version.
pub(super) fn of(profile: Profile) -> impl Iterator<Item = &'static str> {
    let is_included =
        move |(_, only): &&(&str, Option<Profile>)| only.is_none_or(|only| only == profile);
    let rows = API_VERSIONS.iter().filter(is_included);
    rows.map(|(api_version, _)| *api_version)
}

const HELM3: Option<Profile> = Some(Profile::Helm3);
const HELM4: Option<Profile> = Some(Profile::Helm4);

/// Each API version, and the only Helm version that has it; `None` for both.
const API_VERSIONS: &[(&str, Option<Profile>)] = &[
    ("v1", None),
    ("admissionregistration.k8s.io/v1", None),
    ("admissionregistration.k8s.io/v1alpha1", None),
    ("admissionregistration.k8s.io/v1beta1", None),
    ("internal.apiserver.k8s.io/v1alpha1", None),
    ("apps/v1", None),
    ("apps/v1beta1", None),
    ("apps/v1beta2", None),
    ("authentication.k8s.io/v1", None),
    ("authentication.k8s.io/v1alpha1", None),
    ("authentication.k8s.io/v1beta1", None),
    ("authorization.k8s.io/v1", None),
    ("authorization.k8s.io/v1beta1", None),
    ("autoscaling/v1", None),
    ("autoscaling/v2", None),
    ("autoscaling/v2beta1", HELM3),
    ("autoscaling/v2beta2", HELM3),
    ("batch/v1", None),
    ("batch/v1beta1", None),
    ("certificates.k8s.io/v1", None),
    ("certificates.k8s.io/v1beta1", None),
    ("certificates.k8s.io/v1alpha1", None),
    ("coordination.k8s.io/v1alpha2", None),
    ("coordination.k8s.io/v1beta1", None),
    ("coordination.k8s.io/v1", None),
    ("discovery.k8s.io/v1", None),
    ("discovery.k8s.io/v1beta1", None),
    ("events.k8s.io/v1", None),
    ("events.k8s.io/v1beta1", None),
    ("extensions/v1beta1", None),
    ("flowcontrol.apiserver.k8s.io/v1", None),
    ("flowcontrol.apiserver.k8s.io/v1beta1", None),
    ("flowcontrol.apiserver.k8s.io/v1beta2", None),
    ("flowcontrol.apiserver.k8s.io/v1beta3", None),
    ("networking.k8s.io/v1", None),
    ("networking.k8s.io/v1alpha1", HELM3),
    ("networking.k8s.io/v1beta1", None),
    ("node.k8s.io/v1", None),
    ("node.k8s.io/v1alpha1", None),
    ("node.k8s.io/v1beta1", None),
    ("policy/v1", None),
    ("policy/v1beta1", None),
    ("rbac.authorization.k8s.io/v1", None),
    ("rbac.authorization.k8s.io/v1beta1", None),
    ("rbac.authorization.k8s.io/v1alpha1", None),
    ("resource.k8s.io/v1", HELM4),
    ("resource.k8s.io/v1beta2", HELM4),
    ("resource.k8s.io/v1beta1", None),
    ("resource.k8s.io/v1alpha3", None),
    ("scheduling.k8s.io/v1alpha1", HELM3),
    ("scheduling.k8s.io/v1alpha2", HELM4),
    ("scheduling.k8s.io/v1beta1", None),
    ("scheduling.k8s.io/v1", None),
    ("storage.k8s.io/v1beta1", None),
    ("storage.k8s.io/v1", None),
    ("storage.k8s.io/v1alpha1", None),
    ("storagemigration.k8s.io/v1alpha1", HELM3),
    ("storagemigration.k8s.io/v1beta1", HELM4),
    ("apiextensions.k8s.io/v1beta1", None),
    ("apiextensions.k8s.io/v1", None),
];

//! The field labels that field selectors support for built-in kinds, and the paths of their values.

/// A field label.
#[derive(Clone, Copy)]
pub(super) struct FieldRow {
    pub(super) label: &'static str,
    /// Dotted paths, of which the first non-empty one is used.
    pub(super) paths: &'static [&'static str],
    /// The value if all paths are empty.
    pub(super) missing: &'static str,
}

/// A field label that equals its path.
const fn at(path: &'static [&'static str; 1]) -> FieldRow {
    label(path[0], path)
}

const fn label(label: &'static str, paths: &'static [&'static str]) -> FieldRow {
    FieldRow {
        label,
        paths,
        missing: "",
    }
}

const fn or(missing: &'static str, path: &'static [&'static str; 1]) -> FieldRow {
    FieldRow {
        missing,
        ..at(path)
    }
}

const NAME: FieldRow = at(&["metadata.name"]);
const NAMESPACE: FieldRow = at(&["metadata.namespace"]);

/// The default field labels, also of cluster-scoped kinds.
pub(super) const NAMESPACED: &[FieldRow] = &[NAME, NAMESPACE];

pub(super) const PODS: &[FieldRow] = &[
    NAME,
    NAMESPACE,
    at(&["spec.nodeName"]),
    label("spec.host", &["spec.nodeName"]),
    at(&["spec.restartPolicy"]),
    at(&["spec.schedulerName"]),
    at(&["spec.serviceAccountName"]),
    or("false", &["spec.hostNetwork"]),
    at(&["status.phase"]),
    label("status.podIP", &["status.podIPs.0.ip"]),
    // kube-apiserver accepts this label, but its value is always empty.
    label("status.podIPs", &[]),
    at(&["status.nominatedNodeName"]),
];

pub(super) const NODES: &[FieldRow] = &[NAME, or("false", &["spec.unschedulable"])];
pub(super) const CONTROLLERS: &[FieldRow] = &[NAME, NAMESPACE, or("0", &["status.replicas"])];
pub(super) const NAMESPACES: &[FieldRow] = &[NAME, at(&["status.phase"])];
pub(super) const SECRETS: &[FieldRow] = &[NAME, NAMESPACE, at(&["type"])];
pub(super) const SERVICES: &[FieldRow] =
    &[NAME, NAMESPACE, at(&["spec.clusterIP"]), at(&["spec.type"])];
pub(super) const JOBS: &[FieldRow] = &[
    NAME,
    NAMESPACE,
    FieldRow {
        label: "status.successful",
        paths: &["status.succeeded"],
        missing: "0",
    },
];
pub(super) const REQUESTS: &[FieldRow] = &[NAME, at(&["spec.signerName"])];
pub(super) const SLICES: &[FieldRow] = &[NAME, at(&["spec.nodeName"]), at(&["spec.driver"])];

/// Events are matched in their stored form, that of the core group.
pub(super) const EVENTS: &[FieldRow] = &[
    NAME,
    NAMESPACE,
    at(&["involvedObject.kind"]),
    at(&["involvedObject.namespace"]),
    at(&["involvedObject.name"]),
    at(&["involvedObject.uid"]),
    at(&["involvedObject.apiVersion"]),
    at(&["involvedObject.resourceVersion"]),
    at(&["involvedObject.fieldPath"]),
    at(&["reason"]),
    at(&["reportingComponent"]),
    label("source", &["source.component", "reportingComponent"]),
    at(&["type"]),
];

/// The same paths under the labels of `events.k8s.io`.
pub(super) const EVENTS_V1: &[FieldRow] = &[
    NAME,
    NAMESPACE,
    label("regarding.kind", &["involvedObject.kind"]),
    label("regarding.namespace", &["involvedObject.namespace"]),
    label("regarding.name", &["involvedObject.name"]),
    label("regarding.uid", &["involvedObject.uid"]),
    label("regarding.apiVersion", &["involvedObject.apiVersion"]),
    label(
        "regarding.resourceVersion",
        &["involvedObject.resourceVersion"],
    ),
    label("regarding.fieldPath", &["involvedObject.fieldPath"]),
    at(&["reason"]),
    label("reportingController", &["reportingComponent"]),
    at(&["type"]),
];

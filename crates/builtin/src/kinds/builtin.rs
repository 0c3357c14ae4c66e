//! The table of built-in kinds: those that kube-apiserver 1.36 serves by default.
//!
//! A test compares the table with the discovery documents of a real server. Alpha and beta versions are not served by
//! default and therefore omitted. Two kinds are served in two versions and stored in one: Events (`v1` and
//! `events.k8s.io/v1`) and `HorizontalPodAutoscalers` (`autoscaling/v1` and `v2`); see [`super::convert`].

use base64::Engine as _;
use sha2::Digest as _;

use super::builtin_fields::{self as fields, FieldRow};
use super::kind::{ALL_VERBS, Deletion, Kind, SelectableField, Storage, Subresource, Writes};
use crate::strategy;

/// One version of a group.
pub(super) struct Group {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    /// Groups with a higher priority are listed first.
    pub(super) priority: u32,
    rows: &'static [Row],
}

impl Group {
    pub(super) fn kinds(&self) -> impl Iterator<Item = Kind> + '_ {
        self.rows.iter().map(|row| row.kind(self))
    }
}

/// The built-in kinds of a group, in all versions.
pub(super) fn kinds_of(group: &str) -> impl Iterator<Item = Kind> {
    let versions = GROUPS.iter().filter(move |version| version.name == group);
    versions.flat_map(Group::kinds)
}

/// Whether a resource is built in, so that no definition may serve or delete its objects.
pub fn is_builtin(group: &str, plural: &str) -> bool {
    kinds_of(group).any(|kind| kind.plural == plural)
}

#[derive(Clone, Copy)]
struct Row {
    plural: &'static str,
    kind: &'static str,
    namespaced: bool,
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    verbs: &'static [&'static str],
    subresources: &'static [SubresourceRow],
    writes: Writes,
    deletion: Deletion,
    fields: &'static [FieldRow],
    /// The group and version of the stored objects, if different from the served ones.
    stored_as: Option<(&'static str, &'static str)>,
    /// The version in the storage version hash, if different.
    hashed_as: Option<&'static str>,
    deprecation: Option<&'static str>,
}

const fn namespaced(plural: &'static str, kind: &'static str) -> Row {
    Row {
        plural,
        kind,
        namespaced: true,
        short_names: &[],
        categories: &[],
        verbs: ALL_VERBS,
        subresources: &[],
        writes: Writes {
            generation: false,
            create_on_update: false,
            unconditional_update: true,
        },
        deletion: Deletion {
            returns_object: false,
            graceful: false,
            orphans_by_default: false,
            without_garbage_collection: false,
        },
        fields: fields::NAMESPACED,
        stored_as: None,
        hashed_as: None,
        deprecation: None,
    }
}

const fn cluster(plural: &'static str, kind: &'static str) -> Row {
    Row {
        namespaced: false,
        ..namespaced(plural, kind)
    }
}

impl Row {
    const fn short(mut self, names: &'static [&'static str]) -> Self {
        self.short_names = names;
        self
    }

    const fn in_all(mut self) -> Self {
        self.categories = &["all"];
        self
    }

    const fn extension(mut self) -> Self {
        self.categories = &["api-extensions"];
        self
    }

    const fn verbs(mut self, verbs: &'static [&'static str]) -> Self {
        self.verbs = verbs;
        self
    }

    const fn sub(mut self, subresources: &'static [SubresourceRow]) -> Self {
        self.subresources = subresources;
        self
    }

    const fn generation(mut self) -> Self {
        self.writes.generation = true;
        self
    }

    const fn create_on_update(mut self) -> Self {
        self.writes.create_on_update = true;
        self
    }

    /// Updates require a resource version.
    const fn conditional(mut self) -> Self {
        self.writes.unconditional_update = false;
        self
    }

    const fn returns_object(mut self) -> Self {
        self.deletion.returns_object = true;
        self
    }

    const fn orphans(mut self) -> Self {
        self.deletion.orphans_by_default = true;
        self
    }

    const fn graceful(mut self) -> Self {
        self.deletion.graceful = true;
        self
    }

    const fn no_gc(mut self) -> Self {
        self.deletion.without_garbage_collection = true;
        self
    }

    const fn fields(mut self, fields: &'static [FieldRow]) -> Self {
        self.fields = fields;
        self
    }

    const fn stored_as(mut self, group: &'static str, version: &'static str) -> Self {
        self.stored_as = Some((group, version));
        self
    }

    const fn hashed_as(mut self, version: &'static str) -> Self {
        self.hashed_as = Some(version);
        self
    }

    const fn deprecated(mut self, warning: &'static str) -> Self {
        self.deprecation = Some(warning);
        self
    }

    fn kind(&self, group: &Group) -> Kind {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Kind {
            group: group.name.to_owned(),
            version: group.version.to_owned(),
            kind: self.kind.to_owned(),
            list_kind: format!("{}List", self.kind),
            plural: self.plural.to_owned(),
            singular: self.kind.to_ascii_lowercase(),
            short_names: owned(self.short_names),
            categories: owned(self.categories),
            namespaced: self.namespaced,
            verbs: self.verbs.to_vec(),
            subresources: self
                .subresources
                .iter()
                .map(|row| row.subresource(self.kind))
                .collect(),
            storage: self.storage(group),
            writes: self.writes,
            deletion: self.deletion,
            strategy: strategy::for_kind(group.name, self.kind),
            fields: self.fields.iter().map(selectable).collect(),
            deprecation: self.deprecation.map(str::to_owned),
            custom: None,
        }
    }

    fn storage(&self, group: &Group) -> Storage {
        let (storage_group, version) = self.stored_as.unwrap_or((group.name, group.version));
        let is_stored = self.verbs.contains(&"get") && self.verbs.contains(&"create");
        let hashed = self.hashed_as.unwrap_or(version);
        Storage {
            group: storage_group.to_owned(),
            version: version.to_owned(),
            hash: if is_stored {
                storage_hash(storage_group, hashed, self.kind)
            } else {
                String::new()
            },
        }
    }
}

fn selectable(row: &FieldRow) -> SelectableField {
    SelectableField {
        label: row.label.to_owned(),
        paths: row.paths.iter().map(|&path| path.to_owned()).collect(),
        missing: row.missing,
    }
}

/// `storageVersionHash` of discovery.
pub(super) fn storage_hash(group: &str, version: &str, kind: &str) -> String {
    let digest = sha2::Sha256::digest(format!("{group}/{version}/{kind}"));
    base64::engine::general_purpose::STANDARD.encode(&digest[..8])
}

#[derive(Clone, Copy)]
struct SubresourceRow {
    name: &'static str,
    group_version: Option<(&'static str, &'static str)>,
    /// Empty for the kind of the resource itself.
    kind: &'static str,
    verbs: &'static [&'static str],
}

impl SubresourceRow {
    fn subresource(&self, kind: &str) -> Subresource {
        Subresource {
            name: self.name,
            group_version: self.group_version,
            kind: if self.kind.is_empty() {
                kind
            } else {
                self.kind
            }
            .to_owned(),
            verbs: self.verbs,
        }
    }
}

const COMPONENT_STATUS: &str = "v1 ComponentStatus is deprecated in v1.19+";
const ENDPOINTS: &str =
    "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";

const CREATE: &[&str] = &["create"];
const READ_WRITE: &[&str] = &["get", "patch", "update"];
const CONNECT: &[&str] = &["create", "get"];
const CONNECT_ANY: &[&str] = &["create", "delete", "get", "patch", "update"];

/// A subresource of the same kind.
const fn own(name: &'static str, verbs: &'static [&'static str]) -> SubresourceRow {
    other(name, "", verbs)
}

/// A subresource of another kind of the same group version.
const fn other(
    name: &'static str,
    kind: &'static str,
    verbs: &'static [&'static str],
) -> SubresourceRow {
    SubresourceRow {
        name,
        group_version: None,
        kind,
        verbs,
    }
}

/// A subresource of a kind of another group.
const fn foreign(
    name: &'static str,
    group_version: (&'static str, &'static str),
    kind: &'static str,
    verbs: &'static [&'static str],
) -> SubresourceRow {
    SubresourceRow {
        name,
        group_version: Some(group_version),
        kind,
        verbs,
    }
}

const STATUS: SubresourceRow = own("status", READ_WRITE);
const SCALE: SubresourceRow = foreign("scale", ("autoscaling", "v1"), "Scale", READ_WRITE);
const FINALIZE: SubresourceRow = own("finalize", &["update"]);
const APPROVAL: SubresourceRow = own("approval", READ_WRITE);
const NODE_PROXY: SubresourceRow = other("proxy", "NodeProxyOptions", CONNECT_ANY);
const SERVICE_PROXY: SubresourceRow = other("proxy", "ServiceProxyOptions", CONNECT_ANY);
const TOKEN: SubresourceRow = foreign(
    "token",
    ("authentication.k8s.io", "v1"),
    "TokenRequest",
    CREATE,
);
const POD_ENDPOINTS: &[SubresourceRow] = &[
    other("attach", "PodAttachOptions", CONNECT),
    other("binding", "Binding", CREATE),
    own("ephemeralcontainers", READ_WRITE),
    foreign("eviction", ("policy", "v1"), "Eviction", CREATE),
    other("exec", "PodExecOptions", CONNECT),
    own("log", &["get"]),
    other("portforward", "PodPortForwardOptions", CONNECT),
    other("proxy", "PodProxyOptions", CONNECT_ANY),
    own("resize", READ_WRITE),
    STATUS,
];

/// All built-in kinds. Groups and versions are in the order of discovery, kinds sorted by plural name.
#[rustfmt::skip]
pub(super) static GROUPS: &[Group] = &[
    Group { name: "", version: "v1", priority: 18_000, rows: &[
        namespaced("bindings", "Binding").verbs(CREATE),
        cluster("componentstatuses", "ComponentStatus").short(&["cs"]).verbs(&["get", "list"]).deprecated(COMPONENT_STATUS),
        namespaced("configmaps", "ConfigMap").short(&["cm"]),
        namespaced("endpoints", "Endpoints").short(&["ep"]).create_on_update().deprecated(ENDPOINTS),
        namespaced("events", "Event").short(&["ev"]).create_on_update().no_gc().fields(fields::EVENTS),
        namespaced("limitranges", "LimitRange").short(&["limits"]).create_on_update(),
        cluster("namespaces", "Namespace").short(&["ns"]).verbs(&["create", "delete", "get", "list", "patch", "update", "watch"]).sub(&[FINALIZE, STATUS]).returns_object().fields(fields::NAMESPACES),
        cluster("nodes", "Node").short(&["no"]).sub(&[NODE_PROXY, STATUS]).fields(fields::NODES),
        namespaced("persistentvolumeclaims", "PersistentVolumeClaim").short(&["pvc"]).sub(&[STATUS]).returns_object(),
        cluster("persistentvolumes", "PersistentVolume").short(&["pv"]).sub(&[STATUS]).returns_object(),
        namespaced("pods", "Pod").short(&["po"]).in_all().sub(POD_ENDPOINTS).generation().returns_object().graceful().fields(fields::PODS),
        namespaced("podtemplates", "PodTemplate").generation().returns_object(),
        namespaced("replicationcontrollers", "ReplicationController").short(&["rc"]).in_all().sub(&[SCALE, STATUS]).generation().orphans().fields(fields::CONTROLLERS),
        namespaced("resourcequotas", "ResourceQuota").short(&["quota"]).sub(&[STATUS]).returns_object(),
        namespaced("secrets", "Secret").fields(fields::SECRETS),
        namespaced("serviceaccounts", "ServiceAccount").short(&["sa"]).sub(&[TOKEN]).returns_object(),
        namespaced("services", "Service").short(&["svc"]).in_all().sub(&[SERVICE_PROXY, STATUS]).create_on_update().returns_object().fields(fields::SERVICES),
    ] },
    Group { name: "apiregistration.k8s.io", version: "v1", priority: 20_000, rows: &[
        cluster("apiservices", "APIService").extension().sub(&[STATUS]).conditional(),
    ] },
    Group { name: "apps", version: "v1", priority: 17_800, rows: &[
        namespaced("controllerrevisions", "ControllerRevision"),
        namespaced("daemonsets", "DaemonSet").short(&["ds"]).in_all().sub(&[STATUS]).generation(),
        namespaced("deployments", "Deployment").short(&["deploy"]).in_all().sub(&[SCALE, STATUS]).generation(),
        namespaced("replicasets", "ReplicaSet").short(&["rs"]).in_all().sub(&[SCALE, STATUS]).generation(),
        namespaced("statefulsets", "StatefulSet").short(&["sts"]).in_all().sub(&[SCALE, STATUS]).generation(),
    ] },
    Group { name: "events.k8s.io", version: "v1", priority: 17_750, rows: &[
        namespaced("events", "Event").short(&["ev"]).create_on_update().no_gc().fields(fields::EVENTS_V1).stored_as("", "v1"),
    ] },
    Group { name: "authentication.k8s.io", version: "v1", priority: 17_700, rows: &[
        cluster("selfsubjectreviews", "SelfSubjectReview").verbs(CREATE),
        cluster("tokenreviews", "TokenReview").verbs(CREATE),
    ] },
    Group { name: "authorization.k8s.io", version: "v1", priority: 17_600, rows: &[
        namespaced("localsubjectaccessreviews", "LocalSubjectAccessReview").verbs(CREATE),
        cluster("selfsubjectaccessreviews", "SelfSubjectAccessReview").verbs(CREATE),
        cluster("selfsubjectrulesreviews", "SelfSubjectRulesReview").verbs(CREATE),
        cluster("subjectaccessreviews", "SubjectAccessReview").verbs(CREATE),
    ] },
    Group { name: "autoscaling", version: "v2", priority: 17_500, rows: &[
        namespaced("horizontalpodautoscalers", "HorizontalPodAutoscaler").short(&["hpa"]).in_all().sub(&[STATUS]),
    ] },
    Group { name: "autoscaling", version: "v1", priority: 17_500, rows: &[
        namespaced("horizontalpodautoscalers", "HorizontalPodAutoscaler").short(&["hpa"]).in_all().sub(&[STATUS]).stored_as("autoscaling", "v2"),
    ] },
    Group { name: "batch", version: "v1", priority: 17_400, rows: &[
        namespaced("cronjobs", "CronJob").short(&["cj"]).in_all().sub(&[STATUS]).generation(),
        namespaced("jobs", "Job").in_all().sub(&[STATUS]).generation().orphans().fields(fields::JOBS),
    ] },
    Group { name: "certificates.k8s.io", version: "v1", priority: 17_300, rows: &[
        cluster("certificatesigningrequests", "CertificateSigningRequest").short(&["csr"]).sub(&[APPROVAL, STATUS]).fields(fields::REQUESTS),
    ] },
    Group { name: "networking.k8s.io", version: "v1", priority: 17_200, rows: &[
        cluster("ingressclasses", "IngressClass").generation(),
        namespaced("ingresses", "Ingress").short(&["ing"]).sub(&[STATUS]).generation(),
        cluster("ipaddresses", "IPAddress").short(&["ip"]),
        namespaced("networkpolicies", "NetworkPolicy").short(&["netpol"]).generation(),
        cluster("servicecidrs", "ServiceCIDR").sub(&[STATUS]),
    ] },
    Group { name: "policy", version: "v1", priority: 17_100, rows: &[
        namespaced("poddisruptionbudgets", "PodDisruptionBudget").short(&["pdb"]).sub(&[STATUS]).generation().conditional(),
    ] },
    Group { name: "rbac.authorization.k8s.io", version: "v1", priority: 17_000, rows: &[
        cluster("clusterrolebindings", "ClusterRoleBinding").create_on_update(),
        cluster("clusterroles", "ClusterRole").create_on_update(),
        namespaced("rolebindings", "RoleBinding").create_on_update(),
        namespaced("roles", "Role").create_on_update(),
    ] },
    Group { name: "storage.k8s.io", version: "v1", priority: 16_800, rows: &[
        cluster("csidrivers", "CSIDriver").conditional().returns_object(),
        cluster("csinodes", "CSINode").conditional().returns_object(),
        namespaced("csistoragecapacities", "CSIStorageCapacity").conditional(),
        cluster("storageclasses", "StorageClass").short(&["sc"]).returns_object(),
        cluster("volumeattachments", "VolumeAttachment").sub(&[STATUS]).conditional().returns_object(),
        cluster("volumeattributesclasses", "VolumeAttributesClass").short(&["vac"]).returns_object(),
    ] },
    Group { name: "admissionregistration.k8s.io", version: "v1", priority: 16_700, rows: &[
        cluster("mutatingadmissionpolicies", "MutatingAdmissionPolicy").extension().generation().conditional().hashed_as("v1beta1"),
        cluster("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding").extension().generation().conditional().hashed_as("v1beta1"),
        cluster("mutatingwebhookconfigurations", "MutatingWebhookConfiguration").extension().generation().conditional(),
        cluster("validatingadmissionpolicies", "ValidatingAdmissionPolicy").extension().sub(&[STATUS]).generation().conditional(),
        cluster("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding").extension().generation().conditional(),
        cluster("validatingwebhookconfigurations", "ValidatingWebhookConfiguration").extension().generation().conditional(),
    ] },
    Group { name: "apiextensions.k8s.io", version: "v1", priority: 16_700, rows: &[
        cluster("customresourcedefinitions", "CustomResourceDefinition").short(&["crd", "crds"]).extension().sub(&[STATUS]).generation().conditional().hashed_as("v1beta1"),
    ] },
    Group { name: "scheduling.k8s.io", version: "v1", priority: 16_600, rows: &[
        cluster("priorityclasses", "PriorityClass").short(&["pc"]).generation(),
    ] },
    Group { name: "coordination.k8s.io", version: "v1", priority: 16_500, rows: &[
        namespaced("leases", "Lease").create_on_update().conditional(),
    ] },
    Group { name: "node.k8s.io", version: "v1", priority: 16_300, rows: &[
        cluster("runtimeclasses", "RuntimeClass").create_on_update().conditional(),
    ] },
    Group { name: "discovery.k8s.io", version: "v1", priority: 16_200, rows: &[
        namespaced("endpointslices", "EndpointSlice").generation(),
    ] },
    Group { name: "resource.k8s.io", version: "v1", priority: 16_200, rows: &[
        cluster("deviceclasses", "DeviceClass").generation().returns_object(),
        namespaced("resourceclaims", "ResourceClaim").sub(&[STATUS]).returns_object(),
        namespaced("resourceclaimtemplates", "ResourceClaimTemplate").returns_object(),
        cluster("resourceslices", "ResourceSlice").generation().returns_object().fields(fields::SLICES),
    ] },
    Group { name: "flowcontrol.apiserver.k8s.io", version: "v1", priority: 16_100, rows: &[
        cluster("flowschemas", "FlowSchema").sub(&[STATUS]).generation(),
        cluster("prioritylevelconfigurations", "PriorityLevelConfiguration").sub(&[STATUS]).generation(),
    ] },
];

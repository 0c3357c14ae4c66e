//! TKEStack's Cluster: machines with files and hooks.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::{ApiResource, GroupVersionKind, ObjectMeta};
use serde_json::{Map, Value, json};

use super::fields::Fields;
use super::{Error, metadata};
use crate::cluster::{Cluster, ClusterPhase, ClusterSpec, ClusterType, Delegation, Features, File};
use crate::machine::{JumpHost, MachineAccess, Taint};
use crate::redacted_bytes::RedactedBytes;

/// The prefix of the names that TKEStack generates.
const NAME_PREFIX: &str = "cls-";

const UNSUPPORTED: &str = "remove the field, or use a Cluster of outrigger.dev";

/// The kind.
pub fn resource() -> ApiResource {
    let kind = GroupVersionKind::gvk("platform.tkestack.io", "v1", "Cluster");
    ApiResource::from_gvk_with_plural(&kind, "clusters")
}

/// The custom resource definition, which accepts what TKEStack accepts.
pub fn definition() -> CustomResourceDefinition {
    let text = include_bytes!("../../compat/tkestack-cluster.yaml");
    let value = outrigger_goyaml::parse_json(text).expect("the file is valid YAML");
    serde_json::from_value(value).expect("the file is a custom resource definition")
}

/// Converts the object. One without a name is left to the API server, which generates `cls-…`.
pub fn convert(object: Value) -> Result<Cluster, Error> {
    let (meta, mut spec) = Fields::of_object(object)?;
    let converted = convert_spec(&mut spec)?;
    spec.finish()?;
    let mut cluster = Cluster::new("", converted);
    cluster.metadata = convert_metadata(meta)?;
    Ok(cluster)
}

fn convert_metadata(meta: Map<String, Value>) -> Result<ObjectMeta, Error> {
    let prefix = meta.get("generateName").and_then(Value::as_str);
    let prefix = prefix.unwrap_or(NAME_PREFIX).to_owned();
    let mut metadata = metadata::convert(Value::Object(meta), Some(String::new()))?;
    metadata.namespace = None;
    if metadata.name.as_deref() == Some("") {
        metadata.name = None;
        metadata.generate_name = Some(prefix);
    }
    Ok(metadata)
}

fn convert_spec(spec: &mut Fields) -> Result<ClusterSpec, Error> {
    for name in ["tenantID", "finalizers", "appVersion", "clusterLevel"] {
        spec.ignore(name);
    }
    for name in [
        "bootstrapApps",
        "clusterCredentialRef",
        "etcd",
        "hostnameAsNodename",
        "networkArgs",
        "networkType",
        "properties",
        "scalingMachines",
    ] {
        spec.refuse(name, UNSUPPORTED)?;
    }
    Ok(ClusterSpec {
        kind: cluster_type(spec)?,
        display_name: spec.string("displayName")?,
        version: spec.string("version")?.unwrap_or_default(),
        cluster_cidr: spec.string("clusterCIDR")?,
        service_cidr: spec.string("serviceCIDR")?,
        dns_domain: spec.string("dnsDomain")?,
        network_device: spec.string("networkDevice")?,
        public_alternative_names: spec.strings("publicAlternativeNames")?,
        machines: machines(spec)?,
        features: features(spec.object("features")?)?,
        container_runtime_extra_args: spec.string_map("dockerExtraArgs")?,
        kubelet_extra_args: spec.string_map("kubeletExtraArgs")?,
        api_server_extra_args: spec.string_map("apiServerExtraArgs")?,
        controller_manager_extra_args: spec.string_map("controllerManagerExtraArgs")?,
        scheduler_extra_args: spec.string_map("schedulerExtraArgs")?,
        ..ClusterSpec::default()
    })
}

fn cluster_type(spec: &mut Fields) -> Result<ClusterType, Error> {
    let path = spec.path_of("type");
    match spec.string("type")?.as_deref() {
        Some("Baremetal") => Ok(ClusterType::Baremetal),
        Some("Imported") => Ok(ClusterType::Imported),
        None => Err(Error::Missing { path }),
        Some(other) => Err(Error::invalid(
            path,
            format!("{other:?} is not supported; use Baremetal or Imported"),
        )),
    }
}

fn machines(spec: &mut Fields) -> Result<Vec<MachineAccess>, Error> {
    let machines = spec.objects("machines")?.into_iter();
    machines.map(machine).collect()
}

fn machine(mut fields: Fields) -> Result<MachineAccess, Error> {
    let machine = MachineAccess {
        ip: fields.required_string("ip")?,
        port: port(&mut fields)?,
        username: fields
            .string("username")?
            .unwrap_or_else(|| "root".to_owned()),
        password: credential(&mut fields, "password")?,
        private_key: credential(&mut fields, "privateKey")?,
        passphrase: credential(&mut fields, "passPhrase")?,
        secret_ref: None,
        host_key: None,
        labels: fields.string_map("labels")?,
        taints: taints(&mut fields)?,
        proxy: jump_host(&mut fields)?,
    };
    fields.finish()?;
    Ok(machine)
}

fn port(fields: &mut Fields) -> Result<u16, Error> {
    let path = fields.path_of("port");
    let port = fields.integer("port")?.unwrap_or(22);
    u16::try_from(port).map_err(|_| Error::invalid(path, "must be between 1 and 65535"))
}

fn credential(fields: &mut Fields, name: &'static str) -> Result<Option<RedactedBytes>, Error> {
    let path = fields.path_of(name);
    let Some(text) = fields.string(name)? else {
        return Ok(None);
    };
    let decoded = serde_json::from_value(Value::String(text));
    decoded.map(Some).map_err(|_| Error::Invalid {
        path,
        reason: "must be base64-encoded".to_owned(),
        hint: Some("echo -n PASSWORD | base64"),
    })
}

fn taints(fields: &mut Fields) -> Result<Vec<Taint>, Error> {
    let taints = fields.list("taints")?.into_iter();
    taints
        .map(|(path, taint)| {
            serde_json::from_value(taint)
                .map_err(|error| Error::invalid(path, format!("is not a taint: {error}")))
        })
        .collect()
}

fn jump_host(fields: &mut Fields) -> Result<Option<JumpHost>, Error> {
    let mut proxy = fields.object("proxy")?;
    if proxy.is_empty() {
        return Ok(None);
    }
    let path = proxy.path_of("type");
    let kind = proxy.string("type")?;
    if kind.as_deref() != Some("SSHJumpServer") {
        return Err(Error::invalid(path, "must be SSHJumpServer"));
    }
    let host = JumpHost {
        ip: proxy.required_string("ip")?,
        port: port(&mut proxy)?,
        username: proxy
            .string("username")?
            .unwrap_or_else(|| "root".to_owned()),
        password: credential(&mut proxy, "password")?,
        private_key: credential(&mut proxy, "privateKey")?,
        passphrase: credential(&mut proxy, "passPhrase")?,
        secret_ref: None,
        host_key: None,
    };
    proxy.finish()?;
    Ok(Some(host))
}

fn features(mut fields: Fields) -> Result<Features, Error> {
    for name in [
        "authzWebhookAddr",
        "csiOperator",
        "enableCilium",
        "enableMetricsServer",
        "gpuType",
        "ha",
        "internalLB",
        "ipv6DualStack",
        "publicLB",
    ] {
        fields.refuse(name, UNSUPPORTED)?;
    }
    let path = fields.path_of("containerRuntime");
    if let Some(runtime) = fields.string("containerRuntime")?
        && runtime != "containerd"
    {
        return Err(Error::invalid(
            path,
            format!("{runtime:?} is not supported; use containerd"),
        ));
    }
    let delegate_conditions = fields.strings("delegateConditions")?;
    let features = Features {
        files: files(&mut fields)?,
        hooks: fields.string_map("hooks")?,
        skip_conditions: fields.strings("skipConditions")?,
        delegation: (!delegate_conditions.is_empty()).then(|| Delegation {
            owner: "expansion-operator".to_owned(),
            timeout: None,
        }),
        delegate_conditions,
        enable_master_schedule: fields.boolean("enableMasterSchedule")?.unwrap_or_default(),
        ipvs: fields.boolean("ipvs")?.unwrap_or_default(),
        ..Features::default()
    };
    fields.refuse("upgrade", UNSUPPORTED)?;
    fields.finish()?;
    Ok(features)
}

fn files(fields: &mut Fields) -> Result<Vec<File>, Error> {
    let files = fields.objects("files")?.into_iter();
    files
        .map(|mut fields| {
            let file = File {
                src: fields.required_string("src")?,
                dst: fields.required_string("dst")?,
                // Not TKEStack's, which checks no destination: written by merging an expansion package.
                force: fields.boolean("force")?.unwrap_or_default(),
            };
            fields.finish()?;
            Ok(file)
        })
        .collect()
}

/// Applies a change of the converted cluster to the object itself: its version and its annotations.
pub fn change(object: &Value, change: impl FnOnce(&mut Cluster)) -> Result<Value, Error> {
    let before = convert(object.clone())?;
    let mut after = before.clone();
    change(&mut after);
    let mut object = object.clone();
    if before.spec.version != after.spec.version {
        object["spec"]["version"] = json!(after.spec.version);
    }
    metadata::change_annotations(&mut object, &before.metadata, &after.metadata);
    if convert(object.clone())?.spec == after.spec {
        return Ok(object);
    }
    Err(Error::Invalid {
        path: "spec".to_owned(),
        reason: "a Cluster of platform.tkestack.io does not support this change".to_owned(),
        hint: Some("edit the object with kubectl"),
    })
}

/// The status of the object, in TKEStack's format, for the cluster that it was converted to.
pub fn status(cluster: &Cluster) -> Value {
    let status = cluster.status.clone().unwrap_or_default();
    let phase = match status.phase {
        ClusterPhase::Pending | ClusterPhase::Initializing => "Initializing",
        // TKEStack has no phases of their own for them.
        ClusterPhase::Running
        | ClusterPhase::Renewing
        | ClusterPhase::Restoring
        | ClusterPhase::Configuring => "Running",
        ClusterPhase::Upgrading => "Upgrading",
        ClusterPhase::Upscaling => "Upscaling",
        ClusterPhase::Downscaling => "Downscaling",
        ClusterPhase::Failed => "Failed",
        ClusterPhase::Terminating => "Terminating",
    };
    let conditions: Vec<Value> = status
        .conditions
        .iter()
        .map(|condition| {
            json!({
                "type": condition.kind,
                "status": condition.status,
                "reason": condition.reason,
                "message": condition.message,
                "lastTransitionTime": condition.last_transition_time,
            })
        })
        .collect();
    let mut converted =
        BTreeMap::from([("phase", json!(phase)), ("conditions", json!(conditions))]);
    if let Some(version) = status.version {
        converted.insert("version", json!(version));
    }
    if !status.message.is_empty() {
        converted.insert("message", json!(status.message));
    }
    json!(converted)
}

/// The status of an object that cannot be converted.
pub fn rejected_status(error: &Error) -> Value {
    let hint = error.hint().map(|hint| format!(" ({hint})"));
    let message = format!("{error}{}", hint.unwrap_or_default());
    json!({"phase": "Failed", "reason": "Refused", "message": message})
}

#[cfg(test)]
mod tests;

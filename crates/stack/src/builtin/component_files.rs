//! Files of Kubernetes components on a machine: static pods, the kubelet's configuration, kernel settings.

use std::collections::BTreeMap;

use outrigger_goyaml as goyaml;
use outrigger_model::construct::{Component, Flag, Volume};
use outrigger_model::{Model, Placement, Role};
use serde_json::{Map, Value, json};

/// The files by path. etcd machines have only kernel settings.
pub(super) fn component_files(
    model: &Model,
    configuration: &Value,
    placement: &Placement,
) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let settings: String = model
        .kernel_settings
        .for_placement(placement)
        .map(|entry| format!("{} = {}\n", entry.value.name, entry.value.value))
        .collect();
    if !settings.is_empty() {
        files.insert("/etc/sysctl.d/90-outrigger.conf".to_owned(), settings);
    }
    if placement.role() == Role::Etcd {
        return files;
    }
    if placement.role() == Role::Controller {
        for component in [
            Component::KubeApiserver,
            Component::KubeControllerManager,
            Component::KubeScheduler,
        ] {
            let pod = static_pod(model, configuration, placement, component);
            files.insert(
                format!("/etc/kubernetes/manifests/{component}.yaml"),
                yaml(&pod),
            );
        }
    }
    files.insert(
        "/etc/kubernetes/kubelet.yaml".to_owned(),
        yaml(&kubelet_configuration(model, placement)),
    );
    files.insert(
        "/etc/kubernetes/kubelet.env".to_owned(),
        kubelet_environment(model, placement),
    );
    let proxy = component_configuration(
        model,
        placement,
        Component::KubeProxy,
        "kubeproxy.config.k8s.io/v1alpha1",
        "KubeProxyConfiguration",
    );
    files.insert("/etc/kubernetes/kube-proxy.yaml".to_owned(), yaml(&proxy));
    files
}

pub(super) fn yaml(value: &Value) -> String {
    String::from_utf8(goyaml::write_json(value)).unwrap_or_default()
}

/// The command line of a component: one argument for each flag, sorted; sets are joined.
fn arguments(model: &Model, placement: &Placement, component: Component) -> Vec<String> {
    let mut flags: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for entry in model
        .flags
        .for_placement(placement)
        .filter(|entry| entry.value.component == component)
    {
        let Flag { name, value, .. } = &entry.value;
        flags.entry(name).or_default().push(value);
    }
    flags
        .into_iter()
        .map(|(name, values)| format!("--{name}={}", values.join(",")))
        .collect()
}

fn static_pod(
    model: &Model,
    configuration: &Value,
    placement: &Placement,
    component: Component,
) -> Value {
    let version = configuration
        .get("kubernetesVersion")
        .and_then(Value::as_str)
        .unwrap_or("1.36.0");
    let version = version.trim_start_matches('v');
    let volumes: Vec<&Volume> = model
        .volumes
        .for_placement(placement)
        .map(|entry| &entry.value)
        .filter(|volume| volume.component == component)
        .collect();
    let mut command = vec![component.name().to_owned()];
    command.extend(arguments(model, placement, component));
    let mounts = volumes.iter().map(|volume| json!({"name": volume.name, "mountPath": volume.path, "readOnly": volume.read_only}));
    let sources = volumes
        .iter()
        .map(|volume| json!({"name": volume.name, "hostPath": {"path": volume.path}}));
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": component.name(), "namespace": "kube-system", "labels": {"component": component.name(), "tier": "control-plane"}},
        "spec": {
            "hostNetwork": true,
            "priorityClassName": "system-node-critical",
            "containers": [{
                "name": component.name(),
                "image": format!("registry.k8s.io/{component}:v{version}"),
                "command": command,
                "volumeMounts": mounts.collect::<Value>(),
            }],
            "volumes": sources.collect::<Value>(),
        },
    })
}

/// A configuration file of a component, with the settings of all plugins.
fn component_configuration(
    model: &Model,
    placement: &Placement,
    component: Component,
    api_version: &str,
    kind: &str,
) -> Value {
    let mut document = Map::from_iter([
        ("apiVersion".to_owned(), json!(api_version)),
        ("kind".to_owned(), json!(kind)),
    ]);
    let settings = model
        .component_settings
        .for_placement(placement)
        .map(|entry| &entry.value);
    for setting in settings.filter(|setting| setting.component == component) {
        insert(&mut document, &setting.path, &setting.value);
    }
    Value::Object(document)
}

fn insert(document: &mut Map<String, Value>, path: &[String], value: &Value) {
    match path {
        [] => {}
        [name] => {
            document.insert(name.clone(), value.clone());
        }
        [name, rest @ ..] => {
            let child = document.entry(name).or_insert_with(|| json!({}));
            if let Value::Object(child) = child {
                insert(child, rest, value);
            }
        }
    }
}

fn kubelet_configuration(model: &Model, placement: &Placement) -> Value {
    let mut document = component_configuration(
        model,
        placement,
        Component::Kubelet,
        "kubelet.config.k8s.io/v1beta1",
        "KubeletConfiguration",
    );
    let taints = model.node_taints.for_placement(placement).map(|entry| {
        let taint = &entry.value;
        json!({"key": taint.key, "value": taint.value, "effect": format!("{:?}", taint.effect)})
    });
    let taints: Vec<Value> = taints.collect();
    if !taints.is_empty() {
        document["registerWithTaints"] = Value::Array(taints);
    }
    document
}

/// The flags of the kubelet, including node labels, for its unit.
fn kubelet_environment(model: &Model, placement: &Placement) -> String {
    let mut arguments = arguments(model, placement, Component::Kubelet);
    let labels = model
        .node_labels
        .for_placement(placement)
        .map(|entry| format!("{}={}", entry.value.key, entry.value.value));
    let labels: Vec<String> = labels.collect();
    if !labels.is_empty() {
        arguments.push(format!("--node-labels={}", labels.join(",")));
    }
    format!("KUBELET_ARGS={}\n", arguments.join(" "))
}

//! The command of a hook: arguments, environment and context.

use std::collections::BTreeMap;

use outrigger_api::cluster::Cluster;
use outrigger_api::hook::{Hook, HookScope};
use outrigger_api::machine::{Machine, MachineRole};
use serde_json::{Map, Value, json};

use crate::Command;
use crate::lifecycle::plain_version;
use crate::steps::hook_timeout;

/// Prefixes of labels and annotations that tools write for themselves. Many record the whole object, with the credentials
/// of its machines.
const INTERNAL: &[&str] = &[
    "kubectl.kubernetes.io/",
    "outrigger.dev/",
    "kapp.k14s.io/",
    "objectset.rio.cattle.io/",
];

/// Shorter credentials are contained in too many texts to be recognized.
const MIN_SECRET: usize = 6;

/// What Linux accepts: one argument, and all of them together with the environment.
const MAX_ARGUMENT: usize = 128 * 1024 - 1;
const MAX_ARGUMENTS: usize = 1024 * 1024;

/// Labels and annotations that are too large to be arguments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentLimit {
    #[error("the value of {0} is larger than 128 KiB, the limit for an argument of a hook")]
    One(String),
    #[error(
        "labels and annotations are larger than 1 MiB together, the limit for the arguments of a hook"
    )]
    All,
}

/// The labels or annotations that users wrote, without those that contain credentials of machines.
fn of_users<'a>(
    pairs: Option<&'a BTreeMap<String, String>>,
    credentials: &[String],
) -> BTreeMap<&'a str, &'a str> {
    let is_internal = |key: &str| INTERNAL.iter().any(|prefix| key.starts_with(prefix));
    let is_secret = |value: &str| credentials.iter().any(|secret| value.contains(secret));
    let pairs = pairs.into_iter().flatten();
    pairs
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .filter(|(key, value)| !is_internal(key) && !is_secret(value))
        .collect()
}

/// The credentials in the spec, decoded and as they are in the object.
fn credentials(cluster: &Cluster) -> Vec<String> {
    let machines = cluster.spec.machines.iter();
    let found = machines.flat_map(|access| {
        let jump = access.proxy.iter();
        let jump = jump.flat_map(|jump| jump.credentials().all());
        access.credentials().all().chain(jump)
    });
    found
        .flat_map(|secret| {
            let plain = String::from_utf8_lossy(secret.expose()).into_owned();
            let encoded = serde_json::to_value(secret).unwrap_or_default();
            [Some(plain), encoded.as_str().map(ToOwned::to_owned)]
        })
        .flatten()
        .filter(|secret| secret.len() >= MIN_SECRET)
        .collect()
}

/// The labels and annotations of a cluster as `key=value`, sorted. If a key is both, the annotation comes first.
pub fn hook_arguments(cluster: &Cluster) -> Result<Vec<String>, ArgumentLimit> {
    let credentials = credentials(cluster);
    let annotations = of_users(cluster.metadata.annotations.as_ref(), &credentials);
    let labels = of_users(cluster.metadata.labels.as_ref(), &credentials);
    let mut pairs: Vec<_> = annotations.into_iter().chain(labels).collect();
    pairs.sort_by_key(|(key, _)| *key);
    let mut total = 0;
    let mut arguments = Vec::new();
    for (key, value) in pairs {
        let argument = format!("{key}={value}");
        if argument.len() > MAX_ARGUMENT {
            return Err(ArgumentLimit::One(key.to_owned()));
        }
        total += argument.len() + 1;
        arguments.push(argument);
    }
    if total > MAX_ARGUMENTS {
        return Err(ArgumentLimit::All);
    }
    Ok(arguments)
}

/// The command that runs a hook on a machine.
pub(crate) fn hook_command(
    hook: &Hook,
    path: &str,
    cluster: &Cluster,
    machine: &Machine,
    attempt: u32,
) -> Result<Command, ArgumentLimit> {
    let arguments = match hook.scope {
        HookScope::Cluster => hook_arguments(cluster)?,
        HookScope::Node | HookScope::Installer => Vec::new(),
    };
    let name = |metadata: &kube::core::ObjectMeta| metadata.name.clone().unwrap_or_default();
    let role = match machine.spec.role {
        MachineRole::ControlPlane => "ControlPlane",
        MachineRole::Worker => "Worker",
    };
    let environment = BTreeMap::from([
        ("OUTRIGGER_CLUSTER", name(&cluster.metadata)),
        ("OUTRIGGER_MACHINE", name(&machine.metadata)),
        ("OUTRIGGER_ADDRESS", machine.spec.access.ip.clone()),
        ("OUTRIGGER_ROLE", role.to_owned()),
        ("OUTRIGGER_HOOK", hook.name.to_owned()),
        ("OUTRIGGER_ATTEMPT", attempt.to_string()),
        (
            "OUTRIGGER_VERSION",
            plain_version(&cluster.spec.version).to_owned(),
        ),
    ]);
    let context = context(&environment, cluster, machine).to_string();
    Ok(Command {
        program: path.to_owned(),
        arguments,
        environment,
        context,
        timeout: hook_timeout(&cluster.spec.features),
    })
}

/// Everything about the hook, without credentials.
fn context(
    environment: &BTreeMap<&'static str, String>,
    cluster: &Cluster,
    machine: &Machine,
) -> Value {
    let key = |name: &str| name.trim_start_matches("OUTRIGGER_").to_lowercase();
    let mut context: Map<String, Value> = environment
        .iter()
        .map(|(name, value)| (key(name), json!(value)))
        .collect();
    let credentials = credentials(cluster);
    let metadata = &cluster.metadata;
    let labels = of_users(metadata.labels.as_ref(), &credentials);
    let annotations = of_users(metadata.annotations.as_ref(), &credentials);
    context.insert("labels".to_owned(), json!(labels));
    context.insert("annotations".to_owned(), json!(annotations));
    context.insert(
        "machineLabels".to_owned(),
        json!(machine.spec.access.labels),
    );
    let addresses = cluster.spec.machines.iter().map(|machine| &machine.ip);
    let addresses: Vec<&String> = addresses.collect();
    context.insert("controlPlane".to_owned(), json!(addresses));
    context.insert("clusterCIDR".to_owned(), json!(cluster.spec.cluster_cidr));
    context.insert("serviceCIDR".to_owned(), json!(cluster.spec.service_cidr));
    Value::Object(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "calls are easier to read")]
    fn cluster(labels: Value, annotations: Value) -> Cluster {
        serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster",
            "metadata": {"name": "cls-a", "labels": labels, "annotations": annotations},
            "spec": {"version": "1.18.3", "machines": [{"ip": "10.0.0.9", "password": "c2VjcmV0"}]},
        }))
        .unwrap()
    }

    fn machine() -> Machine {
        serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Machine", "metadata": {"name": "m"},
            "spec": {"cluster": "cls-a", "role": "ControlPlane", "ip": "10.0.0.9", "password": "c2VjcmV0"},
        }))
        .unwrap()
    }

    #[test]
    fn arguments_are_sorted_and_each_is_one() {
        let cluster = cluster(
            json!({"location": "xa", "b": "it's\n$(reboot) \"x\""}),
            json!({
                "node.alpha.kubernetes.io/test": "hello world",
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                "outrigger.dev/retry": "1",
            }),
        );
        assert_eq!(
            hook_arguments(&cluster).unwrap(),
            [
                "b=it's\n$(reboot) \"x\"",
                "location=xa",
                "node.alpha.kubernetes.io/test=hello world"
            ]
        );
    }

    #[test]
    fn only_cluster_hooks_have_arguments_and_no_context_has_credentials() {
        let cluster = cluster(json!({"location": "xa"}), json!({}));
        let command = |name: &str| {
            let hook = Hook::of_cluster(name).unwrap();
            hook_command(hook, "/tmp/hook", &cluster, &machine(), 2).unwrap()
        };
        assert_eq!(command("PreInstall").arguments, [""; 0]);
        let command = command("PreClusterInstall");
        assert_eq!(command.arguments, ["location=xa"]);
        assert_eq!(command.environment["OUTRIGGER_ATTEMPT"], "2");
        assert_eq!(command.environment["OUTRIGGER_ROLE"], "ControlPlane");
        let context: Value = serde_json::from_str(&command.context).unwrap();
        assert_eq!(context["hook"], "PreClusterInstall");
        assert_eq!(context["labels"]["location"], "xa");
        assert!(!command.context.contains("c2VjcmV0") && !command.context.contains("secret"));
    }

    #[test]
    fn what_tools_record_about_the_object_reaches_no_hook() {
        let applied = r#"{"spec":{"machines":[{"password":"c2VjcmV0"}]}}"#;
        let annotations = json!({
            "kubectl.kubernetes.io/last-applied-configuration": applied,
            "kapp.k14s.io/original": applied,
            "objectset.rio.cattle.io/applied": "H4sIcompressed",
            "backup.example.com/object": applied,
            "backup.example.com/plain": "password: secret",
            "owner": "ops",
        });
        let cluster = cluster(json!({"location": "xa"}), annotations);
        for name in ["PreInstall", "PreClusterInstall"] {
            let hook = Hook::of_cluster(name).unwrap();
            let command = hook_command(hook, "/tmp/hook", &cluster, &machine(), 1).unwrap();
            let context: Value = serde_json::from_str(&command.context).unwrap();
            assert_eq!(context["annotations"], json!({"owner": "ops"}));
            assert_eq!(context["labels"], json!({"location": "xa"}));
            let arguments = command.arguments.join(" ");
            assert!(!arguments.contains("c2VjcmV0") && !arguments.contains("secret"));
            assert!(!arguments.contains("compressed"), "{arguments}");
        }
    }

    #[test]
    fn arguments_beyond_the_limits_of_linux_are_refused() {
        let large = cluster(json!({}), json!({"a": "x".repeat(128 * 1024)}));
        let error = hook_arguments(&large).unwrap_err();
        assert_eq!(error, ArgumentLimit::One("a".to_owned()));
        let many: Map<String, Value> = (0..20)
            .map(|i| (format!("a{i}"), json!("x".repeat(100 * 1024))))
            .collect();
        let many = cluster(json!({}), Value::Object(many));
        assert_eq!(hook_arguments(&many).unwrap_err(), ArgumentLimit::All);
    }
}

//! Reads clusters from files, including those of TKEStack, with the comments of its documentation; and the workers and
//! Secrets that belong to them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::{Context as _, anyhow, bail, ensure};
use k8s_openapi::api::core::v1::Secret;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use outrigger_api::cluster::{Cluster, validate};
use outrigger_api::compat;
use outrigger_api::machine::{Machine, MachineAccess};
use outrigger_apimachinery::nearest::nearest;
use serde_json::Value;

use crate::commands::machine::add::ensure_valid;
use crate::input_file;
use crate::report::{HintExt as _, hinted, note};

const KINDS: &str = "a file has Clusters of outrigger.dev/v1beta1 or platform.tkestack.io/v1, Machines of \
                     outrigger.dev/v1beta1, and Secrets";

/// The objects of a file. `Debug` does not show Secrets.
#[derive(Default)]
pub(crate) struct Manifests {
    pub(crate) clusters: Vec<Cluster>,
    /// Workers.
    pub(crate) machines: Vec<Machine>,
    pub(crate) secrets: Vec<Secret>,
}

impl fmt::Debug for Manifests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secrets: Vec<String> = self.secrets.iter().map(ResourceExt::name_any).collect();
        f.debug_struct("Manifests")
            .field("clusters", &self.clusters)
            .field("machines", &self.machines)
            .field("secrets", &secrets)
            .finish()
    }
}

/// Reads the objects of a file, or of stdin for the path `-`, and validates them.
pub(crate) fn read(path: &Path) -> anyhow::Result<Manifests> {
    if path == Path::new("-") {
        let text = String::from_utf8(input_file::read_stdin()?).context("stdin")?;
        return parse("stdin", &text);
    }
    let text = input_file::read_text(path)?;
    parse(&path.display().to_string(), &text)
}

fn parse(name: &str, text: &str) -> anyhow::Result<Manifests> {
    of_objects(name, objects(name, text)?)
}

/// The objects of a text, with the numbers of their documents.
pub(crate) fn objects(name: &str, text: &str) -> anyhow::Result<Vec<(usize, Value)>> {
    let text = compat::strip_comments(text);
    let mut objects = Vec::new();
    for (index, document) in outrigger_goyaml::documents(text.as_bytes()).enumerate() {
        let location = || format!("{name}, document {}", index + 1);
        let document = document.map_err(|error| anyhow!("{}: {}", location(), error.rest))?;
        let object = outrigger_goyaml::parse_json(&document).with_context(location)?;
        if !object.is_null() {
            objects.push((index + 1, object));
        }
    }
    Ok(objects)
}

/// Validates objects, of which one is a cluster.
pub(crate) fn of_objects(name: &str, objects: Vec<(usize, Value)>) -> anyhow::Result<Manifests> {
    let mut manifests = Manifests::default();
    for (number, object) in objects {
        let location = || format!("{name}, document {number}");
        manifests.add(object).with_context(location)?;
    }
    let Manifests { clusters, .. } = &manifests;
    ensure!(!clusters.is_empty(), "{name} contains no clusters");
    manifests.ensure_distinct_addresses()?;
    Ok(manifests)
}

impl Manifests {
    fn add(&mut self, object: Value) -> anyhow::Result<()> {
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        if (api_version.as_str(), kind.as_str()) == ("v1", "Secret") {
            self.secrets.push(read_secret(object)?);
            return Ok(());
        }
        let explain = |error: compat::Error| {
            let hint = error.hint();
            hinted(error, hint)
        };
        if let Some(machine) = compat::read_machine(object.clone()).map_err(explain)? {
            ensure_valid(&machine)?;
            self.machines.push(machine);
            return Ok(());
        }
        match compat::read_cluster(object).map_err(explain)? {
            Some(cluster) => self.clusters.push(checked(cluster)?),
            None if kind.is_empty() => bail!("the object has no kind"),
            None if api_version.is_empty() => {
                return Err(anyhow!("the {kind} has no apiVersion")).hint(KINDS);
            }
            None => return Err(anyhow!("{kind} of {api_version:?} is not supported")).hint(KINDS),
        }
        Ok(())
    }

    /// An address belongs to one machine.
    fn ensure_distinct_addresses(&self) -> anyhow::Result<()> {
        let name = |cluster: &Cluster| match &cluster.metadata.name {
            Some(name) => format!("cluster {name}"),
            None => "a cluster without a name".to_owned(),
        };
        let of_clusters = self.clusters.iter().flat_map(|cluster| {
            let machines = cluster.spec.machines.iter();
            machines.map(move |access| (access.address(), name(cluster)))
        });
        let of_machines = self.machines.iter().map(|machine| {
            let owner = format!("machine {}", machine.name_any());
            (machine.spec.access.address(), owner)
        });
        let mut owners: BTreeMap<String, String> = BTreeMap::new();
        for (address, owner) in of_clusters.chain(of_machines) {
            if let Some(other) = owners.insert(address.clone(), owner.clone()) {
                bail!("{address} is the address of {other} and of {owner}");
            }
        }
        Ok(())
    }

    /// The machines of a cluster of the file.
    pub(crate) fn machines_of(&self, cluster: &Cluster) -> impl Iterator<Item = &Machine> {
        let name = cluster.metadata.name.clone();
        let machines = self.machines.iter();
        machines.filter(move |machine| Some(&machine.spec.cluster) == name.as_ref())
    }

    /// Fails if the cluster of a machine is neither in the file nor on the server.
    pub(crate) async fn ensure_clusters_of_machines(&self, client: &Client) -> anyhow::Result<()> {
        if self.ensure_own_clusters(&[]).is_ok() {
            return Ok(());
        }
        let api: Api<Cluster> = Api::all(client.clone());
        let list = api.list_metadata(&ListParams::default()).await;
        let list = list.context("failed to list clusters")?;
        let known: Vec<String> = list.iter().map(ResourceExt::name_any).collect();
        self.ensure_own_clusters(&known)
    }

    /// Fails if the cluster of a machine is neither in the file nor among the others.
    pub(crate) fn ensure_own_clusters(&self, others: &[String]) -> anyhow::Result<()> {
        let own = self.clusters.iter();
        let own = own.filter_map(|cluster| cluster.metadata.name.as_deref());
        let known: Vec<&str> = own.chain(others.iter().map(String::as_str)).collect();
        let mut machines = self.machines.iter();
        let stray = machines.find(|machine| !known.contains(&machine.spec.cluster.as_str()));
        let Some(stray) = stray else { return Ok(()) };
        let (name, cluster) = (stray.name_any(), &stray.spec.cluster);
        let similar = nearest(cluster, &known);
        Err(hinted(
            anyhow!("machine {name}: spec.cluster: cluster {cluster:?} does not exist"),
            similar.map(|similar| format!("did you mean {similar}?")),
        ))
    }

    /// Creates or changes the Secrets.
    pub(crate) async fn apply_secrets(
        &self,
        client: &Client,
        namespace: &str,
        dry_run: bool,
    ) -> anyhow::Result<()> {
        for secret in &self.secrets {
            let namespace = secret.namespace().unwrap_or_else(|| namespace.to_owned());
            let api: Api<Secret> = Api::namespaced(client.clone(), &namespace);
            let name = secret.name_any();
            let mut parameters = kube::api::PatchParams::apply("outrigger").force();
            parameters.dry_run = dry_run;
            let patch = kube::api::Patch::Apply(secret);
            let applied = api.patch(&name, &parameters, &patch).await;
            applied.with_context(|| format!("failed to apply Secret {namespace}/{name}"))?;
        }
        Ok(())
    }
}

/// Reads a Secret. Errors do not print its values.
fn read_secret(object: Value) -> anyhow::Result<Secret> {
    let mut without_values = object.clone();
    if let Some(fields) = without_values.as_object_mut() {
        fields.remove("data");
        fields.remove("stringData");
    }
    serde_json::from_value::<Secret>(without_values).context("the Secret is invalid")?;
    serde_json::from_value(object).map_err(|_| {
        anyhow!("the Secret is invalid: values of data must be base64-encoded, those of stringData strings")
    })
}

/// Rejects what the controller would reject.
fn checked(cluster: Cluster) -> anyhow::Result<Cluster> {
    let mut errors = validate(&cluster);
    let machines = &cluster.spec.machines;
    for (index, access) in machines.iter().enumerate() {
        let field = format!("spec.machines[{index}]");
        errors.extend(outrigger_cluster::check_access(access, &field));
    }
    if !errors.is_empty() {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        bail!("the cluster is invalid: {}", errors.join("; "));
    }
    let has_inline = |access: &MachineAccess| {
        let proxy = access.proxy.as_ref();
        let has_proxy = proxy.is_some_and(|proxy| proxy.credentials().can_log_in());
        access.credentials().can_log_in() || has_proxy
    };
    if machines.iter().any(has_inline) {
        note("everybody who may read the cluster can read its credentials; secretRef avoids that");
    }
    Ok(cluster)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER: &str = "apiVersion: outrigger.dev/v1beta1\nkind: Cluster\nmetadata: {name: a}\nspec:\n  \
                           version: 1.0.0\n  machines: [{ip: 10.0.0.1, password: eA==}]\n";

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let error = parse("x.yaml", text).unwrap_err();
        let chain: Vec<String> = error.chain().map(ToString::to_string).collect();
        assert!(chain.join(": ").contains(expected), "{chain:?}");
        // The report prints each cause once.
        for pair in chain.windows(2) {
            assert!(!pair[0].contains(&pair[1]), "{chain:?}");
        }
    }

    #[test]
    fn an_invalid_cluster_is_refused_with_document_field_and_suggestion() {
        let text = CLUSTER.to_owned() + "  features: {skipConditions: [EnsureKublet]}\n";
        check(&text, "x.yaml, document 1: the cluster is invalid");
        check(&text, "did you mean EnsureKubelet?");
        check("kind: Deployment\n", "the Deployment has no apiVersion");
        check("# nothing\n", "x.yaml contains no clusters");
    }

    #[test]
    fn errors_name_the_field_and_are_printed_once() {
        let cases = [
            (
                "version: 1.0.0",
                "version: 1.34",
                "spec.version: must be a string, not a number",
            ),
            (
                "password: eA==",
                "password: hunter2",
                "spec.machines[0].password: must be base64-encoded",
            ),
            (
                "outrigger.dev/v1beta1",
                "outrigger.dev/v1",
                "Cluster of \"outrigger.dev/v1\" is not supported",
            ),
            (
                "name: a",
                "name: My_Cluster",
                "metadata.name: \"My_Cluster\"",
            ),
            (
                "password: eA==",
                "password: eA==, hostKey: foo",
                "spec.machines[0].hostKey: host key \"foo\"",
            ),
            (
                "password: eA==",
                "privateKey: aGVsbG8=",
                "spec.machines[0].privateKey: is not a private key",
            ),
            (
                "password: eA==",
                "password: eA==, labels: {\"a b\": c}",
                "spec.machines[0].labels: \"a b=c\"",
            ),
        ];
        for (before, after, expected) in cases {
            check(&CLUSTER.replace(before, after), expected);
        }
    }

    #[test]
    fn two_clusters_cannot_share_an_address() {
        let other = CLUSTER.replace("name: a", "name: b");
        let text = format!("{CLUSTER}---\n{other}");
        check(
            &text,
            "10.0.0.1:22 is the address of cluster a and of cluster b",
        );
    }

    #[test]
    fn values_of_secrets_are_not_printed() {
        let parsed = |values: &str| {
            let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: ssh}";
            parse("x.yaml", &format!("{CLUSTER}---\n{secret}\n{values}\n"))
        };
        for values in [
            "stringData: {password: 47114711}",
            "data: {password: hunter2}",
            "data: [hunter2]",
        ] {
            let error = format!("{:#}", parsed(values).unwrap_err());
            assert!(error.contains("the Secret is invalid"), "{error}");
            let is_printed = error.contains("4711") || error.contains("hunter2");
            assert!(!is_printed, "{error}");
        }
        let manifests = parsed("stringData: {password: hunter2}").unwrap();
        assert!(!format!("{manifests:?}").contains("hunter2"));
    }

    #[test]
    fn workers_and_secrets_are_in_the_same_file() {
        let text = format!(
            "{CLUSTER}---\napiVersion: v1\nkind: Secret\nmetadata: {{name: ssh}}\nstringData: {{password: x}}\n---\n\
             apiVersion: outrigger.dev/v1beta1\nkind: Machine\nmetadata: {{name: w1}}\n\
             spec: {{cluster: a, ip: 10.0.0.9, secretRef: {{name: ssh, namespace: default}}}}\n"
        );
        let manifests = parse("x.yaml", &text).unwrap();
        assert_eq!(manifests.clusters.len(), 1);
        assert_eq!(manifests.machines[0].spec.cluster, "a");
        assert_eq!(manifests.secrets[0].name_any(), "ssh");
    }
}

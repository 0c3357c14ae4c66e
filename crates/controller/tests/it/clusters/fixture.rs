//! A server, a controller, and machines without a network.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::await_condition;
use kube::{Api, ResourceExt};
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::condition::{Condition, ConditionStatus};
use outrigger_api::hook::Hook;
use outrigger_api::machine::Machine;
use outrigger_cluster::Providers;
use outrigger_controller::{ClusterOptions, Options};
use outrigger_testing::fake_machines::FakeMachines;
use serde_json::{Value, json};

use crate::harness::{Harness, TIMEOUT};

pub(super) const FIRST: &str = "10.0.0.1:22";
pub(super) const SECOND: &str = "10.0.0.2:22";
pub(super) const WORKER: &str = "10.0.0.9:22";

pub(super) struct Fixture {
    pub(super) harness: Harness,
    pub(super) machines: FakeMachines,
    pub(super) files: tempfile::TempDir,
    providers: Providers,
}

impl Fixture {
    pub(super) async fn new() -> Self {
        let mut fixture = Self::without_controller().await;
        fixture.start();
        fixture
    }

    pub(super) async fn without_controller() -> Self {
        let files = tempfile::tempdir().unwrap();
        for hook in Hook::of_clusters() {
            let script = format!("#!/bin/sh\necho {}\n", hook.name);
            fs_err::write(files.path().join(hook.name), script).unwrap();
        }
        let harness = Harness::without_controller().await;
        Self {
            harness,
            machines: FakeMachines::default(),
            files,
            providers: Providers::default(),
        }
    }

    /// A controller with a provider folder that has no files, and a cluster `a` of two machines that the provider `baremetal`
    /// looks after. It was not installed by it.
    pub(super) async fn baremetal() -> Self {
        let fixture = Self::with_provider(|folder| {
            let index =
                "name: test\nreleases: [{architecture: amd64, kubernetes: 1.0.0, files: []}]\n";
            fs_err::write(folder.join("provider.yaml"), index).unwrap();
        })
        .await;
        fixture.create("a", json!({})).await;
        fixture.until_running("a").await;
        let spec = json!({"spec": {"provider": "baremetal"}});
        fixture.patch("a", spec).await;
        fixture.until_running("a").await;
        fixture
    }

    /// A controller with a provider folder.
    pub(super) async fn with_provider(write: impl FnOnce(&Path)) -> Self {
        let mut fixture = Self::without_controller().await;
        let folder = fixture.files.path().join("provider");
        fs_err::create_dir(&folder).unwrap();
        write(&folder);
        fixture.providers = Providers::with_folder(&folder).unwrap();
        fixture.start();
        fixture
    }

    /// Starts a controller.
    pub(super) fn start(&mut self) {
        let options = self.options();
        self.harness.start(|it| it.clusters = options.clusters);
    }

    pub(super) fn options(&self) -> Options {
        Options {
            clusters: Some(ClusterOptions {
                providers: self.providers.clone(),
                files: Some(self.files.path().to_owned()),
                connect: Arc::new(self.machines.clone()),
                lease: Duration::from_secs(1),
                ..ClusterOptions::default()
            }),
            ..Options::default()
        }
    }

    pub(super) fn clusters(&self) -> Api<Cluster> {
        Api::all(self.harness.client.clone())
    }

    pub(super) fn machine_api(&self) -> Api<Machine> {
        Api::all(self.harness.client.clone())
    }

    /// Creates a cluster with all hooks; `spec` is merged over the defaults.
    pub(super) async fn create(&self, name: &str, spec: Value) -> Cluster {
        let mut object = cluster(name);
        merge(&mut object["spec"], &spec);
        self.create_exactly(object).await
    }

    pub(super) async fn create_exactly(&self, object: Value) -> Cluster {
        let object: Cluster = serde_json::from_value(object).unwrap();
        let created = self
            .clusters()
            .create(&PostParams::default(), &object)
            .await;
        created.unwrap()
    }

    pub(super) async fn add_worker(&self, name: &str, cluster: &str, ip: &str) {
        let machine: Machine = serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Machine", "metadata": {"name": name},
            "spec": {"cluster": cluster, "ip": ip, "password": "eA=="},
        }))
        .unwrap();
        let api = self.machine_api();
        api.create(&PostParams::default(), &machine).await.unwrap();
    }

    pub(super) async fn patch(&self, name: &str, patch: Value) {
        let parameters = PatchParams::default();
        let patched = self
            .clusters()
            .patch(name, &parameters, &Patch::Merge(&patch))
            .await;
        patched.unwrap();
    }

    pub(super) async fn patch_machine(&self, name: &str, patch: Value) -> kube::Result<Machine> {
        let api = self.machine_api();
        let parameters = PatchParams::default();
        api.patch(name, &parameters, &Patch::Merge(&patch)).await
    }

    /// Writes the status of an object, as an admin can.
    pub(super) async fn patch_status<K>(&self, api: Api<K>, name: &str, status: Value)
    where
        K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
    {
        let patch = Patch::Merge(json!({"status": status}));
        let patched = api
            .patch_status(name, &PatchParams::default(), &patch)
            .await;
        patched.unwrap();
    }

    pub(super) async fn delete(&self, name: &str) {
        let deleted = self.clusters().delete(name, &DeleteParams::default()).await;
        deleted.unwrap();
    }

    pub(super) async fn get(&self, name: &str) -> Cluster {
        self.clusters().get(name).await.unwrap()
    }

    pub(super) async fn until(
        &self,
        name: &str,
        condition: impl Fn(&Cluster) -> bool + Send + Sync,
    ) -> Cluster {
        let condition = |cluster: Option<&Cluster>| cluster.is_some_and(&condition);
        let waiting = await_condition(self.clusters(), name, condition);
        match tokio::time::timeout(TIMEOUT, waiting).await {
            Ok(found) => found.unwrap().unwrap(),
            Err(_) => panic!("still waiting: {:#?}", self.get(name).await.status),
        }
    }

    /// Waits until the cluster runs with the version of its spec.
    pub(super) async fn until_running(&self, name: &str) -> Cluster {
        self.until(name, |cluster| {
            let status = cluster.status.clone().unwrap_or_default();
            status.phase == ClusterPhase::Running
                && status.version.as_deref() == Some(&cluster.spec.version)
                && status.observed_generation == cluster.metadata.generation
        })
        .await
    }

    pub(super) async fn until_deleted(&self, name: &str) {
        let gone = |cluster: Option<&Cluster>| cluster.is_none();
        let waiting = await_condition(self.clusters(), name, gone);
        let waited = tokio::time::timeout(TIMEOUT, waiting).await;
        assert!(waited.is_ok(), "still waiting for the deletion of {name}");
    }

    pub(super) async fn until_machine(
        &self,
        name: &str,
        condition: impl Fn(&Machine) -> bool + Send + Sync,
    ) -> Machine {
        let condition = |machine: Option<&Machine>| machine.is_some_and(&condition);
        let waiting = await_condition(self.machine_api(), name, condition);
        match tokio::time::timeout(TIMEOUT, waiting).await {
            Ok(found) => found.unwrap().unwrap(),
            Err(_) => panic!("still waiting for {name}"),
        }
    }

    /// The hooks that began on each machine, in order.
    pub(super) fn hooks(&self) -> Vec<String> {
        let hooks = self.machines.hooks().into_iter();
        hooks
            .map(|(address, hook)| format!("{hook}@{}", address.trim_end_matches(":22")))
            .collect()
    }

    pub(super) async fn close(self) {
        self.harness.close().await;
    }
}

/// A cluster of two machines with all hooks.
pub(super) fn cluster(name: &str) -> Value {
    let names: Vec<&str> = Hook::of_clusters().map(|hook| hook.name).collect();
    let files: Vec<Value> = names
        .iter()
        .map(|name| json!({"src": name, "dst": format!("/opt/hooks/{name}")}))
        .collect();
    let hooks: serde_json::Map<String, Value> = names
        .iter()
        .map(|name| ((*name).to_owned(), json!(format!("/opt/hooks/{name}"))))
        .collect();
    json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster",
        "metadata": {"name": name, "labels": {"location": "xa"}, "annotations": {"note": "it's $(x)"}},
        "spec": {
            "version": "1.0.0",
            "machines": [{"ip": "10.0.0.1", "password": "c2VjcmV0"}, {"ip": "10.0.0.2", "password": "c2VjcmV0"}],
            "features": {"files": files, "hooks": hooks},
        },
    })
}

fn merge(into: &mut Value, patch: &Value) {
    match (into, patch) {
        (Value::Object(into), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, patch) => *into = patch.clone(),
    }
}

pub(super) fn condition(cluster: &Cluster, kind: &str) -> Option<Condition> {
    let status = cluster.status.as_ref()?;
    let mut conditions = status.conditions.iter();
    conditions.find(|condition| condition.kind == kind).cloned()
}

pub(super) fn has_condition(
    cluster: &Cluster,
    kind: &str,
    status: ConditionStatus,
    reason: &str,
) -> bool {
    condition(cluster, kind).is_some_and(|it| it.status == status && it.reason == reason)
}

pub(super) fn names(machines: &[Machine]) -> Vec<String> {
    let mut names: Vec<String> = machines.iter().map(ResourceExt::name_any).collect();
    names.sort();
    names
}

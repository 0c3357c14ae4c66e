//! Tests of the verbs against an embedded API server without a controller: what they write, and what they refuse.

use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use outrigger_api::annotation::{ALLOW_DOWNGRADE, FORCE, RETRY};
use outrigger_api::cluster::Cluster;
use outrigger_api::compat::{self, MIRRORS, tkestack_cluster};
use outrigger_api::machine::Machine;
use outrigger_api::plugin::Plugin;
use outrigger_apiserver::server::{Options, Server};
use serde_json::{Value, json};

use super::watch::Watch;
use super::{delete, edit, retry, upgrade};
use crate::commands::machine::add;
use crate::commands::machine::select::find_cluster;
use crate::commands::plugin::connect::Connection;
use crate::report;

struct Fixture {
    server: Server,
    connection: Connection,
}

impl Fixture {
    async fn start() -> Self {
        let server = Server::open(Options::in_memory()).await.unwrap();
        let client = Client::new(server.service(), "default");
        let api = Api::all(client.clone());
        let definitions = outrigger_api::definitions().into_iter();
        for definition in definitions.chain(compat::definitions()) {
            api.create(&PostParams::default(), &definition)
                .await
                .unwrap();
        }
        let connection = Connection {
            client,
            namespace: "default".to_owned(),
        };
        Self { server, connection }
    }

    fn clusters(&self) -> Api<Cluster> {
        Api::all(self.connection.client.clone())
    }

    fn origins(&self) -> Api<DynamicObject> {
        Api::all_with(
            self.connection.client.clone(),
            &tkestack_cluster::resource(),
        )
    }

    async fn create(&self, metadata: Value) -> Cluster {
        let cluster = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": metadata,
            "spec": {"version": "1.18.0", "machines": [{"ip": "10.0.0.1", "password": "eA=="}]},
        });
        let cluster = serde_json::from_value(cluster).unwrap();
        let api = self.clusters();
        api.create(&PostParams::default(), &cluster).await.unwrap()
    }

    /// Sets fields of the status. It is that of the current spec.
    async fn set_status(&self, name: &str, mut status: Value) -> Cluster {
        let cluster = self.clusters().get(name).await.unwrap();
        status["observedGeneration"] = json!(cluster.metadata.generation);
        let patch = json!({"status": status});
        let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
        let api = self.clusters();
        let patched = api.patch_status(name, &parameters, &patch).await;
        patched.unwrap()
    }

    async fn delete(&self, name: &str) {
        let api = self.clusters();
        let deleted = api.delete(name, &DeleteParams::default()).await;
        deleted.unwrap();
    }

    /// A cluster of TKEStack and its mirror.
    async fn create_mirrored(&self) -> Cluster {
        let mut origin = DynamicObject::new("tk", &tkestack_cluster::resource());
        origin.data = json!({"spec": {
            "type": "Baremetal", "version": "1.18.0",
            "machines": [{"ip": "10.0.0.1", "port": 22, "username": "root", "password": "eA=="}],
        }});
        let origin = self.origins().create(&PostParams::default(), &origin).await;
        let uid = origin.unwrap().metadata.uid.unwrap();
        let owner = json!({"apiVersion": "platform.tkestack.io/v1", "kind": "Cluster", "name": "tk", "uid": uid});
        let labels = json!({MIRRORS: "clusters.platform.tkestack.io"});
        let metadata = json!({"name": "tk", "labels": labels, "ownerReferences": [owner]});
        self.create(metadata).await
    }
}

#[tokio::test]
async fn changes_of_a_mirrored_cluster_are_made_to_its_origin() {
    let fixture = Fixture::start().await;
    let mirror = fixture.create_mirrored().await;
    let connection = &fixture.connection;
    let changed = upgrade::upgrade(connection, &mirror, "1.19.0", false, false).await;
    assert!(changed.unwrap());
    let origin = fixture.origins().get("tk").await.unwrap();
    assert_eq!(origin.data["spec"]["version"], "1.19.0");
    let mirrored = fixture.clusters().get("tk").await.unwrap();
    assert_eq!(mirrored.spec.version, "1.18.0");
    // A dry run deletes neither.
    edit::delete(connection, &mirror, false, true)
        .await
        .unwrap();
    assert!(fixture.origins().get_opt("tk").await.unwrap().is_some());
    edit::delete(connection, &mirror, true, false)
        .await
        .unwrap();
    assert!(fixture.origins().get_opt("tk").await.unwrap().is_none());
    let mirrored = fixture.clusters().get("tk").await.unwrap();
    assert_eq!(mirrored.metadata.annotations.unwrap()[FORCE], "true");
    fixture.server.close().await;
}

#[tokio::test]
async fn an_upgrade_that_makes_no_sense_is_refused_at_once() {
    let fixture = Fixture::start().await;
    fixture
        .create(json!({"name": "a", "finalizers": ["x/y"]}))
        .await;
    let cluster = fixture
        .set_status("a", json!({"version": "1.18.0", "phase": "Running"}))
        .await;
    let connection = &fixture.connection;
    let same = upgrade::upgrade(connection, &cluster, "1.18.0", false, false).await;
    assert!(!same.unwrap());
    let older = upgrade::upgrade(connection, &cluster, "1.17.0", false, false).await;
    assert_eq!(
        older.unwrap_err().to_string(),
        "cluster a is not downgraded: 1.17.0 is older than the installed version 1.18.0"
    );
    let forced = upgrade::upgrade(connection, &cluster, "1.17.0", true, false).await;
    assert!(forced.unwrap());
    let annotations = fixture
        .clusters()
        .get("a")
        .await
        .unwrap()
        .metadata
        .annotations;
    assert_eq!(annotations.unwrap()[ALLOW_DOWNGRADE], "1.17.0");
    fixture.delete("a").await;
    let cluster = fixture.clusters().get("a").await.unwrap();
    let deleted = upgrade::upgrade(connection, &cluster, "1.19.0", false, false).await;
    assert_eq!(
        deleted.unwrap_err().to_string(),
        "cluster a is being deleted"
    );
    fixture.server.close().await;
}

#[tokio::test]
async fn a_cluster_whose_spec_is_refused_for_another_reason_is_not_upgraded() {
    let fixture = Fixture::start().await;
    let cluster = fixture.create(json!({"name": "a"})).await;
    let refused = |reason: &str| {
        json!({"version": "1.18.0", "phase": "Running", "conditions": [{
            "type": "Accepted", "status": "False", "reason": reason, "message": "no such hook",
            "lastTransitionTime": "", "observedGeneration": cluster.metadata.generation,
        }]})
    };
    let upgrade = async |reason: &str| {
        let cluster = fixture.set_status("a", refused(reason)).await;
        upgrade::upgrade(&fixture.connection, &cluster, "1.19.0", false, true).await
    };
    assert_eq!(
        upgrade("FilesInvalid").await.unwrap_err().to_string(),
        "cluster a is not upgraded: its spec is refused: no such hook"
    );
    assert!(upgrade("VersionSkew").await.unwrap());
    fixture.server.close().await;
}

#[tokio::test]
async fn the_api_server_refuses_versions_and_names_that_are_none() {
    let fixture = Fixture::start().await;
    fixture.create(json!({"name": "a"})).await;
    let patch = |version: &str| json!({"spec": {"version": version}});
    for (version, is_valid) in [
        ("banana", false),
        ("v1.19.0", true),
        ("1.19.0-rc.1+x", true),
    ] {
        let patch = patch(version);
        let parameters = PatchParams::default();
        let patch = Patch::Merge(&patch);
        let patched = fixture.clusters().patch("a", &parameters, &patch).await;
        assert_eq!(patched.is_ok(), is_valid, "{version}: {patched:?}");
    }
    let mut cluster = fixture.clusters().get("a").await.unwrap();
    cluster.metadata = serde_json::from_value(json!({"name": "a".repeat(201)})).unwrap();
    let api = fixture.clusters();
    let created = api.create(&PostParams::default(), &cluster).await;
    let message = created.unwrap_err().to_string();
    assert!(message.contains("more than 200 characters"), "{message}");
    fixture.server.close().await;
}

#[tokio::test]
async fn a_machine_that_the_controller_would_refuse_is_not_added() {
    let fixture = Fixture::start().await;
    fixture
        .create(json!({"name": "a", "finalizers": ["x/y"]}))
        .await;
    let machine = |name: &str, access: Value| -> Machine {
        let mut spec = access;
        spec["cluster"] = json!("a");
        serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Machine", "metadata": {"name": name}, "spec": spec,
        }))
        .unwrap()
    };
    let password = json!({"ip": "10.0.0.9", "password": "eA=="});
    let connection = &fixture.connection;
    let add = async |machine: Machine| add::add(connection, &machine, false).await;
    add(machine("w1", password.clone())).await.unwrap();
    let taken = add(machine("w2", password.clone())).await.unwrap_err();
    let expected = "10.0.0.9:22 belongs to machine w1 of cluster a";
    assert_eq!(taken.to_string(), expected);
    let secret = json!({"ip": "10.0.0.8", "secretRef": {"namespace": "default", "name": "ssh"}});
    let missing = add(machine("w2", secret)).await.unwrap_err();
    assert_eq!(missing.to_string(), "Secret default/ssh does not exist");
    fixture.delete("a").await;
    let other = json!({"ip": "10.0.0.8", "password": "eA=="});
    let late = add(machine("w2", other)).await.unwrap_err();
    assert_eq!(late.to_string(), "cluster a is being deleted");
    fixture.server.close().await;
}

#[tokio::test]
async fn a_watch_ends_when_the_cluster_is_deleted_and_when_that_failed() {
    let fixture = Fixture::start().await;
    fixture.create(json!({"name": "gone"})).await;
    let mut watch = Watch::new(&fixture.connection.client, ["gone".to_owned()]);
    let delete = fixture.delete("gone");
    let (is_successful, ()) = tokio::join!(watch.until_idle(), delete);
    assert!(is_successful.unwrap());
    fixture
        .create(json!({"name": "stuck", "finalizers": ["x/y"]}))
        .await;
    fixture.delete("stuck").await;
    let flow = json!({"name": "Delete", "run": "2-Delete"});
    let status = json!({"phase": "Failed", "message": "no", "flow": flow});
    fixture.set_status("stuck", status).await;
    let mut watch = Watch::new(&fixture.connection.client, ["stuck".to_owned()]);
    assert!(!watch.until_idle().await.unwrap());
    fixture.server.close().await;
}

#[tokio::test]
async fn a_watch_ends_when_the_workers_of_the_manifest_run_and_fails_with_them() {
    let fixture = Fixture::start().await;
    fixture.create(json!({"name": "a"})).await;
    let running = json!({"phase": "Running", "version": "1.18.0"});
    fixture.set_status("a", running).await;
    let machines: Api<Machine> = Api::all(fixture.connection.client.clone());
    for (name, phase, expected) in [("w1", "Running", true), ("w2", "Failed", false)] {
        let worker: Machine = serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Machine", "metadata": {"name": name},
            "spec": {"cluster": "a", "ip": "10.0.0.9", "password": "eA=="},
        }))
        .unwrap();
        let worker = machines.create(&PostParams::default(), &worker).await;
        let worker = worker.unwrap();
        let mut watch = Watch::new(&fixture.connection.client, ["a".to_owned()]);
        watch.expect(&worker);
        let ended = async {
            let is_successful = watch.until_idle().await.unwrap();
            let machine = machines.get(name).await.unwrap();
            (is_successful, machine.status.map(|status| status.phase))
        };
        let write = async {
            for phase in ["Initializing", phase] {
                let generation = worker.metadata.generation;
                let status = json!({"phase": phase, "observedGeneration": generation});
                let patch = json!({"status": status});
                let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
                let written = machines.patch_status(name, &parameters, &patch).await;
                written.unwrap();
            }
        };
        let (ended, ()) = tokio::join!(ended, write);
        let phase = serde_json::from_value(json!(phase)).unwrap();
        assert_eq!(ended, (expected, Some(phase)));
    }
    fixture.server.close().await;
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_answered_with_the_most_similar_one() {
    let fixture = Fixture::start().await;
    fixture.create(json!({"name": "demo"})).await;
    let expected = "Error: cluster dmo does not exist\nhint: did you mean demo?\n";
    let error = edit::get(&fixture.connection, "dmo").await.unwrap_err();
    assert_eq!(report::text(&error), expected);
    let error = find_cluster(&fixture.connection, "dmo").await.unwrap_err();
    assert_eq!(report::text(&error), expected);
    fixture.server.close().await;
}

#[tokio::test]
async fn a_retry_without_a_failed_step_says_what_the_cluster_waits_for() {
    let fixture = Fixture::start().await;
    fixture.create(json!({"name": "a"})).await;
    let request = async || retry::request(&fixture.connection, "a", "now", false).await;
    let refusal = async || report::text(&request().await.unwrap_err());
    let waits = "Error: no step of cluster a has failed\nhint: it waits for ";
    let expected = format!("{waits}the controller, which has not observed it yet\n");
    assert_eq!(refusal().await, expected);
    let flow = |state: &str, completed: bool| {
        let task = json!({
            "step": "EnsureCilium", "state": state, "since": "", "message": "exit code 1",
            "owner": "my-operator", "deadline": "2026-01-01T01:00:00Z",
        });
        json!({"name": "Create", "run": "1-Create", "completed": completed, "tasks": [task]})
    };
    let set = async |status| drop(fixture.set_status("a", status).await);
    set(json!({"flow": flow("Running", false)})).await;
    let expected = format!("{waits}EnsureCilium on the cluster\n");
    assert_eq!(refusal().await, expected);
    set(json!({"flow": flow("Delegated", false)})).await;
    let expected = "EnsureCilium: waiting for my-operator until 2026-01-01T01:00:00Z";
    assert!(refusal().await.contains(expected));
    // What failed in an earlier flow is not tried again.
    set(json!({"phase": "Running", "flow": flow("Failed", true)})).await;
    assert!(
        refusal()
            .await
            .contains("it is Running, and waits for nothing")
    );
    let condition = json!({
        "type": "Accepted", "status": "False", "reason": "Invalid", "message": "spec.version: no",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    set(json!({"conditions": [condition]})).await;
    let expected = format!("{waits}another spec: spec.version: no\n");
    assert_eq!(refusal().await, expected);
    let annotations = fixture.clusters().get("a").await.unwrap();
    let annotations = annotations.metadata.annotations.unwrap_or_default();
    assert!(!annotations.contains_key(RETRY));
    for state in ["Failed", "Retrying"] {
        set(json!({"flow": flow(state, false), "conditions": null})).await;
        request().await.unwrap();
    }
    let cluster = fixture.clusters().get("a").await.unwrap();
    assert_eq!(cluster.metadata.annotations.unwrap()[RETRY], "now");
    fixture.server.close().await;
}

#[tokio::test]
async fn the_plugins_of_a_cluster_are_those_that_it_owns() {
    let fixture = Fixture::start().await;
    let cluster = fixture.create(json!({"name": "a"})).await;
    let other = fixture.create(json!({"name": "b"})).await;
    let plugins: Api<Plugin> = Api::default_namespaced(fixture.connection.client.clone());
    for (name, owner) in [
        ("web", Some(&cluster)),
        ("db", Some(&other)),
        ("local", None),
    ] {
        let mut plugin = Plugin::new(name, serde_json::from_value(json!({})).unwrap());
        let owner = owner.and_then(|owner| kube::Resource::owner_ref(owner, &()));
        plugin.metadata.owner_references = owner.map(|owner| vec![owner]);
        let created = plugins.create(&PostParams::default(), &plugin).await;
        created.unwrap();
    }
    let owned = delete::owned_plugins(&fixture.connection, &cluster).await;
    assert_eq!(owned, ["default/web"]);
    fixture.server.close().await;
}

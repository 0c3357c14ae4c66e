//! The controller sends exactly the requests that the roles in `deploy/` permit.

use std::collections::BTreeSet;
use std::sync::Arc;

use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::permissions::{Access, CLUSTER, NAMESPACE, Need};
use outrigger_api::plugin::Phase;
use outrigger_controller::{ClusterOptions, Trust, crds, leader_election};
use outrigger_testing::fake_machines::FakeMachines;
use serde_json::{Value, json};

use crate::harness::Harness;

const ACCOUNT: &str = "installer";

/// The access that a recorded request needs; `None` for discovery, and for impersonated requests.
fn access(request: &str) -> Option<Access> {
    let mut words = request.split(' ');
    let (method, path) = (words.next()?, words.next()?);
    if words.next().is_some() {
        return None;
    }
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, rest) = match parts.as_slice() {
        ["api", _, rest @ ..] => ("", rest),
        ["apis", group, _, rest @ ..] => (*group, rest),
        _ => return None,
    };
    let rest = match rest {
        ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
        rest => rest,
    };
    let (resource, name) = match rest {
        [] => return None,
        [resource] => ((*resource).to_owned(), false),
        [resource, _] => ((*resource).to_owned(), true),
        [resource, _, sub, ..] => (format!("{resource}/{sub}"), true),
    };
    let verb = match (method, name) {
        ("GET", true) => "get",
        ("GET", false) => "list",
        ("WATCH", _) => "watch",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "delete",
        _ => "deletecollection",
    };
    Some(Access {
        verb: verb.to_owned(),
        group: group.to_owned(),
        resource,
    })
}

async fn create(harness: &Harness, object: Value) {
    let api = harness.objects(
        object["apiVersion"].as_str().unwrap(),
        object["kind"].as_str().unwrap(),
    );
    let object = serde_json::from_value(object).unwrap();
    api.create(&Default::default(), &object).await.unwrap();
}

/// Allows the service account of plugins to install anything in its namespace.
async fn bind_account(harness: &Harness) {
    create(
        harness,
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": ACCOUNT},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": "default"}],
        }),
    )
    .await;
}

/// Uses everything that the controller does with its own account.
async fn use_everything(harness: &Harness) {
    create(
        harness,
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "values"}, "stringData": {"values.yaml": "text: a"}}),
    )
    .await;
    create(
        harness,
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "values"}, "data": {"values.yaml": "other: b"}}),
    )
    .await;
    let repositories =
        kube::Api::<outrigger_api::repository::Repository>::all(harness.client.clone());
    let repository = json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Repository", "metadata": {"name": "local"},
        "spec": {"url": harness.repo(), "secretRef": {"namespace": "default", "name": "values"}},
    });
    let repository = serde_json::from_value(repository).unwrap();
    repositories
        .create(&Default::default(), &repository)
        .await
        .unwrap();
    let from =
        json!([{"kind": "Secret", "name": "values"}, {"kind": "ConfigMap", "name": "values"}]);
    harness
        .create("base", "web", json!({"repo": "local", "valuesFrom": from}))
        .await;
    harness
        .create("top", "config", json!({"dependencies": [{"name": "base"}]}))
        .await;
    harness.until_ready("top").await;
    // The second event of a kind is a patch of the first.
    for _ in 0..2 {
        harness
            .patch("top", json!({"spec": {"enabled": false}}))
            .await;
        harness.until_phase("top", Phase::Disabled).await;
        harness
            .patch("top", json!({"spec": {"enabled": true}}))
            .await;
        harness.until_ready("top").await;
    }
    let foreign = json!({
        "apiVersion": "plugins.kubegems.io/v1beta1", "kind": "Plugin", "metadata": {"name": "foreign"},
        "spec": {"enabled": true, "kind": "helm", "repo": harness.repo(), "name": "config", "version": "1.0.0"},
    });
    create(harness, foreign).await;
    harness.until_ready("foreign").await;
    let cascade = json!({"metadata": {"annotations": {"outrigger.dev/cascade": "true"}}});
    harness.patch("base", cascade).await;
    harness.delete("base").await;
    harness.until_deleted("base").await;
    harness.until_deleted("top").await;
}

/// Creates a cluster, changes the password of its machine, and deletes it.
async fn use_clusters(harness: &Harness) {
    let clusters = kube::Api::<Cluster>::all(harness.client.clone());
    let spec = json!({"version": "1.0.0", "machines": [{"ip": "10.0.0.1", "password": "eA=="}]});
    let object = json!({"apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "a"}, "spec": spec});
    let object: Cluster = serde_json::from_value(object).unwrap();
    let created = clusters.create(&Default::default(), &object).await;
    created.unwrap();
    until(harness, |cluster| {
        let status = cluster.and_then(|it| it.status.as_ref());
        status.is_some_and(|status| status.phase == ClusterPhase::Running)
    })
    .await;
    let machines = json!([{"ip": "10.0.0.1", "password": "bmV3"}]);
    let patch = json!({"spec": {"machines": machines, "version": "1.1.0"}});
    clusters
        .patch("a", &Default::default(), &kube::api::Patch::Merge(patch))
        .await
        .unwrap();
    until(harness, |cluster| {
        let status = cluster.and_then(|it| it.status.as_ref());
        status.is_some_and(|status| status.version.as_deref() == Some("1.1.0"))
    })
    .await;
    clusters.delete("a", &Default::default()).await.unwrap();
    until(harness, |cluster| cluster.is_none()).await;
    let machines = json!([{"ip": "10.0.0.1", "port": 22, "username": "root", "password": "eA=="}]);
    let foreign = json!({
        "apiVersion": "platform.tkestack.io/v1", "kind": "Cluster", "metadata": {"name": "a"},
        "spec": {"type": "Baremetal", "version": "1.0.0", "machines": machines},
    });
    let resource = outrigger_api::compat::tkestack_cluster::resource();
    let api = kube::Api::<kube::core::DynamicObject>::all_with(harness.client.clone(), &resource);
    let foreign = serde_json::from_value(foreign).unwrap();
    api.create(&Default::default(), &foreign).await.unwrap();
    let is_running = |object: Option<&kube::core::DynamicObject>| {
        object.is_some_and(|it| it.data["status"]["phase"] == "Running")
    };
    let waiting = kube::runtime::wait::await_condition(api, "a", is_running);
    let waited = tokio::time::timeout(crate::harness::TIMEOUT, waiting).await;
    waited.unwrap().unwrap();
}

async fn until(harness: &Harness, condition: impl Fn(Option<&Cluster>) -> bool + Send + Sync) {
    let clusters = kube::Api::<Cluster>::all(harness.client.clone());
    let waiting = kube::runtime::wait::await_condition(clusters, "a", condition);
    let waited = tokio::time::timeout(crate::harness::TIMEOUT, waiting).await;
    waited.unwrap().unwrap();
}

#[tokio::test]
async fn the_roles_permit_exactly_what_the_controller_requests() {
    let mut harness = Harness::without_controller().await;
    crds::install(&harness.client, true).await.unwrap();
    bind_account(&harness).await;
    crds::install(&harness.connection.client(), false)
        .await
        .unwrap();
    harness.start(|options| {
        options.compat = true;
        options.trust = Trust {
            default_service_account: Some(ACCOUNT.to_owned()),
            ..Trust::default()
        };
        options.leader_election = Some(leader_election::Options::new("default", "me"));
        options.clusters = Some(ClusterOptions {
            connect: Arc::new(FakeMachines::default()),
            ..ClusterOptions::default()
        });
    });
    use_everything(&harness).await;
    use_clusters(&harness).await;
    harness.stop().await;
    let requests = harness.connection.take_requests();
    let accesses: BTreeSet<Access> = requests
        .iter()
        .filter_map(|request| access(request))
        .collect();
    assert!(
        requests
            .iter()
            .any(|request| request.ends_with(":default:installer"))
    );

    let rules = || CLUSTER.iter().chain(NAMESPACE);
    for access in &accesses {
        assert!(
            rules().any(|rule| rule.covers(access)),
            "{access:?} is forbidden"
        );
    }
    // Each verb of each rule is used. Those about metrics are used by the endpoints of `serve`, those of providers on real
    // machines.
    let is_used_here = |need: Need| !matches!(need, Need::Metrics | Need::Providers);
    for rule in rules().filter(|rule| is_used_here(rule.need)) {
        for verb in rule.verbs {
            // A server-side apply that creates an object needs both permissions.
            let is_apply = (rule.need, *verb) == (Need::Compat, "create");
            let sent = if is_apply { "patch" } else { verb };
            let is_used = |access: &Access| {
                let access = Access {
                    verb: access.verb.replace(sent, verb),
                    ..access.clone()
                };
                access.verb == *verb && rule.covers(&access)
            };
            assert!(
                accesses.iter().any(is_used),
                "{verb} of {rule:?} is not used"
            );
        }
    }
    harness.close().await;
}

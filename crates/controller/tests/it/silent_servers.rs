//! Repositories and clusters that accept connections and never answer delay only the plugins that need them.

use std::time::{Duration, Instant};

use kube::Api;
use kube::api::PostParams;
use kube::runtime::wait::await_condition;
use outrigger_api::condition::ConditionStatus;
use outrigger_api::plugin::{Phase, Plugin};
use outrigger_api::repository::{Repository, RepositorySpec};
use serde_json::json;
use tokio::net::TcpListener;

use crate::harness::{Harness, TIMEOUT};

/// What a plugin waits for is shown this soon, and other plugins take no longer than this. Users are promised two seconds,
/// which `attack plugins` checks; an unoptimized build beside other tests is slower. A request that is not answered takes
/// longer than this.
const SOON: Duration = Duration::from_secs(10);

const SILENT: usize = 20;

/// Starts a server that accepts connections and never answers. Returns its address.
async fn silent_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _open = connection;
                std::future::pending::<()>().await;
            });
        }
    });
    address
}

fn is_fetching(plugin: &Plugin) -> bool {
    let fetched = plugin.condition("Fetched");
    fetched.is_some_and(|fetched| {
        fetched.status == ConditionStatus::False && fetched.reason == "Fetching"
    })
}

/// Fails if a step takes longer than promised.
async fn soon<T>(step: &str, work: impl Future<Output = T>) -> T {
    let started = Instant::now();
    let result = work.await;
    assert!(started.elapsed() < SOON, "{step}: {:?}", started.elapsed());
    result
}

async fn install_change_and_remove_another(harness: &Harness) {
    soon("install", async {
        harness.create("good", "config", json!({})).await;
        harness.until_ready("good").await
    })
    .await;
    soon("change", async {
        let values = json!({"spec": {"values": {"text": "changed"}}});
        harness.patch("good", values).await;
        harness.until_ready("good").await
    })
    .await;
    soon("remove", async {
        harness.delete("good").await;
        harness.until_deleted("good").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_repositories_do_not_delay_other_plugins() {
    let harness = Harness::with(|options| options.max_concurrent_reconciles = 4).await;
    let names: Vec<String> = (0..SILENT)
        .map(|number| format!("silent-{number}"))
        .collect();
    let started = Instant::now();
    for name in &names {
        let repo = format!("http://{}/charts", silent_server().await);
        harness.create(name, "config", json!({"repo": repo})).await;
    }
    for name in &names {
        let plugin = harness.until(name, is_fetching).await;
        assert_eq!(plugin.phase(), Phase::Waiting);
        let message = &plugin.condition("Fetched").unwrap().message;
        assert!(
            message.starts_with("waiting for http://127.0.0.1:"),
            "{message}"
        );
        assert_eq!(message, &plugin.condition("Ready").unwrap().message);
    }
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    install_change_and_remove_another(&harness).await;

    soon("disable", async {
        let disabled = json!({"spec": {"enabled": false}});
        harness.patch("silent-0", disabled).await;
        harness.until_phase("silent-0", Phase::Disabled).await
    })
    .await;
    soon("delete", async {
        harness.delete("silent-1").await;
        harness.until_deleted("silent-1").await;
    })
    .await;
    soon("repair", async {
        let repaired = json!({"spec": {"repo": harness.repo()}});
        harness.patch("silent-2", repaired).await;
        harness.until_ready("silent-2").await
    })
    .await;
    harness.close().await;
}

/// The message of the condition Fetched.
fn fetched_message(plugin: &Plugin) -> &str {
    let fetched = plugin.condition("Fetched");
    fetched.map_or("", |fetched| &fetched.message)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_waits_for_its_turn_says_so_and_not_that_a_server_does_not_answer() {
    /// As many requests are sent to one host at a time.
    const SLOTS: usize = 8;
    let harness = Harness::new().await;
    let server = format!("http://{}", silent_server().await);
    let create = async |name: &str| {
        let repo = format!("{server}/{name}");
        harness.create(name, "config", json!({"repo": repo})).await;
    };
    for number in 0..SLOTS {
        let name = format!("first-{number}");
        create(&name).await;
        let answer = format!("waiting for {server}/{name} to answer");
        let is_asked = |plugin: &Plugin| fetched_message(plugin) == answer;
        harness.until(&name, is_asked).await;
    }
    create("next").await;
    let turn = format!(
        "waiting for its turn to ask {server}/next: {SLOTS} requests to {server} are in progress"
    );
    let waits = |plugin: &Plugin| fetched_message(plugin) == turn;
    harness.until("next", waits).await;
    harness.delete("first-0").await;
    let answer = format!("waiting for {server}/next to answer");
    let is_asked = |plugin: &Plugin| fetched_message(plugin) == answer;
    harness.until("next", is_asked).await;
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_plugins_of_one_repository_wait_for_one_index() {
    let harness = Harness::new().await;
    let repo = format!("http://{}/charts", silent_server().await);
    let answer = format!("waiting for {repo} to answer");
    let index = format!("waiting for the index of {repo}, which is already being fetched");
    for (name, expected) in [("first", answer), ("second", index)] {
        harness.create(name, "config", json!({"repo": repo})).await;
        let waits = |plugin: &Plugin| fetched_message(plugin) == expected;
        harness.until(name, waits).await;
    }
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installed_plugin_stays_ready_while_its_repository_is_silent_but_not_if_its_objects_are_gone()
 {
    let mut harness = Harness::new().await;
    let spec = json!({"drift": "warn", "repo": "charts"});
    let repositories: Api<Repository> = Api::all(harness.client.clone());
    let repository = |url: String| {
        let spec = RepositorySpec {
            url,
            ..RepositorySpec::default()
        };
        Repository::new("charts", spec)
    };
    let created = repository(harness.repo());
    repositories
        .create(&PostParams::default(), &created)
        .await
        .unwrap();
    harness.create("config", "config", spec).await;
    harness.until_ready("config").await;
    harness.stop().await;
    let mut silent = repositories.get("charts").await.unwrap();
    silent.spec.url = format!("http://{}/", silent_server().await);
    repositories
        .replace("charts", &PostParams::default(), &silent)
        .await
        .unwrap();
    harness.start(|_| {});
    harness
        .create("other", "config", json!({"repo": "charts"}))
        .await;
    let other = harness.until("other", is_fetching).await;
    let message = &other.condition("Fetched").unwrap().message;
    assert!(message.contains("Repository charts (http://"), "{message}");
    assert_eq!(harness.get("config").await.phase(), Phase::Ready);
    let maps = harness.config_maps();
    maps.delete("config", &Default::default()).await.unwrap();
    harness.until_phase("config", Phase::Degraded).await;

    // A repaired Repository is used at once, although a request to the silent one is running.
    let mut repaired = repositories.get("charts").await.unwrap();
    repaired.spec.url = harness.repo();
    repositories
        .replace("charts", &PostParams::default(), &repaired)
        .await
        .unwrap();
    soon("repair", harness.until_ready("other")).await;
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_clusters_do_not_delay_other_plugins() {
    let harness = Harness::with(|options| options.max_concurrent_reconciles = 2).await;
    for number in 0..5 {
        let name = format!("remote-{number}");
        let kubeconfig = format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: a, cluster: {{server: \"https://{}\"}}}}]\n\
             users: [{{name: a, user: {{token: x}}}}]\n\
             contexts: [{{name: a, context: {{cluster: a, user: a}}}}]\ncurrent-context: a\n",
            silent_server().await
        );
        let secret = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
            "stringData": {"kubeconfig": kubeconfig},
        }))
        .unwrap();
        let secrets = harness.objects("v1", "Secret");
        secrets
            .create(&PostParams::default(), &secret)
            .await
            .unwrap();
        let spec = json!({"cluster": {"secretName": name}});
        harness.create(&name, "config", spec).await;
    }
    let message = harness.until_reason("remote-4", "Connecting").await;
    assert_eq!(
        message,
        "waiting for the cluster of Secret default/remote-4 to answer"
    );
    install_change_and_remove_another(&harness).await;
    soon("disable", async {
        let disabled = json!({"spec": {"enabled": false}});
        harness.patch("remote-0", disabled).await;
        harness.until_phase("remote-0", Phase::Disabled).await
    })
    .await;
    harness.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_reports_that_it_waits() {
    let harness = Harness::new().await;
    let repositories: Api<Repository> = Api::all(harness.client.clone());
    let spec = RepositorySpec {
        url: format!("http://{}/", silent_server().await),
        ..RepositorySpec::default()
    };
    let repository = Repository::new("silent", spec);
    repositories
        .create(&PostParams::default(), &repository)
        .await
        .unwrap();
    let waits = |repository: Option<&Repository>| {
        let status = repository.and_then(|repository| repository.status.as_ref());
        let conditions = status.map(|status| status.conditions.as_slice());
        let mut conditions = conditions.unwrap_or_default().iter();
        conditions.any(|condition| condition.reason == "Fetching")
    };
    let waited = await_condition(repositories, "silent", waits);
    let waited = tokio::time::timeout(TIMEOUT, waited);
    soon("status", waited).await.unwrap().unwrap();
    harness.close().await;
}

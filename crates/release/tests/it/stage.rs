//! The fixture of most tests: an embedded API server, a cluster on it, and connections that fail.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use outrigger_apiserver::server::{self, Server};
use outrigger_chart::Chart;
use outrigger_release::{
    Cluster, Failure, Options, Outcome, Plan, Progress, Refusal, ReleaseId, Rendering, execute,
    observe, past, plan, render,
};
use outrigger_testing::embedded_api::{self, Connection, Fault, Loss};
use serde_json::{Map, Value};

/// A server with one cluster on it.
pub(crate) struct Stage {
    server: Server,
    pub(crate) cluster: Cluster,
    pub(crate) id: ReleaseId,
}

impl Stage {
    pub(crate) async fn open() -> Self {
        let server = embedded_api::start(Duration::from_millis(2)).await;
        let cluster = Cluster::new(embedded_api::client(&server));
        Self {
            server,
            cluster,
            id: ReleaseId::new("default", "web"),
        }
    }

    pub(crate) fn service(&self) -> server::Service {
        self.server.service()
    }

    pub(crate) async fn close(self) {
        self.server.close().await;
    }

    /// A cluster whose requests hang after `requests` have succeeded.
    pub(crate) fn hanging(&self, requests: usize, loss: Loss) -> (Cluster, Connection) {
        let (cluster, connection) = self.recording();
        let after = requests;
        connection.inject(Fault::Hang { after, loss });
        (cluster, connection)
    }

    /// A cluster whose requests are recorded.
    pub(crate) fn recording(&self) -> (Cluster, Connection) {
        let connection = Connection::new(&self.server);
        (Cluster::new(connection.client()), connection)
    }

    /// The names of all objects in the namespace that a release can have, without those of the server.
    pub(crate) async fn objects(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let lists = [
            "/api/v1/namespaces/default/configmaps",
            "/api/v1/namespaces/default/secrets",
            "/api/v1/namespaces/default/services",
            "/apis/apps/v1/namespaces/default/deployments",
            "/apis/batch/v1/namespaces/default/jobs",
        ];
        for path in lists {
            let list = self.get(path).await.unwrap();
            for item in list["items"].as_array().unwrap() {
                let name = item["metadata"]["name"].as_str().unwrap();
                let kind = path.rsplit('/').next().unwrap();
                let is_servers = name == "kube-root-ca.crt" || name == "kubernetes";
                if !is_servers && !name.starts_with("sh.helm.release.") {
                    names.insert(format!("{kind}/{name}"));
                }
            }
        }
        names
    }

    pub(crate) async fn get(&self, path: &str) -> Option<Value> {
        let request = Request::get(path).body(Vec::new()).unwrap();
        match self.cluster.client().request(request).await {
            Ok(object) => Some(object),
            Err(kube::Error::Api(status)) if status.code == 404 => None,
            Err(error) => panic!("{path}: {error}"),
        }
    }

    pub(crate) async fn send(&self, method: &str, path: &str, kind: &str, body: &Value) -> Value {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", kind)
            .body(serde_json::to_vec(body).unwrap())
            .unwrap();
        let answer = self.cluster.client().request(request).await;
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// Applies an object as some manager, whoever has its fields.
    pub(crate) async fn apply_as(&self, manager: &str, path: &str, body: &Value) -> Value {
        let path = format!("{path}?fieldManager={manager}&force=true");
        self.send("PATCH", &path, "application/apply-patch+yaml", body)
            .await
    }

    /// The statuses of all revisions, oldest first.
    pub(crate) async fn statuses(&self) -> Vec<String> {
        let history = outrigger_release::history(&self.cluster, &self.id).await;
        let history = history.unwrap();
        let texts = history.iter();
        texts
            .map(|revision| format!("{} {}", revision.revision, revision.status))
            .collect()
    }

    pub(crate) async fn deploy(
        &self,
        chart: &Arc<Chart>,
        values: &Value,
        options: &Options,
    ) -> Result<Outcome, Failure> {
        deploy(&self.cluster, &self.id, chart, values, options, &|_| {}).await
    }

    pub(crate) async fn uninstall(
        &self,
        options: &Options,
    ) -> Result<outrigger_release::Removed, Failure> {
        outrigger_release::uninstall(&self.cluster, &self.id, &[], options, &|_| {}).await
    }
}

pub(crate) fn map(values: &Value) -> Map<String, Value> {
    values.as_object().cloned().unwrap_or_default()
}

/// Works out what to do.
pub(crate) async fn plan_for(
    cluster: &Cluster,
    id: &ReleaseId,
    chart: &Arc<Chart>,
    values: &Value,
    options: &Options,
) -> Result<Result<Plan, Refusal>, outrigger_release::Error> {
    let rendering = Rendering {
        crds: options.crds,
        ..Rendering::default()
    };
    let past = past(cluster, id).await?;
    let desired = render(cluster, &past, chart, &map(values), &rendering).await?;
    let observed = observe(cluster, past, &desired).await?;
    Ok(plan(desired, observed, options))
}

/// The whole way.
pub(crate) async fn deploy(
    cluster: &Cluster,
    id: &ReleaseId,
    chart: &Arc<Chart>,
    values: &Value,
    options: &Options,
    progress: &(dyn Fn(Progress) + Send + Sync),
) -> Result<Outcome, Failure> {
    let plan = plan_for(cluster, id, chart, values, options).await??;
    execute(cluster, plan, options, progress).await
}

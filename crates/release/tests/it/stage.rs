//! What the tests stand on: a server, a cluster, and connections that break.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use outrigger_apiserver::server::{self, Server};
use outrigger_chart::Chart;
use outrigger_release::{
    ActionError, Cluster, Options, Outcome, Plan, Progress, Rejection, ReleaseId, RenderOptions,
    execute, load_history, observe, plan, render,
};
use outrigger_simulate as simulate;
use serde_json::{Map, Value};
use tokio::sync::Notify;

/// A server with one cluster on it.
pub(crate) struct Stage {
    server: Server,
    pub(crate) cluster: Cluster,
    pub(crate) id: ReleaseId,
}

impl Stage {
    pub(crate) async fn open() -> Self {
        let server = Server::open(server::Options::in_memory()).await.unwrap();
        server.run_controllers();
        simulate::start(
            &server,
            simulate::Options {
                delay: Duration::from_millis(2),
                now: Timestamp::now,
            },
        );
        let client = Client::new(server.service(), "default");
        Self {
            server,
            cluster: Cluster::new(client),
            id: ReleaseId::new("default", "web"),
        }
    }

    pub(crate) fn service(&self) -> server::Service {
        self.server.service()
    }

    pub(crate) async fn close(self) {
        self.server.close().await;
    }

    /// A cluster whose connection breaks after so many requests.
    pub(crate) fn dying(&self, requests: usize, at: Death) -> (Cluster, Arc<Line>) {
        let line = Arc::new(Line {
            left: AtomicUsize::new(requests),
            at,
            died: Notify::new(),
            log: Mutex::new(Vec::new()),
        });
        let service = Dying {
            inner: self.service(),
            line: Arc::clone(&line),
        };
        (Cluster::new(Client::new(service, "default")), line)
    }

    /// A cluster whose requests are written down.
    pub(crate) fn counting(&self) -> (Cluster, Arc<Line>) {
        self.dying(usize::MAX, Death::BeforeTheServer)
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
        let history = outrigger_release::list_revisions(&self.cluster, &self.id).await;
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
    ) -> Result<Outcome, ActionError> {
        deploy(&self.cluster, &self.id, chart, values, options, &|_| {}).await
    }

    pub(crate) async fn uninstall(
        &self,
        options: &Options,
    ) -> Result<outrigger_release::UninstallOutcome, ActionError> {
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
) -> Result<Result<Plan, Rejection>, outrigger_release::Error> {
    let rendering = RenderOptions {
        crds: options.crds,
        ..RenderOptions::default()
    };
    let history = load_history(cluster, id).await?;
    let desired = render(cluster, &history, chart, &map(values), &rendering).await?;
    let observed = observe(cluster, history, &desired).await?;
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
) -> Result<Outcome, ActionError> {
    let plan = plan_for(cluster, id, chart, values, options).await??;
    execute(cluster, plan, options, progress).await
}

/// What breaks when a connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Death {
    /// The last request never gets to the server.
    BeforeTheServer,
    /// The server does what the last request says, and nobody hears of it.
    AfterTheServer,
}

/// A connection, what went over it, and when it breaks.
pub(crate) struct Line {
    left: AtomicUsize,
    at: Death,
    pub(crate) died: Notify,
    pub(crate) log: Mutex<Vec<String>>,
}

impl Line {
    /// What was sent since this was asked last.
    pub(crate) fn sent(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock().unwrap())
    }
}

#[derive(Clone)]
struct Dying {
    inner: server::Service,
    line: Arc<Line>,
}

impl tower_service::Service<Request<Body>> for Dying {
    type Response = Response<server::Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let line = Arc::clone(&self.line);
        let service = self.inner.clone();
        Box::pin(async move {
            let is_last = line
                .left
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                    left.checked_sub(1)
                })
                .is_err();
            let entry = format!("{} {}", request.method(), request.uri());
            line.log.lock().unwrap().push(entry);
            if !is_last {
                return Ok(service.answer(request).await);
            }
            if line.at == Death::AfterTheServer {
                service.answer(request).await;
            }
            line.died.notify_one();
            std::future::pending().await
        })
    }
}

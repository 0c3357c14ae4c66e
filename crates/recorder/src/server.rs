//! A real Kubernetes API, and requests to it that neither add nor hide anything.

use std::time::Duration;

use anyhow::{Context as _, bail};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use outrigger_testing::kubernetes::{Options, RealKubernetes};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

const JSON: &str = "application/json";

/// The longest wait for the server to catch up with a write.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A server of its own for each recording. The controller manager only aggregates cluster roles.
pub(crate) struct Server {
    kubernetes: RealKubernetes,
    client: kube::Client,
}

/// A whole response.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn code(&self) -> u16 {
        self.status.as_u16()
    }

    pub(crate) fn json(&self) -> anyhow::Result<Value> {
        serde_json::from_str(&self.text)
            .with_context(|| format!("{} is not JSON: {}", self.status, self.text))
    }

    /// The body, if the request succeeded.
    pub(crate) fn object(&self) -> anyhow::Result<Value> {
        if !self.status.is_success() {
            bail!("{}: {}", self.status, self.text);
        }
        self.json()
    }

    /// The texts of the `Warning` headers.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let headers = self.headers.get_all("warning").iter();
        let texts = headers.filter_map(|header| {
            let text = std::str::from_utf8(header.as_bytes()).ok()?;
            let text = text.strip_prefix("299 - \"")?.strip_suffix('"')?;
            Some(text.replace("\\\"", "\"").replace("\\\\", "\\"))
        });
        texts.collect()
    }
}

impl Server {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        Self::start_without("").await
    }

    /// Starts a server without some admission plugins, separated by commas.
    pub(crate) async fn start_without(admission: &'static str) -> anyhow::Result<Self> {
        let options = Options {
            controllers: Some("clusterrole-aggregation-controller"),
            disabled_admission: admission,
            ..Options::default()
        };
        let kubernetes = RealKubernetes::start(options).await?;
        let kubeconfig = Kubeconfig::read_from(kubernetes.kubeconfig())?;
        let client = client(kubeconfig).await?;
        Ok(Self { kubernetes, client })
    }

    /// Starts a server with namespaces that have a default service account.
    pub(crate) async fn with_namespaces(names: &[&str]) -> anyhow::Result<Self> {
        let server = Self::start().await?;
        for name in names {
            if *name != "default" {
                let namespace = json!({"metadata": {"name": name}});
                server.create("/api/v1/namespaces", &namespace).await?;
            }
            let path = format!("/api/v1/namespaces/{name}/serviceaccounts");
            let account = json!({"metadata": {"name": "default"}});
            server.create(&path, &account).await?;
        }
        Ok(server)
    }

    pub(crate) async fn send(&self, request: Request<Vec<u8>>) -> anyhow::Result<Answer> {
        send(&self.client, request).await
    }

    /// Sends a request whose token is wrong.
    pub(crate) async fn send_unauthenticated(
        &self,
        request: Request<Vec<u8>>,
    ) -> anyhow::Result<Answer> {
        let mut kubeconfig = Kubeconfig::read_from(self.kubernetes.kubeconfig())?;
        for user in &mut kubeconfig.auth_infos {
            if let Some(user) = &mut user.auth_info {
                user.token = Some("wrong".to_owned().into());
            }
        }
        send(&client(kubeconfig).await?, request).await
    }

    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Answer> {
        self.send(Request::get(path).body(Vec::new())?).await
    }

    pub(crate) async fn get_as(&self, path: &str, accept: &str) -> anyhow::Result<Answer> {
        let request = Request::get(path).header("accept", accept);
        self.send(request.body(Vec::new())?).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Answer> {
        self.write(Method::POST, path, JSON, body.to_string()).await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> anyhow::Result<Answer> {
        self.write(Method::PUT, path, JSON, body.to_string()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> anyhow::Result<Answer> {
        self.send(Request::delete(path).body(Vec::new())?).await
    }

    pub(crate) async fn write(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: String,
    ) -> anyhow::Result<Answer> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type);
        self.send(request.body(body.into_bytes())?).await
    }

    /// Creates an object, which must succeed.
    pub(crate) async fn create(&self, path: &str, object: &Value) -> anyhow::Result<Value> {
        let answer = self.post(path, object).await?.object();
        answer.with_context(|| format!("failed to create {object}"))
    }

    /// Gets a path again and again until its answer is as awaited.
    pub(crate) async fn wait_for(
        &self,
        path: &str,
        is_awaited: impl Fn(&Answer) -> bool,
    ) -> anyhow::Result<Answer> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let answer = self.get(path).await?;
            if is_awaited(&answer) {
                return Ok(answer);
            }
            if Instant::now() > deadline {
                bail!("{path} is still {}: {}", answer.status, answer.text);
            }
            sleep(Duration::from_millis(50)).await;
        }
    }
}

/// A client that returns failures instead of retrying.
async fn client(kubeconfig: Kubeconfig) -> anyhow::Result<kube::Client> {
    let options = KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    config.default_retry = false;
    Ok(kube::Client::try_from(config)?)
}

async fn send(client: &kube::Client, request: Request<Vec<u8>>) -> anyhow::Result<Answer> {
    let name = format!("{} {}", request.method(), request.uri());
    let response = client.send(request.map(Body::from)).await;
    let (parts, body) = response
        .with_context(|| format!("{name} failed"))?
        .into_parts();
    let body = body.collect().await?.to_bytes();
    Ok(Answer {
        status: parts.status,
        headers: parts.headers,
        text: String::from_utf8(body.to_vec())?,
    })
}

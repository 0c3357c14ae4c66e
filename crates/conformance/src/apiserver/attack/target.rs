//! The attacked server, and the attacker's connection to it.

use anyhow::ensure;
use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use serde_json::Value;

use crate::client::Client;
use crate::process::{EmbeddedServer, Options, log_tail};

pub(super) const JSON: &str = "application/json";
pub(super) const YAML: &str = "application/yaml";
pub(super) const APPLY: &str = "application/apply-patch+yaml";
pub(super) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// The objects of the definition that [`Target::define`] creates.
pub(super) const WIDGETS: &str = "/apis/attack.example.com/v1/namespaces/default/widgets";

pub(super) struct Target {
    pub(super) server: EmbeddedServer,
    pub(super) options: Options,
    pub(super) client: Client,
}

/// A response: the code, and the object or the text of the body.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: u16,
    pub(super) body: Value,
}

impl Target {
    pub(super) async fn new(server: EmbeddedServer, options: Options) -> anyhow::Result<Self> {
        let client = Client::connect(&server.endpoint).await?;
        Ok(Self {
            server,
            options,
            client,
        })
    }

    pub(super) fn log_tail(&self) -> String {
        log_tail(&self.options.log())
    }

    pub(super) async fn send(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: impl Into<Bytes>,
    ) -> anyhow::Result<Answer> {
        let request = self
            .client
            .request(method, path)
            .header("content-type", content_type)
            .body(Full::new(body.into()))?;
        Ok(Answer::new(&self.client.send(request).await?))
    }

    pub(super) async fn post(&self, path: &str, object: &Value) -> anyhow::Result<Answer> {
        self.send("POST", path, JSON, object.to_string()).await
    }

    pub(super) async fn get(&self, path: &str) -> anyhow::Result<Answer> {
        self.send("GET", path, JSON, "").await
    }

    pub(super) async fn delete(&self, path: &str) -> anyhow::Result<Answer> {
        self.send("DELETE", path, JSON, "").await
    }

    /// Creates a definition of widgets whose `spec` has this schema, and waits until it is served.
    pub(super) async fn define(&self, spec: Value) -> anyhow::Result<()> {
        let answer = self
            .post(DEFINITIONS, &definition("widgets", &spec))
            .await?;
        answer.expect(&[201])?;
        while self.get(WIDGETS).await?.code == 404 {
            tokio::task::yield_now().await;
        }
        Ok(())
    }
}

impl Answer {
    pub(super) fn new(response: &Response<Bytes>) -> Self {
        let body = serde_json::from_slice(response.body())
            .unwrap_or_else(|_| String::from_utf8_lossy(response.body()).into());
        Self {
            code: response.status().as_u16(),
            body,
        }
    }

    /// Checks the code, and that an error is a `Status` with a message. Returns a summary.
    pub(super) fn expect(&self, codes: &[u16]) -> anyhow::Result<String> {
        let summary = self.summary();
        ensure!(
            codes.contains(&self.code),
            "the response is {summary}, not one of {codes:?}"
        );
        ensure!(
            self.code < 400 || self.body["kind"] == "Status",
            "the response is no Status: {summary}"
        );
        Ok(summary)
    }

    fn summary(&self) -> String {
        let message = self.body["message"].as_str();
        let text = message.or(self.body.as_str()).unwrap_or_default();
        let text: String = text.chars().take(100).collect();
        format!("{} {}", self.code, text.replace('\n', " "))
            .trim_end()
            .to_owned()
    }
}

/// A definition whose objects have a `spec` with this schema.
pub(super) fn definition(plural: &str, spec: &Value) -> Value {
    let singular = plural.trim_end_matches('s');
    let schema = serde_json::json!({"type": "object", "properties": {"spec": spec}});
    serde_json::json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.attack.example.com")},
        "spec": {
            "group": "attack.example.com", "scope": "Namespaced",
            "names": {"plural": plural, "singular": singular, "kind": kind(singular)},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

fn kind(singular: &str) -> String {
    let mut letters = singular.chars();
    letters
        .next()
        .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
        .unwrap_or_default()
}

/// A widget with this spec.
pub(super) fn widget(name: &str, spec: &Value) -> Value {
    serde_json::json!({
        "apiVersion": "attack.example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec,
    })
}

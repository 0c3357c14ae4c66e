//! Runs one case on one server and returns its masked responses.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::case::{Case, Step};
use super::variables::{Variables, encode};
use super::watch::Watch;
use super::{compare, mask};
use crate::client::Client;

/// The limit for waits: for controllers, events and values of `until`.
const TIMEOUT: Duration = Duration::from_secs(40);

/// Headers that are compared.
const HEADERS: &[&str] = &["content-type", "warning", "retry-after", "allow"];

/// Runs all steps. Each response is `{code, headers, body}`.
pub(super) async fn run(client: &Client, case: &Case) -> anyhow::Result<Vec<Value>> {
    let mut run = Run {
        client,
        variables: Variables::new(&case.name),
        watches: BTreeMap::new(),
    };
    if !case.no_namespace {
        create_namespace(client, &case.name).await?;
    }
    let mut responses = Vec::new();
    for (index, step) in case.steps.iter().enumerate() {
        let response = run.step(step).await;
        responses.push(response.with_context(|| format!("step {} ({})", index + 1, step.title()))?);
    }
    mask::responses(&mut responses);
    for (response, step) in responses.iter_mut().zip(&case.steps) {
        normalize(response, step);
    }
    Ok(responses)
}

/// Removes ignored values and sorts unordered lists.
fn normalize(response: &mut Value, step: &Step) {
    for pattern in &step.ignore {
        compare::remove(&mut response["body"], pattern);
    }
    for pointer in &step.unordered {
        if let Some(Value::Array(items)) = response["body"].pointer_mut(pointer) {
            items.sort_by_key(ToString::to_string);
        }
    }
}

/// Creates a namespace and waits for the objects that controllers create in every namespace.
async fn create_namespace(client: &Client, name: &str) -> anyhow::Result<()> {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let response = client
        .post("/api/v1/namespaces", namespace.to_string())
        .await?;
    if response.status() != 201 {
        bail!("failed to create namespace {name}: {:?}", response.body());
    }
    for path in ["configmaps/kube-root-ca.crt", "serviceaccounts/default"] {
        let path = format!("/api/v1/namespaces/{name}/{path}");
        let deadline = Instant::now() + TIMEOUT;
        while client.get(&path).await?.status() != 200 {
            if Instant::now() > deadline {
                bail!("{path} was not created");
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(())
}

struct Run<'a> {
    client: &'a Client,
    variables: Variables,
    watches: BTreeMap<String, Watch>,
}

impl Run<'_> {
    async fn step(&mut self, step: &Step) -> anyhow::Result<Value> {
        let response = if let Some(definition) = &step.define {
            self.define(definition).await?
        } else if let Some(name) = &step.collect {
            self.collect(name, step).await?
        } else if let Some(name) = &step.watch {
            self.open(name, step).await?
        } else if step.events.is_some() || step.to_end {
            self.open("", step).await?;
            self.collect("", step).await?
        } else {
            self.request_until(step).await?
        };
        for (name, pointer) in &step.save {
            let value = response["body"]
                .pointer(pointer)
                .with_context(|| format!("no value at {pointer} to save: {response}"))?;
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            self.variables.set(name, text);
        }
        Ok(response)
    }

    /// Sends the request, repeatedly if the step has conditions.
    async fn request_until(&self, step: &Step) -> anyhow::Result<Value> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let response = self.client.send(self.request(step)?).await?;
            // A real server is unavailable for a moment after a change of a CRD.
            let is_unavailable =
                response.status() == 503 && response.headers().contains_key("retry-after");
            let response = to_value(&response);
            let is_met = |(pointer, value): (&String, &Value)| {
                matches(&response, pointer, &self.variables.substitute_value(value))
            };
            if !is_unavailable && step.until.iter().all(is_met) {
                return Ok(response);
            }
            if Instant::now() > deadline {
                bail!("timed out waiting for {:?}: {response:#}", step.until);
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    async fn open(&mut self, name: &str, step: &Step) -> anyhow::Result<Value> {
        let response = self.client.stream(self.request(step)?).await?;
        let (parts, body) = response.into_parts();
        let response = to_value(&Response::from_parts(parts, Bytes::new()));
        self.watches
            .insert(name.to_owned(), Watch::new(response.clone(), body));
        Ok(response)
    }

    async fn collect(&mut self, name: &str, step: &Step) -> anyhow::Result<Value> {
        let watch = self.watches.get_mut(name);
        let watch = watch.with_context(|| format!("there is no watch {name:?}"))?;
        let count = step.events.unwrap_or(usize::MAX);
        Ok(watch.read(count, step.to_end, TIMEOUT).await)
    }

    /// Creates a CRD and waits until its objects can be listed and it is established: on a real
    /// server either can come first.
    async fn define(&self, definition: &Value) -> anyhow::Result<Value> {
        let definition = self.variables.substitute_value(definition);
        let path = self.variables.substitute("{crds}");
        let created = self.client.post(&path, definition.to_string()).await?;
        if created.status() != 201 {
            return Ok(to_value(&created));
        }
        let spec = &definition["spec"];
        let version = spec["versions"].as_array().into_iter().flatten();
        let version = version
            .filter(|version| version["served"] == true)
            .find_map(|version| version["name"].as_str())
            .context("the definition serves no version")?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
        let list = format!("/apis/{group}/{version}/{plural}?limit=1");
        let definition = format!("{path}/{plural}.{group}");
        let deadline = Instant::now() + TIMEOUT;
        while self.client.get(&list).await?.status() != 200
            || !is_established(&to_value(&self.client.get(&definition).await?)["body"])
        {
            if Instant::now() > deadline {
                bail!("{list} is not served");
            }
            sleep(Duration::from_millis(50)).await;
        }
        Ok(to_value(&created))
    }

    fn request(&self, step: &Step) -> anyhow::Result<Request<Full<Bytes>>> {
        let (method, path) = step.request();
        let path = encode(&self.variables.substitute(path));
        let mut request = match step.token.as_deref() {
            None => self.client.request(method, &path),
            Some("") => self.client.anonymous(method, &path),
            Some(token) => self.client.anonymous(method, &path).header(
                "authorization",
                format!("Bearer {}", self.variables.substitute(token)),
            ),
        };
        if let Some(accept) = &step.accept {
            request = request.header("accept", accept_type(accept));
        }
        if let Some(user) = &step.r#as {
            request = request.header("impersonate-user", self.variables.substitute(user));
        }
        for group in &step.groups {
            request = request.header("impersonate-group", self.variables.substitute(group));
        }
        for (name, value) in &step.headers {
            request = request.header(name, self.variables.substitute(value));
        }
        let body = self.body(step)?;
        let content_type = match &step.r#type {
            Some(name) => Some(body_type(name)),
            None if body.is_empty() => None,
            None => Some("application/json"),
        };
        if let Some(content_type) = content_type {
            request = request.header("content-type", content_type);
        }
        Ok(request.body(Full::new(body))?)
    }

    fn body(&self, step: &Step) -> anyhow::Result<Bytes> {
        if let Some(raw) = &step.raw {
            return Ok(self.variables.substitute(raw).into());
        }
        if let Some(hex) = &step.hex {
            return decode_hex(hex);
        }
        let body = step
            .body
            .as_ref()
            .map(|body| self.variables.substitute_value(body));
        Ok(body.map(|body| body.to_string().into()).unwrap_or_default())
    }
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|one| one["type"] == "Established" && one["status"] == "True")
}

fn decode_hex(text: &str) -> anyhow::Result<Bytes> {
    let digits: String = text.split_whitespace().collect();
    let pairs = (0..digits.len()).step_by(2);
    let bytes: Result<Vec<u8>, _> = pairs
        .map(|at| u8::from_str_radix(digits.get(at..at + 2).unwrap_or("?"), 16))
        .collect();
    Ok(bytes.context("not hexadecimal")?.into())
}

fn matches(response: &Value, pointer: &str, value: &Value) -> bool {
    if pointer == "code" {
        return response["code"] == *value;
    }
    response["body"].pointer(pointer).unwrap_or(&Value::Null) == value
}

fn body_type(name: &str) -> &str {
    match name {
        "json" => "application/json-patch+json",
        "merge" => "application/merge-patch+json",
        "strategic" => "application/strategic-merge-patch+json",
        "apply" => "application/apply-patch+yaml",
        "protobuf" => "application/vnd.kubernetes.protobuf",
        "yaml" => "application/yaml",
        other => other,
    }
}

fn accept_type(name: &str) -> &str {
    match name {
        "table" => "application/json;as=Table;v=v1;g=meta.k8s.io",
        "metadata" => "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        "metadata-list" => "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        other => other,
    }
}

/// Converts a response to `{code, headers, body}`. Protobuf is decoded; any other body that is not JSON becomes a string.
fn to_value(response: &Response<Bytes>) -> Value {
    let mut headers = serde_json::Map::new();
    for name in HEADERS {
        let values: Vec<_> = response.headers().get_all(*name).iter().collect();
        if !values.is_empty() {
            let values = values
                .iter()
                .map(|value| String::from_utf8_lossy(value.as_bytes()));
            headers.insert((*name).to_owned(), values.collect());
        }
    }
    let text = || String::from_utf8_lossy(response.body()).into_owned().into();
    let body: Value = outrigger_protobuf::decode(response.body())
        .ok()
        .or_else(|| serde_json::from_slice(response.body()).ok())
        .unwrap_or_else(text);
    json!({"code": response.status().as_u16(), "headers": headers, "body": body})
}

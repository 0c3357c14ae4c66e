//! Runs one case on one server and gives its masked answers.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::case::{Case, Step};
use crate::client::{Answer, Client};
use crate::events::Events;
use crate::place::{Places, encode};
use crate::{compare, mask};

/// How long a step may wait for something that happens by itself.
const PATIENCE: Duration = Duration::from_secs(40);

/// The headers that are compared.
const HEADERS: &[&str] = &["content-type", "warning", "retry-after", "allow"];

/// Runs all steps; each answer is `{code, headers, body}`.
pub(crate) async fn case(client: &Client, case: &Case) -> anyhow::Result<Vec<Value>> {
    let mut run = Run {
        client,
        places: Places::new(&case.name),
        watches: BTreeMap::new(),
    };
    if !case.no_namespace {
        make_namespace(client, &case.name).await?;
    }
    let mut answers = Vec::new();
    for (index, step) in case.steps.iter().enumerate() {
        let answer = run.step(step).await;
        answers.push(answer.with_context(|| format!("step {} ({})", index + 1, title(step)))?);
    }
    mask::answers(&mut answers);
    for (answer, step) in answers.iter_mut().zip(&case.steps) {
        tidy(answer, step);
    }
    Ok(answers)
}

/// What a step does, in a few words.
pub(crate) fn title(step: &Step) -> String {
    match (&step.define, &step.collect) {
        (Some(_), _) => "define".to_owned(),
        (_, Some(watch)) => format!("read watch {watch}"),
        _ => step.r#do.clone(),
    }
}

/// Drops what is not compared and sorts what has no order.
fn tidy(answer: &mut Value, step: &Step) {
    for pattern in &step.ignore {
        compare::remove(&mut answer["body"], pattern);
    }
    for pointer in &step.unordered {
        if let Some(Value::Array(items)) = answer["body"].pointer_mut(pointer) {
            items.sort_by_key(ToString::to_string);
        }
    }
}

/// A namespace is ready when the controllers have put into it what every namespace has.
async fn make_namespace(client: &Client, name: &str) -> anyhow::Result<()> {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let answer = client
        .post("/api/v1/namespaces", namespace.to_string())
        .await?;
    if answer.status != 201 {
        bail!("no namespace {name}: {:?}", answer.body);
    }
    for path in ["configmaps/kube-root-ca.crt", "serviceaccounts/default"] {
        let path = format!("/api/v1/namespaces/{name}/{path}");
        let deadline = Instant::now() + PATIENCE;
        while client.get(&path).await?.status != 200 {
            if Instant::now() > deadline {
                bail!("{path} did not appear");
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(())
}

struct Run<'a> {
    client: &'a Client,
    places: Places,
    watches: BTreeMap<String, Events>,
}

impl Run<'_> {
    async fn step(&mut self, step: &Step) -> anyhow::Result<Value> {
        let answer = if let Some(definition) = &step.define {
            self.define(definition).await?
        } else if let Some(name) = &step.collect {
            self.collect(name, step).await?
        } else if let Some(name) = &step.watch {
            self.open(name, step).await?
        } else if step.events.is_some() || step.to_end {
            self.open("", step).await?;
            self.collect("", step).await?
        } else {
            self.ask(step).await?
        };
        for (name, pointer) in &step.save {
            let value = answer["body"]
                .pointer(pointer)
                .with_context(|| format!("nothing at {pointer} to save: {answer}"))?;
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            self.places.set(name, text);
        }
        Ok(answer)
    }

    /// Asks once, or until the answer is what the step waits for.
    async fn ask(&self, step: &Step) -> anyhow::Result<Value> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let answer = self.client.send(self.request(step)?).await?;
            // A real server refuses for a moment when it takes in a changed definition.
            let busy = answer.status == 503 && answer.headers.contains_key("retry-after");
            let answer = shown(&answer);
            if !busy
                && step
                    .until
                    .iter()
                    .all(|(place, wanted)| holds(&answer, place, &self.places.fill_value(wanted)))
            {
                return Ok(answer);
            }
            if Instant::now() > deadline {
                bail!("waited in vain for {:?}: {answer:#}", step.until);
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    async fn open(&mut self, name: &str, step: &Step) -> anyhow::Result<Value> {
        let response = self.client.stream(self.request(step)?).await?;
        let (parts, body) = response.into_parts();
        let answer = Answer {
            status: parts.status,
            headers: parts.headers,
            body: Bytes::new(),
        };
        let opened = shown(&answer);
        self.watches
            .insert(name.to_owned(), Events::new(opened.clone(), body));
        Ok(opened)
    }

    async fn collect(&mut self, name: &str, step: &Step) -> anyhow::Result<Value> {
        let events = self.watches.get_mut(name);
        let events = events.with_context(|| format!("no watch is called {name:?}"))?;
        let wanted = step.events.unwrap_or(usize::MAX);
        events.read(wanted, step.to_end, PATIENCE).await
    }

    /// Makes a definition and waits until its objects can be listed and its status says so: a real server may tell
    /// either first.
    async fn define(&self, definition: &Value) -> anyhow::Result<Value> {
        let definition = self.places.fill_value(definition);
        let path = self.places.fill("{crds}");
        let made = self.client.post(&path, definition.to_string()).await?;
        if made.status != 201 {
            return Ok(shown(&made));
        }
        let spec = &definition["spec"];
        let version = spec["versions"].as_array().into_iter().flatten();
        let version = version
            .filter(|version| version["served"] == true)
            .find_map(|version| version["name"].as_str())
            .context("no version is served")?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
        let list = format!("/apis/{group}/{version}/{plural}?limit=1");
        let definition = format!("{path}/{plural}.{group}");
        let deadline = Instant::now() + PATIENCE;
        while self.client.get(&list).await?.status != 200
            || !is_established(&shown(&self.client.get(&definition).await?)["body"])
        {
            if Instant::now() > deadline {
                bail!("{list} is not served");
            }
            sleep(Duration::from_millis(50)).await;
        }
        Ok(shown(&made))
    }

    fn request(&self, step: &Step) -> anyhow::Result<Request<Full<Bytes>>> {
        let (method, path) = step.request();
        let path = encode(&self.places.fill(path));
        let mut request = match step.token.as_deref() {
            None => self.client.request(method, &path),
            Some("") => self.client.anonymous(method, &path),
            Some(token) => self.client.anonymous(method, &path).header(
                "authorization",
                format!("Bearer {}", self.places.fill(token)),
            ),
        };
        if let Some(accept) = &step.accept {
            request = request.header("accept", accept_type(accept));
        }
        if let Some(user) = &step.r#as {
            request = request.header("impersonate-user", self.places.fill(user));
        }
        for group in &step.groups {
            request = request.header("impersonate-group", self.places.fill(group));
        }
        for (name, value) in &step.headers {
            request = request.header(name, self.places.fill(value));
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
            return Ok(self.places.fill(raw).into());
        }
        if let Some(hex) = &step.hex {
            return decode_hex(hex);
        }
        let body = step.body.as_ref().map(|body| self.places.fill_value(body));
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

fn holds(answer: &Value, place: &str, wanted: &Value) -> bool {
    if place == "code" {
        return answer["code"] == *wanted;
    }
    answer["body"].pointer(place).unwrap_or(&Value::Null) == wanted
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

/// An answer as a value: JSON if it says that it is JSON, else text.
fn shown(answer: &Answer) -> Value {
    let mut headers = serde_json::Map::new();
    for name in HEADERS {
        let values: Vec<_> = answer.headers.get_all(*name).iter().collect();
        if !values.is_empty() {
            let values = values
                .iter()
                .map(|value| String::from_utf8_lossy(value.as_bytes()));
            headers.insert((*name).to_owned(), values.collect());
        }
    }
    let text = String::from_utf8_lossy(&answer.body);
    let body: Value =
        serde_json::from_str(&text).unwrap_or_else(|_| text.clone().into_owned().into());
    json!({"code": answer.status.as_u16(), "headers": headers, "body": body})
}

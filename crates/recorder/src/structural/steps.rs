//! Sequences of writes to one object each: creates, updates, applies and patches.
//!
//! All cases of a file run at the same time, step by step. Each step starts in a later second than the one before, so
//! that the times of managed fields tell steps apart.

use std::time::Duration;

use futures::future::try_join_all;
use http::Method;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use super::server_with_schemas;
use crate::file::Files;
use crate::mask::{Mask, sort_causes};
use crate::resources::{Resources, items, text};
use crate::server::{Answer, Server};

/// Cases that run at the same time.
const CONCURRENCY: usize = 16;

/// The fields of a step that are a request.
const REQUEST: &[&str] = &[
    "body",
    "do",
    "force",
    "manager",
    "raw",
    "subresource",
    "validation",
    "version",
];

pub(super) async fn record(files: &Files, path: &str) -> anyhow::Result<()> {
    let server = server_with_schemas(files).await?;
    let resources = Resources::discover(&server).await?;
    let recording = files.json(path)?;
    let mut cases: Vec<_> = items(&recording).map(Case::new).collect();
    let rounds = cases.iter().map(|case| case.steps.len()).max();
    for round in 0..rounds.unwrap_or_default() {
        for cases in cases.chunks_mut(CONCURRENCY) {
            let steps = cases
                .iter_mut()
                .map(|case| case.run(round, &server, &resources));
            try_join_all(steps).await?;
        }
        next_second().await;
    }
    let recorded: Vec<_> = cases.into_iter().map(Case::recorded).collect();
    files.write_array(path, &recorded)
}

async fn next_second() {
    let now = Timestamp::now();
    let rest = 1_000 - u64::try_from(now.subsec_millisecond()).unwrap_or_default();
    sleep(Duration::from_millis(rest)).await;
}

/// One object and the writes to it.
struct Case {
    /// Its name, kind and object.
    fields: Value,
    steps: Vec<Map<String, Value>>,
    mask: Mask,
    /// The resource version of the object as it is on the server.
    version: String,
}

impl Case {
    fn new(case: &Value) -> Self {
        let steps = items(&case["steps"]).filter_map(Value::as_object).cloned();
        let steps = steps.map(|mut step| {
            step.retain(|name, _| REQUEST.contains(&name.as_str()));
            step
        });
        let steps: Vec<_> = steps.collect();
        Self {
            fields: case.clone(),
            mask: Mask::new(&json!(steps)),
            steps,
            version: String::new(),
        }
    }

    fn recorded(self) -> Value {
        let mut case = self.fields;
        case["steps"] = json!(self.steps);
        case
    }

    async fn run(
        &mut self,
        round: usize,
        server: &Server,
        resources: &Resources,
    ) -> anyhow::Result<()> {
        let Some(step) = self.steps.get(round).cloned() else {
            return Ok(());
        };
        self.mask.next_step();
        let step = Value::Object(step);
        let version = step["version"].as_str();
        let version = version.unwrap_or_else(|| text(&self.fields["apiVersion"]));
        let collection = resources.collection(version, text(&self.fields["kind"]), "default")?;
        let object = format!("{collection}/{}", text(&self.fields["object"]));
        let answer = self.send(&step, &collection, &object, server).await?;
        let mut recorded = step.clone();
        recorded["code"] = answer.code().into();
        let warnings = answer.warnings();
        if !warnings.is_empty() {
            recorded["warnings"] = json!(warnings);
        }
        recorded["answer"] = answer.json()?;
        sort_causes(&mut recorded["answer"]);
        if answer.status.is_success() {
            text(&recorded["answer"]["metadata"]["resourceVersion"]).clone_into(&mut self.version);
        }
        if step["subresource"] == "scale" {
            let parent = server.get(&object).await?.object()?;
            text(&parent["metadata"]["resourceVersion"]).clone_into(&mut self.version);
            recorded["parent"] = parent;
        }
        for name in ["answer", "parent"] {
            if let Some(value) = recorded.get_mut(name) {
                self.mask.value(value);
            }
        }
        if let Value::Object(recorded) = recorded {
            self.steps[round] = recorded;
        }
        Ok(())
    }

    async fn send(
        &self,
        step: &Value,
        collection: &str,
        object: &str,
        server: &Server,
    ) -> anyhow::Result<Answer> {
        let mut body = step["body"].clone();
        if let Some(Value::String(version)) = body.pointer_mut("/metadata/resourceVersion") {
            version.clone_from(&self.version);
        }
        let body = match step["raw"].as_str() {
            Some(raw) => raw.to_owned(),
            None => body.to_string(),
        };
        let (method, content_type) = match text(&step["do"]) {
            "create" => (Method::POST, "application/json"),
            "update" => (Method::PUT, "application/json"),
            "apply" => (Method::PATCH, "application/apply-patch+yaml"),
            "json" => (Method::PATCH, "application/json-patch+json"),
            "merge" => (Method::PATCH, "application/merge-patch+json"),
            _ => (Method::PATCH, "application/strategic-merge-patch+json"),
        };
        let target = if method == Method::POST {
            collection.to_owned()
        } else {
            match step["subresource"].as_str() {
                Some(subresource) => format!("{object}/{subresource}"),
                None => object.to_owned(),
            }
        };
        let uri = format!("{target}?{}", options(step));
        server.write(method, &uri, content_type, body).await
    }
}

fn options(step: &Value) -> String {
    let force = step["force"].as_bool().map(|force| force.to_string());
    let options = [
        ("fieldManager", step["manager"].as_str()),
        ("force", force.as_deref()),
        ("fieldValidation", step["validation"].as_str()),
    ];
    let options = options
        .iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", (*value)?)));
    options.collect::<Vec<_>>().join("&")
}

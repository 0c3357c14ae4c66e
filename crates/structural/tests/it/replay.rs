//! Replays recorded requests. Each step starts from the recorded object, so that one difference does not hide others.

use std::collections::BTreeMap;
use std::sync::Arc;

use outrigger_apimachinery::GroupVersion;
use outrigger_structural::go_types::{self, StructId};
use outrigger_structural::merge::{
    ApplyError, FieldManager, Kind, Writer, ignore_managed_fields_timestamps, reset_fields,
};
use outrigger_structural::patch::{self, Decoding};
use outrigger_structural::schema::{self, Schema, builtin};
use serde_json::{Value, json};

use crate::{defaults, scale};

/// The result of a step.
#[derive(Debug, PartialEq)]
pub(crate) enum Answer {
    Object(Box<Value>),
    Failure {
        code: u64,
        message: String,
        causes: Vec<String>,
    },
}

pub(crate) struct Step<'c> {
    pub(crate) kind: Arc<Kind>,
    subresource: &'c str,
    pub(crate) record: &'c Value,
    pub(crate) live: Option<&'c Value>,
    now: &'c str,
}

pub(crate) fn check_file(name: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/");
    let read = |name: &str| fs_err::read_to_string(format!("{folder}{name}")).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&read(name)).unwrap();
    let schemas: Value = serde_json::from_str(&read("schemas.json")).unwrap();
    let mut problems = Vec::new();
    let mut kinds = Kinds::new(schemas);
    let steps: usize = cases
        .iter()
        .map(|case| check_case(case, &mut kinds, &mut problems))
        .sum();
    assert!(
        problems.is_empty(),
        "{} of {} cases differ:\n{}",
        problems.len(),
        cases.len(),
        problems.join("\n")
    );
    assert!(steps > cases.len() / 2);
}

/// The kinds of the cases, parsed once.
struct Kinds {
    schemas: Value,
    made: BTreeMap<(String, String), Arc<Kind>>,
}

impl Kinds {
    fn new(schemas: Value) -> Self {
        Self {
            schemas,
            made: BTreeMap::new(),
        }
    }

    fn get(&mut self, api_version: &str, kind: &str) -> Arc<Kind> {
        let key = (api_version.to_owned(), kind.to_owned());
        let schemas = &self.schemas;
        self.made
            .entry(key)
            .or_insert_with(|| kind_of(api_version, kind, schemas))
            .clone()
    }
}

fn check_case(case: &Value, kinds: &mut Kinds, problems: &mut Vec<String>) -> usize {
    let mut live: Option<Value> = None;
    let mut count = 0;
    for (i, step) in case["steps"].as_array().unwrap().iter().enumerate() {
        let version = step["version"]
            .as_str()
            .or_else(|| case["apiVersion"].as_str())
            .unwrap();
        let kind = kinds.get(version, case["kind"].as_str().unwrap());
        let real = real_answer(step);
        let Some(real) = real else {
            continue;
        };
        let now = latest_time(&step["answer"]);
        let at = Step {
            kind,
            subresource: step["subresource"].as_str().unwrap_or_default(),
            record: step,
            live: live.as_ref(),
            now: &now,
        };
        let before = live.as_ref().map(|live| in_version(live, &at.kind));
        let at = Step {
            live: before.as_ref(),
            ..at
        };
        count += 1;
        let (ours, real) = if at.subresource == "scale" {
            let ours = scale::run(&at);
            // Compare the scaled object.
            let real = match real {
                Answer::Object(_) => Answer::Object(Box::new(step["parent"].clone())),
                failure @ Answer::Failure { .. } => failure,
            };
            (ours, real)
        } else {
            (at.run(), real)
        };
        if ours != real {
            let name = &case["name"];
            problems.push(format!(
                "{name} step {i}:\n  ours {}\n  real {}",
                show(&ours),
                show(&real)
            ));
            return count;
        }
        if let Answer::Object(real) = real {
            live = Some(*real);
        }
    }
    count
}

/// An object in the version of a request.
fn in_version(live: &Value, kind: &Kind) -> Value {
    let mut live = live.clone();
    if live["apiVersion"] != kind.api_version.as_str() {
        live["apiVersion"] = kind.api_version.as_str().into();
        schema::prune_unknown(&mut live, kind.schemas[&kind.api_version].root());
    }
    live
}

fn show(answer: &Answer) -> String {
    match answer {
        Answer::Object(object) => object.to_string(),
        Answer::Failure {
            code,
            message,
            causes,
        } => format!("{code} {message} {causes:?}"),
    }
}

fn kind_of(api_version: &str, kind: &str, schemas: &Value) -> Arc<Kind> {
    let versions = match schemas.get(kind) {
        Some(versions) => versions
            .as_object()
            .unwrap()
            .iter()
            .map(|(version, schema)| (version.clone(), Schema::structural(schema).unwrap()))
            .collect(),
        None => BTreeMap::from([(
            api_version.to_owned(),
            builtin::schema(api_version, kind).unwrap().clone(),
        )]),
    };
    Arc::new(Kind {
        api_version: api_version.to_owned(),
        name: kind.to_owned(),
        schemas: versions,
    })
}

/// The time of the recorded write, if there was one.
fn latest_time(object: &Value) -> String {
    let entries = object["metadata"]["managedFields"].as_array();
    let times = entries
        .into_iter()
        .flatten()
        .filter_map(|entry| entry["time"].as_str());
    times.max().unwrap_or("2000-01-01T00:00:00Z").to_owned()
}

/// `None` for responses that other tests cover.
fn real_answer(step: &Value) -> Option<Answer> {
    let (code, answer) = (step["code"].as_u64().unwrap(), &step["answer"]);
    if code == 200 || code == 201 {
        return Some(Answer::Object(Box::new(answer.clone())));
    }
    let message = answer["message"].as_str().unwrap_or_default();
    // Validation of built-in kinds, request options and decoding have their own tests.
    let is_foreign = message.starts_with("PatchOptions")
        || code == 415
        || message.starts_with("the name of the object")
        || message.starts_with("ConfigMap ")
        || message.starts_with(" \"\" is invalid")
        || message.starts_with("Service ")
        || message.starts_with("Deployment.apps ")
        || message.contains("to proper version: unable to convert")
        || message.contains("request to convert CR to an invalid group/version");
    if is_foreign {
        return None;
    }
    let causes = answer["details"]["causes"].as_array();
    let causes = causes.into_iter().flatten().map(|cause| {
        let text = |name: &str| cause[name].as_str().unwrap_or_default().to_owned();
        format!("{} {} {}", text("reason"), text("field"), text("message"))
    });
    Some(failure(code, message, causes.collect()))
}

/// Sorts messages, whose order is that of a Go map.
fn failure(code: u64, message: &str, mut causes: Vec<String>) -> Answer {
    causes.sort();
    let message = match message.split_once(" is invalid: ") {
        // The causes have all the details.
        Some((begin, _)) if code == 422 && !causes.is_empty() => begin.to_owned(),
        _ => {
            let mut lines: Vec<_> = message.split('\n').collect();
            if message.contains("errors:") {
                lines.sort_unstable();
            }
            lines.join("\n")
        }
    };
    Answer::Failure {
        code,
        message,
        causes,
    }
}

/// Copies the metadata that the server sets.
fn copy_system_fields(from: &Value, to: &mut Value) {
    for name in [
        "uid",
        "creationTimestamp",
        "generation",
        "resourceVersion",
        "namespace",
    ] {
        if let Some(value) = from["metadata"].get(name) {
            to["metadata"][name] = value.clone();
        }
    }
}

pub(crate) fn apply_failure(error: ApplyError) -> Answer {
    match error {
        ApplyError::Conflict(conflicts) => {
            let causes = conflicts.0.iter().map(|conflict| {
                format!(
                    "FieldManagerConflict {} conflict with {}",
                    conflict.field, conflict.manager
                )
            });
            failure(409, &conflicts.to_string(), causes.collect())
        }
        ApplyError::BadRequest(message) => failure(400, &message, Vec::new()),
        ApplyError::Internal(message) => failure(500, &message, Vec::new()),
    }
}

impl Step<'_> {
    fn run(&self) -> Answer {
        let answer = match self.record["do"].as_str().unwrap() {
            "apply" => self.apply(),
            "create" | "update" => self.update(self.record["body"].clone()),
            patch => self.patch(patch),
        };
        match answer {
            Ok(object) => Answer::Object(Box::new(object)),
            Err(answer) => answer,
        }
    }

    fn schema(&self) -> &Schema {
        &self.kind.schemas[&self.kind.api_version]
    }

    fn go_struct(&self) -> StructId {
        let version = GroupVersion::parse(&self.kind.api_version);
        go_types::of_kind(version, &self.kind.name).unwrap()
    }

    fn is_custom(&self) -> bool {
        self.schema().root().name.is_none()
    }

    fn manager(&self) -> FieldManager {
        let reset = if self.is_custom() {
            reset_fields::of_custom_resource(true, self.subresource)
        } else {
            reset_fields::of_built_in(&self.kind.name, self.subresource)
        };
        FieldManager::new(self.kind.clone(), self.subresource, reset)
    }

    pub(crate) fn writer(&self) -> Writer<'_> {
        Writer {
            manager: self.record["manager"].as_str().unwrap_or("rec"),
            now: self.now,
        }
    }

    fn apply(&self) -> Result<Value, Answer> {
        let body = &self.record["body"];
        let force = self.record["force"].as_bool().unwrap_or_default();
        let result = self.manager().apply(self.live, body, self.writer(), force);
        let mut object = result.map_err(apply_failure)?;
        if !self.is_custom() {
            defaults::apply(&mut object);
        }
        self.store(object)
    }

    fn update(&self, mut body: Value) -> Result<Value, Answer> {
        if let Some(metadata) = body["metadata"].as_object_mut() {
            metadata.insert("namespace".to_owned(), "default".into());
        }
        if let Some(live) = self.live {
            for name in ["uid", "creationTimestamp", "generation", "resourceVersion"] {
                if let Some(value) = live["metadata"].get(name) {
                    body["metadata"][name] = value.clone();
                }
            }
        }
        let root = self.schema().root();
        if self.is_custom() {
            schema::coerce(&mut body, root).unwrap();
            schema::apply_defaults(&mut body, root);
        } else {
            let managed = body["metadata"]["managedFields"].take();
            go_types::normalize(self.go_struct(), &mut body);
            if !managed.is_null() {
                body["metadata"]["managedFields"] = managed;
            }
            defaults::apply(&mut body);
        }
        let object = self.manager().update(self.live, body, self.writer());
        self.store(object)
    }

    fn patch(&self, patch: &str) -> Result<Value, Answer> {
        let live = self.live.unwrap().clone();
        let text = match self.record["raw"].as_str() {
            Some(raw) => raw.to_owned(),
            None => self.record["body"].to_string(),
        };
        let reading = match self.record["validation"].as_str() {
            Some("Ignore") => Decoding::Lenient,
            _ => Decoding::Strict,
        };
        let result = match patch {
            "json" => patch::json_patch(live, text.as_bytes(), reading),
            "merge" => patch::merge_patch(live, text.as_bytes(), reading),
            _ => patch::strategic_merge_patch(live, text.as_bytes(), self.schema().root(), reading),
        };
        let patched =
            result.map_err(|error| failure(error.code().into(), &error.to_string(), Vec::new()))?;
        self.update(patched.object)
    }

    /// The steps between `update` or `apply` and the store.
    fn store(&self, mut object: Value) -> Result<Value, Answer> {
        self.keep_reset_fields(&mut object);
        self.validate(&object)?;
        if let Some(stored) = self.kind.schemas.get("example.com/v1") {
            schema::prune_unknown(&mut object, stored.root());
        }
        let Some(live) = self.live else {
            return Ok(self.with_server_fields(object));
        };
        copy_system_fields(live, &mut object);
        ignore_managed_fields_timestamps(live, &mut object);
        Ok(self.with_server_fields(object))
    }

    /// The main resource keeps the status, the status subresource keeps everything else.
    fn keep_reset_fields(&self, object: &mut Value) {
        let has_status = self.kind.name != "ConfigMap";
        let old_status = self.live.and_then(|live| live.get("status")).cloned();
        if self.subresource == "status" && !self.is_custom() {
            let live = self.live.unwrap();
            object["spec"] = live["spec"].clone();
            let metadata = object["metadata"].as_object_mut().unwrap();
            metadata.remove("labels");
            metadata.extend(
                live["metadata"]
                    .get("labels")
                    .map(|labels| ("labels".to_owned(), labels.clone())),
            );
        } else if self.subresource == "status" {
            let managed = object["metadata"].get("managedFields").cloned();
            let status = object.get("status").cloned();
            *object = self.live.unwrap().clone();
            let metadata = object["metadata"].as_object_mut().unwrap();
            metadata.remove("managedFields");
            metadata.extend(managed.map(|managed| ("managedFields".to_owned(), managed)));
            object.as_object_mut().unwrap().remove("status");
            object
                .as_object_mut()
                .unwrap()
                .extend(status.map(|status| ("status".to_owned(), status)));
        } else if has_status {
            let fields = object.as_object_mut().unwrap();
            fields.remove("status");
            fields.extend(old_status.map(|status| ("status".to_owned(), status)));
            if self.live.is_none() && !self.is_custom() {
                let empty = go_types::zero_value(self.go_struct());
                fields.insert("status".to_owned(), empty["status"].clone());
            }
        }
    }

    fn validate(&self, object: &Value) -> Result<(), Answer> {
        if !self.is_custom() {
            return Ok(());
        }
        let errors = match self.subresource {
            "status" => {
                schema::validate_custom_resource_status(object, self.live, self.schema().root())
            }
            _ => schema::validate_custom_resource(object, self.live, self.schema().root()),
        };
        if errors.is_empty() {
            return Ok(());
        }
        let causes = errors
            .iter()
            .map(|error| format!("{} {} {}", error.type_.reason(), error.field, error.body()));
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let message = format!("{}.example.com {name:?} is invalid: ", self.kind.name);
        Err(failure(422, &message, causes.collect()))
    }

    /// Copies the fields that only a server sets from the recorded response.
    fn with_server_fields(&self, object: Value) -> Value {
        let real = &self.record["answer"];
        let mut object = object;
        copy_system_fields(real, &mut object);
        let is_put = self.record["do"] == "update";
        if self.kind.name == "Service" && (is_put || self.live.is_none()) {
            for name in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                if let Some(value) = real["spec"].get(name) {
                    object["spec"][name] = value.clone();
                }
            }
        }
        if object["metadata"].is_null() {
            object["metadata"] = json!({});
        }
        object
    }
}

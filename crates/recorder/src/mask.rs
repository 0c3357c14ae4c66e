//! Replaces what differs between runs by constants: uids, times, resource versions, and what a server allocates.
//!
//! Equal values get equal constants, numbered in the order of their appearance. Values that the request contains stay.

use std::collections::HashMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use regex::{Captures, Regex};
use serde_json::Value;

static UID: LazyLock<Regex> =
    LazyLock::new(|| pattern("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{6})?Z")
});
static ADDRESS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b10\.96\.[0-9]+\.[0-9]+\b"));
static TOKEN_VOLUME: LazyLock<Regex> = LazyLock::new(|| pattern("kube-api-access-[a-z0-9]{5}"));

/// When the recorder started. Earlier times are part of requests.
static START: LazyLock<Timestamp> =
    LazyLock::new(|| Timestamp::now() - jiff::SignedDuration::from_secs(1));

/// Notes the time after which times differ between runs.
pub(crate) fn start() {
    LazyLock::force(&START);
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the patterns are constants")
}

/// The constants of one case.
#[derive(Debug)]
pub(crate) struct Mask {
    /// The requests of the case.
    kept: String,
    /// Numbers the times: all that a step adds become equal.
    step: usize,
    constants: HashMap<String, String>,
    /// Whole texts that become a certain constant.
    texts: HashMap<String, String>,
    counts: HashMap<&'static str, usize>,
}

impl Mask {
    pub(crate) fn new(requests: &Value) -> Self {
        Self {
            kept: requests.to_string(),
            step: 0,
            constants: HashMap::new(),
            texts: HashMap::new(),
            counts: HashMap::new(),
        }
    }

    /// Times that were not seen so far belong to the next step.
    pub(crate) fn next_step(&mut self) {
        self.step += 1;
    }

    /// Makes a uid, a time or a whole text a certain constant.
    pub(crate) fn set(&mut self, value: &str, constant: &str) {
        self.constants.insert(value.to_owned(), constant.to_owned());
        self.texts.insert(value.to_owned(), constant.to_owned());
    }

    pub(crate) fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                for (name, mut value) in std::mem::take(fields) {
                    self.field(&name, &mut value);
                    fields.insert(self.text(&name), value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn field(&mut self, name: &str, value: &mut Value) {
        match (name, &*value) {
            ("resourceVersion", Value::String(version)) => {
                *value = self
                    .constant("version", version, |count| count.to_string())
                    .into();
            }
            ("nodePort" | "healthCheckNodePort", Value::Number(port)) => {
                let port = port.to_string();
                let port = self.constant("port", &port, |count| (31000 + count).to_string());
                *value = port.parse::<u32>().unwrap_or_default().into();
            }
            _ => self.value(value),
        }
    }

    pub(crate) fn text(&mut self, text: &str) -> String {
        if let Some(constant) = self.texts.get(text) {
            return constant.clone();
        }
        let text = UID.replace_all(text, |found: &Captures<'_>| {
            self.constant("uid", &found[0], |count| {
                format!("00000000-0000-4000-8000-{count:012}")
            })
        });
        let text = TIME.replace_all(&text, |found: &Captures<'_>| self.time(&found[0]));
        let text = ADDRESS.replace_all(&text, |found: &Captures<'_>| {
            self.constant("address", &found[0], |count| format!("10.96.200.{count}"))
        });
        let text = TOKEN_VOLUME.replace_all(&text, |found: &Captures<'_>| {
            self.constant("volume", &found[0], |count| {
                format!("kube-api-access-{count:05}")
            })
        });
        text.into_owned()
    }

    fn time(&mut self, text: &str) -> String {
        let is_new = text.parse::<Timestamp>().is_ok_and(|time| time >= *START);
        if !is_new && !self.constants.contains_key(text) {
            return text.to_owned();
        }
        let fraction = if text.contains('.') { ".000000" } else { "" };
        let step = self.step;
        self.constant("time", text, |_| {
            format!("2026-01-01T00:{:02}:{:02}{fraction}Z", step / 60, step % 60)
        })
    }

    fn constant(
        &mut self,
        kind: &'static str,
        value: &str,
        make: impl FnOnce(usize) -> String,
    ) -> String {
        if let Some(known) = self.constants.get(value) {
            return known.clone();
        }
        if kind != "version" && self.kept.contains(value) {
            return value.to_owned();
        }
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        let made = make(*count);
        self.constants.insert(value.to_owned(), made.clone());
        made
    }
}

/// A text with `UID` instead of uids.
pub(crate) fn without_uids(text: &str) -> String {
    UID.replace_all(text, "UID").into_owned()
}

/// Removes fields of the metadata.
pub(crate) fn drop_metadata(object: &mut Value, names: &[&str]) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        for name in names {
            metadata.remove(*name);
        }
    }
}

/// Sorts the causes of a failure, and its message with them: Go iterates over maps in random order.
pub(crate) fn sort_causes(status: &mut Value) {
    let message = status["message"].as_str().map(sorted_lines);
    let Some(Value::Array(causes)) = status.pointer_mut("/details/causes") else {
        if let (Some(message), Some(status)) = (message, status.as_object_mut()) {
            status.insert("message".to_owned(), message.into());
        }
        return;
    };
    let joined = |causes: &[Value]| {
        let mut texts: Vec<String> = Vec::new();
        for cause in causes {
            let text = |name: &str| cause[name].as_str().unwrap_or_default().to_owned();
            let text = format!("{}: {}", text("field"), text("message"));
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        texts.join(", ")
    };
    let before = joined(causes);
    causes.sort_by_key(|cause| (cause["field"].to_string(), cause["message"].to_string()));
    let after = joined(causes);
    if let Some(message) = message {
        status["message"] = message.replace(&before, &after).into();
    }
}

/// Sorts the lines after the first of a list of errors.
fn sorted_lines(message: &str) -> String {
    let mut lines: Vec<_> = message.split('\n').collect();
    if message.contains("errors:")
        && let Some((_, rest)) = lines.split_first_mut()
    {
        rest.sort_unstable();
    }
    lines.join("\n")
}

/// The fields of an object without those that a server sets.
pub(crate) fn request_of(object: &Value) -> Value {
    let mut request = object.clone();
    let names = [
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
    ];
    drop_metadata(&mut request, &names);
    if let Some(fields) = request.as_object_mut() {
        fields.remove("status");
    }
    request
}

/// A value with its times moved.
pub(crate) fn moved(value: &Value, by: jiff::SignedDuration) -> anyhow::Result<Value> {
    let text = value.to_string();
    let text = TIME.replace_all(&text, |found: &Captures<'_>| {
        let Ok(time) = found[0].parse::<Timestamp>() else {
            return found[0].to_owned();
        };
        let time = (time + by).to_zoned(jiff::tz::TimeZone::UTC);
        let is_precise = found[0].contains('.');
        let format = if is_precise {
            "%Y-%m-%dT%H:%M:%S.%6fZ"
        } else {
            "%Y-%m-%dT%H:%M:%SZ"
        };
        time.strftime(format).to_string()
    });
    Ok(serde_json::from_str(&text)?)
}

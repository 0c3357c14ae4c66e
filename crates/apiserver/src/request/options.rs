//! The options of writes and deletions: dry run, field manager, field validation, propagation policy.

use std::num::{IntErrorKind, ParseIntError};

use outrigger_apimachinery::GroupKind;
use outrigger_apimachinery::status::Status;
use outrigger_apimachinery::status::field::{self, quote};
use serde_json::Value;

use super::Query;

const MAX_MANAGER: usize = 128;

/// How unknown and duplicate fields are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// The options of a create, an update or a patch.
#[derive(Debug, Clone)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) field_manager: String,
    pub(crate) validation: FieldValidation,
    pub(crate) force: Option<bool>,
}

impl WriteOptions {
    /// Parses and validates the options. `kind` is their name in errors, such as `CreateOptions`.
    pub(crate) fn parse(query: &Query<'_>, kind: &str, is_apply: bool) -> Result<Self, Status> {
        let options = Self {
            dry_run: query.has("dryRun"),
            field_manager: query.text("fieldManager").to_owned(),
            validation: match query.text("fieldValidation") {
                "Ignore" => FieldValidation::Ignore,
                "Strict" => FieldValidation::Strict,
                _ => FieldValidation::Warn,
            },
            force: query.optional_flag("force"),
        };
        let mut errors = Vec::new();
        if kind == "PatchOptions" {
            if is_apply && options.field_manager.is_empty() {
                let path = field::Path::root("fieldManager");
                errors.push(field::Error::required(&path, "is required for apply patch"));
            } else if !is_apply && options.force.is_some() {
                let path = field::Path::root("force");
                let detail = "may not be specified for non-apply patch";
                errors.push(field::Error::forbidden(&path, detail));
            }
        }
        check_manager(&options.field_manager, &mut errors);
        check_dry_run(query.all("dryRun"), &mut errors);
        let validation = query.text("fieldValidation");
        if !matches!(validation, "" | "Ignore" | "Warn" | "Strict") {
            let path = field::Path::root("fieldValidation");
            let known = ["", "Ignore", "Strict", "Warn"];
            errors.push(field::Error::not_supported(&path, validation, &known));
        }
        check_errors(kind, &errors)?;
        Ok(options)
    }
}

fn check_errors(kind: &str, errors: &[field::Error]) -> Result<(), Status> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(
        GroupKind::new("meta.k8s.io", kind),
        "",
        errors,
    ))
}

fn check_manager(manager: &str, errors: &mut Vec<field::Error>) {
    let path = field::Path::root("fieldManager");
    if manager.len() > MAX_MANAGER {
        errors.push(field::Error::too_long(&path, MAX_MANAGER));
    }
    for (at, c) in manager.char_indices().filter(|(_, c)| c.is_control()) {
        let code = u32::from(c);
        let detail = format!("invalid character U+{code:04X} (at position {at})");
        errors.push(field::Error::invalid(&path, manager, detail));
    }
}

fn check_dry_run<'a>(values: impl Iterator<Item = &'a str>, errors: &mut Vec<field::Error>) {
    let values: Vec<&str> = values.collect();
    if values.iter().any(|value| *value != "All") {
        let path = field::Path::root("dryRun");
        let shown = serde_json::json!(values);
        errors.push(field::Error::not_supported(&path, &shown, &["All"]));
    }
}

/// The field manager of a write: `fieldManager`, or the program name in the user agent.
pub(crate) fn manager_or_agent(manager: &str, agent: &str) -> String {
    if !manager.is_empty() {
        return manager.to_owned();
    }
    let program = agent.split('/').next().unwrap_or_default();
    program
        .chars()
        .filter(|c| !c.is_control())
        .take(MAX_MANAGER)
        .collect()
}

/// `propagationPolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Propagation {
    Orphan,
    Background,
    Foreground,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) dry_run: bool,
    pub(crate) grace_period: Option<i64>,
    pub(crate) propagation: Option<Propagation>,
    /// Deprecated in favor of `propagation`.
    pub(crate) orphan_dependents: Option<bool>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
}

impl DeleteOptions {
    pub(crate) fn from_query(query: &Query<'_>) -> Result<Self, Status> {
        let policy = query.has("propagationPolicy");
        let policy = policy.then(|| query.text("propagationPolicy"));
        let dry_run: Vec<&str> = query.all("dryRun").collect();
        Self {
            grace_period: query.integer("gracePeriodSeconds")?,
            orphan_dependents: query.optional_flag("orphanDependents"),
            ..Self::default()
        }
        .validated(policy, &dry_run)
    }

    pub(crate) fn from_body(body: &Value) -> Result<Self, Status> {
        let conditions = &body["preconditions"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let dry_run = body["dryRun"].as_array().map_or(&[][..], Vec::as_slice);
        let dry_run: Vec<&str> = dry_run.iter().filter_map(Value::as_str).collect();
        Self {
            grace_period: body["gracePeriodSeconds"].as_i64(),
            orphan_dependents: body["orphanDependents"].as_bool(),
            uid: text(&conditions["uid"]),
            resource_version: text(&conditions["resourceVersion"]),
            ..Self::default()
        }
        .validated(body["propagationPolicy"].as_str(), &dry_run)
    }

    fn validated(mut self, policy: Option<&str>, dry_run: &[&str]) -> Result<Self, Status> {
        let mut errors = Vec::new();
        let path = field::Path::root("propagationPolicy");
        if let (Some(policy), Some(_)) = (policy, self.orphan_dependents) {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            errors.push(field::Error::invalid(&path, policy, detail));
        }
        self.propagation = match policy {
            None => None,
            Some("Orphan") => Some(Propagation::Orphan),
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some(other) => {
                let known = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(field::Error::not_supported(&path, other, &known));
                None
            }
        };
        check_dry_run(dry_run.iter().copied(), &mut errors);
        self.dry_run = !dry_run.is_empty();
        check_errors("DeleteOptions", &errors)?;
        Ok(self)
    }
}

/// Parses a resource version.
pub(crate) fn parse_revision(text: &str) -> Result<u64, Status> {
    // Go takes no sign.
    let digits = text.strip_prefix('+').map_or(text, |_| "");
    digits.parse().map_err(|error: ParseIntError| {
        let why = match error.kind() {
            IntErrorKind::PosOverflow => "value out of range",
            _ => "invalid syntax",
        };
        let quoted = quote(text);
        Status::unknown(format!(
            "resourceVersion: Invalid value: {quoted}: strconv.ParseUint: parsing {quoted}: {why}"
        ))
    })
}

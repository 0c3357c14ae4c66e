//! `ValidatingWebhookConfiguration` and `MutatingWebhookConfiguration`. They are stored and validated; no webhook is called.

use std::collections::BTreeSet;

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use outrigger_gostd::url;
use serde_json::{Map, Value, json};

use super::expression::Compiler;
use super::mutating_admission_policy::REINVOCATION_POLICIES;
use super::policy::validate_match_conditions;
use super::rules::{FAILURE_POLICIES, MATCH_POLICIES, validate_rule};
use crate::fields::{list, number, set_missing, text, texts};
use crate::strategy::Strategy;
use crate::validation::field_checks::{
    push_invalid, require, validate_enum, validate_optional_enum,
};
use crate::validation::label_selector;

pub(crate) fn set_webhook_defaults(hook: &mut Map<String, Value>) {
    set_missing(
        hook,
        [
            ("failurePolicy", json!("Fail")),
            ("timeoutSeconds", json!(10)),
        ],
    );
    set_match_defaults(hook);
}

pub(crate) fn set_match_defaults(matching: &mut Map<String, Value>) {
    set_missing(
        matching,
        [
            ("matchPolicy", json!("Equivalent")),
            ("namespaceSelector", json!({})),
            ("objectSelector", json!({})),
        ],
    );
}

const VERSIONS: [&str; 2] = ["v1", "v1beta1"];
const ALL_SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun", "Some", "Unknown"];
const NO_SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun"];

/// What an update does not have to fulfill because the object did not before: such objects were valid once.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are the independent `validationOptions` of kube-apiserver"
)]
struct Tolerance {
    match_conditions: bool,
    side_effects: bool,
    unknown_versions: bool,
    duplicate_names: bool,
    selector_values: bool,
}

impl Tolerance {
    fn of_update(new: &[Value], old: &[Value]) -> Self {
        let conditions = |hooks: &[Value]| -> Vec<Value> {
            let conditions = hooks.iter().map(|hook| hook["matchConditions"].clone());
            conditions.collect()
        };
        let names: BTreeSet<_> = old.iter().map(|hook| text(hook, "name")).collect();
        Self {
            match_conditions: conditions(new) == conditions(old),
            side_effects: old
                .iter()
                .any(|hook| !NO_SIDE_EFFECTS.contains(&text(hook, "sideEffects"))),
            unknown_versions: old.iter().any(|hook| {
                let versions = list(hook, "admissionReviewVersions");
                !versions.is_empty() && !has_known_version(versions)
            }),
            duplicate_names: names.len() < old.len(),
            selector_values: old.iter().any(|hook| {
                let mut errors = Vec::new();
                for key in SELECTORS {
                    label_selector::validate(&mut errors, &Path::root(key), &hook[key]);
                }
                !errors.is_empty()
            }),
        }
    }
}

const SELECTORS: [&str; 2] = ["namespaceSelector", "objectSelector"];

pub(super) fn validate(object: &Value, old: Option<&Value>, errors: &mut Vec<Error>) {
    let path = Path::root("webhooks");
    let hooks = list(object, "webhooks");
    let tolerance = old.map_or_else(Tolerance::default, |old| {
        Tolerance::of_update(hooks, list(old, "webhooks"))
    });
    let mut names = Vec::new();
    for (index, hook) in hooks.iter().enumerate() {
        let field = path.index(index);
        validate_webhook(errors, &field, hook, &tolerance);
        let versions = field.child("admissionReviewVersions");
        validate_review_versions(errors, &versions, hook, &tolerance);
        let name = text(hook, "name");
        if !tolerance.duplicate_names && !name.is_empty() && names.contains(&name) {
            errors.push(Error::duplicate(&field.child("name"), name));
        }
        names.push(name);
    }
}

fn validate_webhook(errors: &mut Vec<Error>, path: &Path<'_>, hook: &Value, tolerance: &Tolerance) {
    validate_name(errors, &path.child("name"), text(hook, "name"));
    let field = path.child("rules");
    for (index, rule) in list(hook, "rules").iter().enumerate() {
        validate_rule(errors, &field.index(index), rule);
    }
    for (key, supported) in [
        ("failurePolicy", FAILURE_POLICIES),
        ("matchPolicy", MATCH_POLICIES),
    ] {
        validate_optional_enum(errors, &path.child(key), &hook[key], supported);
    }
    validate_side_effects(errors, &path.child("sideEffects"), hook, tolerance);
    if let Some(seconds) = hook["timeoutSeconds"].as_i64()
        && !(1..=30).contains(&seconds)
    {
        let field = path.child("timeoutSeconds");
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.push(Error::invalid(&field, seconds, detail));
    }
    for key in SELECTORS {
        let field = path.child(key);
        if tolerance.selector_values {
            label_selector::validate_allowing_any_value(errors, &field, &hook[key]);
        } else {
            label_selector::validate(errors, &field, &hook[key]);
        }
    }
    // Only mutating webhooks have one.
    let policy = &hook["reinvocationPolicy"];
    let field = path.child("reinvocationPolicy");
    validate_optional_enum(errors, &field, policy, REINVOCATION_POLICIES);
    validate_client_config(errors, &path.child("clientConfig"), &hook["clientConfig"]);
    if !tolerance.match_conditions {
        let conditions = list(hook, "matchConditions");
        let field = path.child("matchConditions");
        validate_match_conditions(errors, &field, conditions, &Compiler::webhook());
    }
}

fn validate_side_effects(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    hook: &Value,
    tolerance: &Tolerance,
) {
    let allowed = if tolerance.side_effects {
        ALL_SIDE_EFFECTS
    } else {
        NO_SIDE_EFFECTS
    };
    match hook["sideEffects"].as_str() {
        None => {
            let detail = format!("must specify one of {}", allowed.join(", "));
            errors.push(Error::required(path, detail));
        }
        Some(effects) => {
            validate_enum(errors, path, effects, allowed);
        }
    }
}

/// A name with at least three parts, so that two authors do not choose the same.
fn validate_name(errors: &mut Vec<Error>, path: &Path<'_>, name: &str) {
    if !require(errors, path, name) {
        return;
    }
    let messages = syntax::dns1123_subdomain(name);
    if !messages.is_empty() {
        errors.push(Error::invalid(path, name, messages.join(",")));
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        errors.push(Error::invalid(path, name, detail));
    }
}

fn has_known_version(versions: &[Value]) -> bool {
    texts(versions).any(|version| VERSIONS.contains(&version))
}

fn validate_review_versions(
    errors: &mut Vec<Error>,
    path: &Path<'_>,
    hook: &Value,
    tolerance: &Tolerance,
) {
    let versions = list(hook, "admissionReviewVersions");
    let known = VERSIONS.join(", ");
    if versions.is_empty() {
        let detail = format!("must specify one of {known}");
        errors.push(Error::required(path, detail));
        return;
    }
    let mut seen = Vec::new();
    for (index, version) in texts(versions).enumerate() {
        let field = path.index(index);
        if seen.contains(&version) {
            errors.push(Error::invalid(&field, version, "duplicate version"));
            continue;
        }
        seen.push(version);
        push_invalid(errors, &field, version, syntax::dns1035_label(version));
    }
    if !tolerance.unknown_versions && !has_known_version(versions) {
        let detail = format!("must include at least one of {known}");
        errors.push(Error::invalid(path, Value::from(versions), detail));
    }
}

fn validate_client_config(errors: &mut Vec<Error>, path: &Path<'_>, client: &Value) {
    let (url, service) = (client["url"].as_str(), &client["service"]);
    match url {
        Some(url) if !service.is_object() => validate_url(errors, &path.child("url"), url),
        None if service.is_object() => validate_service(errors, &path.child("service"), service),
        _ => {
            let detail = "exactly one of url or service is required";
            errors.push(Error::required(path, detail));
        }
    }
}

/// `ValidateWebhookURL`.
fn validate_url(errors: &mut Vec<Error>, path: &Path<'_>, text: &str) {
    const FORM: &str = "; desired format: https://host[/path]";
    let url = match url::parse(text.as_bytes(), true) {
        Ok(url) => url,
        Err(error) => {
            let detail = format!("url must be a valid URL: {error}{FORM}");
            errors.push(Error::required(path, detail));
            return;
        }
    };
    let mut push = |value: &[u8], detail: String| {
        let value = String::from_utf8_lossy(value);
        errors.push(Error::invalid(path, &*value, detail));
    };
    if url.scheme != b"https" {
        let detail = format!("'https' is the only allowed URL scheme{FORM}");
        push(&url.scheme, detail);
    }
    if url.host.is_empty() {
        push(&url.host, format!("host must be specified{FORM}"));
    }
    if let Some(user) = &url.user {
        let detail = "user information is not permitted in the URL";
        push(&user.to_bytes(), detail.to_owned());
    }
    if !url.fragment.is_empty() {
        let detail = "fragments are not permitted in the URL";
        push(&url.fragment, detail.to_owned());
    }
    if !url.query.is_empty() {
        let detail = "query parameters are not permitted in the URL";
        push(&url.query, detail.to_owned());
    }
}

/// `ValidateWebhookService`.
fn validate_service(errors: &mut Vec<Error>, path: &Path<'_>, service: &Value) {
    // kube-apiserver confuses the two: each is reported as the other.
    require(errors, &path.child("name"), text(service, "namespace"));
    require(errors, &path.child("namespace"), text(service, "name"));
    let port = number(service, "port");
    let messages = syntax::port_number(port);
    if !messages.is_empty() {
        let detail = format!("port is not valid: {}", messages.join(", "));
        errors.push(Error::invalid(&path.child("port"), port, detail));
    }
    if let Some(route) = service["path"].as_str() {
        validate_service_path(errors, &path.child("path"), route);
    }
}

fn validate_service_path(errors: &mut Vec<Error>, path: &Path<'_>, route: &str) {
    if matches!(route, "" | "/") {
        return;
    }
    if route == "//" {
        let detail = "segment[0] may not be empty";
        errors.push(Error::invalid(path, route, detail));
        return;
    }
    if !route.starts_with('/') {
        errors.push(Error::invalid(path, route, "must start with a '/'"));
    }
    let mut characters = route.chars();
    characters.next();
    let inner = characters.as_str();
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    for (index, part) in inner.split('/').enumerate() {
        if part.is_empty() {
            let detail = format!("segment[{index}] may not be empty");
            errors.push(Error::invalid(path, route, detail));
            continue;
        }
        for message in syntax::dns1123_subdomain(part) {
            let detail = format!("segment[{index}]: {message}");
            errors.push(Error::invalid(path, route, detail));
        }
    }
}

#[derive(Debug)]
pub(crate) struct WebhookConfiguration;

impl Strategy for WebhookConfiguration {
    fn required_extension(&self, object: &Value) -> Option<&'static str> {
        (!list(object, "webhooks").is_empty()).then_some("admission webhooks")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Registry;
    use crate::{defaults, validation};

    /// Objects with the errors of a real server, sorted.
    const INVALID: &str = include_str!("../../tests/data/invalid_webhooks.json");

    #[test]
    fn invalid_webhooks_have_the_errors_of_a_real_server() {
        let cases: Vec<Value> = serde_json::from_str(INVALID).unwrap();
        let kinds = Registry::default().snapshot();
        for case in cases {
            let kind = kinds.kind(
                crate::admissionregistration::GROUP,
                "v1",
                text(&case, "kind"),
            );
            let kind = kind.unwrap();
            let mut object = case["object"].clone();
            defaults::complete(kind, &mut object).unwrap();
            let errors = validation::create(kind, &object);
            let mut errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
            errors.sort();
            let mut expected: Vec<_> = texts(list(&case, "errors")).collect();
            expected.sort_unstable();
            assert_eq!(errors, expected);
        }
    }
}

//! `ValidatingWebhookConfiguration` and `MutatingWebhookConfiguration`. They are stored and validated; no webhook is called.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::{Map, Value, json};

use crate::fields::{list, set_missing, text};
use crate::strategy::Strategy;
use crate::validation::field_checks::{
    push_invalid, require, validate_enum, validate_optional_enum,
};

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

pub(crate) fn validate(object: &Value, errors: &mut Vec<Error>) {
    let path = Path::root("webhooks");
    let mut names = Vec::new();
    for (index, hook) in list(object, "webhooks").iter().enumerate() {
        let field = path.index(index);
        validate_webhook(errors, &field, hook);
        validate_review_versions(errors, &field.child("admissionReviewVersions"), hook);
        let name = text(hook, "name");
        if !name.is_empty() && names.contains(&name) {
            errors.push(Error::duplicate(&field.child("name"), name));
        }
        names.push(name);
    }
}

fn validate_webhook(errors: &mut Vec<Error>, path: &Path<'_>, hook: &Value) {
    validate_name(errors, &path.child("name"), text(hook, "name"));
    validate_rules(errors, &path.child("rules"), hook);
    let field = path.child("failurePolicy");
    let policies = ["Fail", "Ignore"];
    validate_optional_enum(errors, &field, &hook["failurePolicy"], &policies);
    let field = path.child("matchPolicy");
    let policies = ["Equivalent", "Exact"];
    validate_optional_enum(errors, &field, &hook["matchPolicy"], &policies);
    let field = path.child("sideEffects");
    match hook["sideEffects"].as_str() {
        None => {
            let detail = "must specify one of None, NoneOnDryRun";
            errors.push(Error::required(&field, detail));
        }
        Some(effects) => {
            validate_enum(errors, &field, effects, &["None", "NoneOnDryRun"]);
        }
    }
    if let Some(seconds) = hook["timeoutSeconds"].as_i64()
        && !(1..=30).contains(&seconds)
    {
        let field = path.child("timeoutSeconds");
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.push(Error::invalid(&field, seconds, detail));
    }
    validate_client_config(errors, &path.child("clientConfig"), &hook["clientConfig"]);
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

fn validate_rules(errors: &mut Vec<Error>, path: &Path<'_>, hook: &Value) {
    for (index, rule) in list(hook, "rules").iter().enumerate() {
        let field = path.index(index);
        for key in ["operations", "apiGroups", "apiVersions", "resources"] {
            if list(rule, key).is_empty() {
                errors.push(Error::required(&field.child(key), ""));
            }
        }
    }
}

fn validate_review_versions(errors: &mut Vec<Error>, path: &Path<'_>, hook: &Value) {
    let given = list(hook, "admissionReviewVersions");
    let known = VERSIONS.join(", ");
    if given.is_empty() {
        let detail = format!("must specify one of {known}");
        errors.push(Error::required(path, detail));
    } else if !given
        .iter()
        .any(|version| VERSIONS.iter().any(|known| version == known))
    {
        let detail = format!("must include at least one of {known}");
        let bad_value = &hook["admissionReviewVersions"];
        errors.push(Error::invalid(path, bad_value, detail));
    }
}

fn validate_client_config(errors: &mut Vec<Error>, path: &Path<'_>, client: &Value) {
    let (url, service) = (client["url"].as_str(), &client["service"]);
    if url.is_some() == service.is_object() {
        let detail = "exactly one of url or service is required";
        errors.push(Error::required(path, detail));
        return;
    }
    if let Some(url) = url {
        let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
        if scheme != "https" {
            let detail =
                "'https' is the only allowed URL scheme; desired format: https://host[/path]";
            errors.push(Error::invalid(&path.child("url"), scheme, detail));
        }
        return;
    }
    let field = path.child("service");
    for key in ["name", "namespace"] {
        require(errors, &field.child(key), text(service, key));
    }
    if let Some(route) = service["path"].as_str() {
        validate_service_path(errors, &field.child("path"), route);
    }
}

fn validate_service_path(errors: &mut Vec<Error>, path: &Path<'_>, route: &str) {
    if matches!(route, "" | "/") {
        return;
    }
    if !route.starts_with('/') {
        errors.push(Error::invalid(path, route, "must start with a '/'"));
    }
    let inner = route.get(1..).unwrap_or_default();
    for (index, part) in inner.trim_end_matches('/').split('/').enumerate() {
        if part.is_empty() {
            let detail = format!("segment[{index}] may not be empty");
            errors.push(Error::invalid(path, route, detail));
        } else {
            push_invalid(errors, path, route, syntax::dns1123_subdomain(part));
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

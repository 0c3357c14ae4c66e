//! Configurations of admission webhooks. They are kept and checked; no webhook is called.

use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use super::field_checks::{each, list, one_of, one_of_if_set, required, text};

const VERSIONS: [&str; 2] = ["v1", "v1beta1"];

pub(super) fn check(object: &Value, errors: &mut Vec<Error>) {
    let path = Path::root("webhooks");
    let mut names = Vec::new();
    for (index, hook) in list(object, "webhooks").iter().enumerate() {
        let place = path.index(index);
        check_hook(errors, &place, hook);
        versions(errors, &place.child("admissionReviewVersions"), hook);
        let name = text(hook, "name");
        if !name.is_empty() && names.contains(&name) {
            errors.push(Error::duplicate(&place.child("name"), name));
        }
        names.push(name);
    }
}

fn check_hook(errors: &mut Vec<Error>, path: &Path<'_>, hook: &Value) {
    name(errors, &path.child("name"), text(hook, "name"));
    rules(errors, &path.child("rules"), hook);
    let place = path.child("failurePolicy");
    let policies = ["Fail", "Ignore"];
    one_of_if_set(errors, &place, &hook["failurePolicy"], &policies);
    let place = path.child("matchPolicy");
    let policies = ["Equivalent", "Exact"];
    one_of_if_set(errors, &place, &hook["matchPolicy"], &policies);
    let place = path.child("sideEffects");
    match hook["sideEffects"].as_str() {
        None => {
            let detail = "must specify one of None, NoneOnDryRun";
            errors.push(Error::required(&place, detail));
        }
        Some(effects) => {
            one_of(errors, &place, effects, &["None", "NoneOnDryRun"]);
        }
    }
    if let Some(seconds) = hook["timeoutSeconds"].as_i64()
        && !(1..=30).contains(&seconds)
    {
        let place = path.child("timeoutSeconds");
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.push(Error::invalid(&place, seconds, detail));
    }
    client(errors, &path.child("clientConfig"), &hook["clientConfig"]);
}

/// A name with at least three parts, so that two authors do not choose the same.
fn name(errors: &mut Vec<Error>, path: &Path<'_>, name: &str) {
    if !required(errors, path, name) {
        return;
    }
    let problems = syntax::dns1123_subdomain(name);
    if !problems.is_empty() {
        errors.push(Error::invalid(path, name, problems.join(",")));
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        errors.push(Error::invalid(path, name, detail));
    }
}

fn rules(errors: &mut Vec<Error>, path: &Path<'_>, hook: &Value) {
    for (index, rule) in list(hook, "rules").iter().enumerate() {
        let place = path.index(index);
        for key in ["operations", "apiGroups", "apiVersions", "resources"] {
            if list(rule, key).is_empty() {
                errors.push(Error::required(&place.child(key), ""));
            }
        }
    }
}

fn versions(errors: &mut Vec<Error>, path: &Path<'_>, hook: &Value) {
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
        let shown = &hook["admissionReviewVersions"];
        errors.push(Error::invalid(path, shown, detail));
    }
}

fn client(errors: &mut Vec<Error>, path: &Path<'_>, client: &Value) {
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
    let place = path.child("service");
    for key in ["name", "namespace"] {
        required(errors, &place.child(key), text(service, key));
    }
    if let Some(route) = service["path"].as_str() {
        service_path(errors, &place.child("path"), route);
    }
}

fn service_path(errors: &mut Vec<Error>, path: &Path<'_>, route: &str) {
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
            each(errors, path, route, syntax::dns1123_subdomain(part));
        }
    }
}

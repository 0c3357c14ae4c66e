//! `/healthz`, `/livez`, `/readyz` and their metrics.
//!
//! A server that answers has finished its start, so all checks pass, except that of a server which closes.

use std::fmt::Write as _;

use http::StatusCode;

use super::{State, non_resource};
use crate::negotiation::{ApiResponse, text};
use crate::request::Query;

/// The checks of a real server for what this one has too: the store, and the steps of the start.
const CHECKS: [&str; 22] = [
    "ping",
    "log",
    "etcd",
    "poststarthook/start-apiserver-admission-initializer",
    "poststarthook/generic-apiserver-start-informers",
    "poststarthook/start-apiextensions-informers",
    "poststarthook/start-apiextensions-controllers",
    "poststarthook/crd-informer-synced",
    "poststarthook/start-system-namespaces-controller",
    "poststarthook/start-cluster-authentication-info-controller",
    "poststarthook/storage-readiness",
    "poststarthook/start-service-ip-repair-controllers",
    "poststarthook/rbac/bootstrap-roles",
    "poststarthook/scheduling/bootstrap-system-priority-classes",
    "poststarthook/bootstrap-controller",
    "poststarthook/start-kube-aggregator-informers",
    "poststarthook/apiservice-status-local-available-controller",
    "poststarthook/apiservice-status-remote-available-controller",
    "poststarthook/apiservice-registration-controller",
    "poststarthook/kube-apiserver-autoregistration",
    "autoregister-completion",
    "poststarthook/apiservice-openapi-controller",
];

/// Of `/readyz` only.
const READY_CHECKS: [&str; 2] = ["informer-sync", "shutdown"];

fn checks(endpoint: &str) -> impl Iterator<Item = &'static str> {
    let ready: &[&str] = if endpoint == "readyz" {
        &READY_CHECKS
    } else {
        &[]
    };
    CHECKS.iter().chain(ready).copied()
}

/// `ok`, all checks if `verbose` is set, or one check by name.
pub(super) fn check(state: &State, path: &str, rest: &[&str], query: &Query<'_>) -> ApiResponse {
    let endpoint = path.split('/').next().unwrap_or_default();
    let is_closing = *state.closed.borrow() && endpoint == "readyz";
    let name = rest.join("/");
    if !name.is_empty() {
        return match checks(endpoint).find(|check| *check == name) {
            Some("shutdown") if is_closing => failure("internal server error: closing"),
            Some(_) => text(StatusCode::OK, "ok"),
            None => non_resource::not_found(),
        };
    }
    let excluded: Vec<&str> = query.all("exclude").collect();
    let mut lines = String::new();
    for check in checks(endpoint) {
        let _ = match check {
            _ if excluded.contains(&check) => writeln!(lines, "[+]{check} excluded: ok"),
            "shutdown" if is_closing => writeln!(lines, "[-]{check} failed: reason withheld"),
            _ => writeln!(lines, "[+]{check} ok"),
        };
    }
    if is_closing && !excluded.contains(&"shutdown") {
        return failure(&format!("{lines}{endpoint} check failed"));
    }
    if query.has("verbose") {
        return text(StatusCode::OK, format!("{lines}{endpoint} check passed\n"));
    }
    text(StatusCode::OK, "ok")
}

fn failure(message: &str) -> ApiResponse {
    text(StatusCode::INTERNAL_SERVER_ERROR, format!("{message}\n"))
}

/// `/metrics/slis`: the result of each check.
pub(super) fn metrics(state: &State) -> ApiResponse {
    let mut lines = String::from(
        "# HELP kubernetes_healthcheck [STABLE] This metric records the result of a single healthcheck.\n\
         # TYPE kubernetes_healthcheck gauge\n",
    );
    for endpoint in ["healthz", "livez", "readyz"] {
        for check in checks(endpoint) {
            let is_passed = check != "shutdown" || !*state.closed.borrow();
            let _ = writeln!(
                lines,
                "kubernetes_healthcheck{{name=\"{check}\",type=\"{endpoint}\"}} {}",
                u8::from(is_passed)
            );
        }
    }
    text(StatusCode::OK, lines)
}

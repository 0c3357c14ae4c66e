//! Probes and the hooks of a container's life.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::Value;

use super::super::field_checks::{
    list, none_negative, one_of, port_number, port_or_name, required, text,
};

/// A probe. Some must succeed once, no more.
pub(super) fn check(errors: &mut Vec<Error>, path: &Path<'_>, probe: &Value, succeeds_once: bool) {
    handler(errors, path, probe);
    none_negative(
        errors,
        path,
        probe,
        &[
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ],
    );
    if let Some(seconds) = probe["terminationGracePeriodSeconds"].as_i64()
        && seconds <= 0
    {
        let place = path.child("terminationGracePeriodSeconds");
        errors.push(Error::invalid(&place, seconds, "must be greater than 0"));
    }
    let threshold = probe["successThreshold"].as_i64().unwrap_or(1);
    if succeeds_once && threshold != 1 {
        let place = path.child("successThreshold");
        errors.push(Error::invalid(&place, threshold, "must be 1"));
    }
}

/// What is done: exactly one thing.
pub(super) fn handler(errors: &mut Vec<Error>, path: &Path<'_>, handler: &Value) {
    let mut has_one = false;
    for (key, check) in [
        ("exec", exec as fn(&mut Vec<Error>, &Path<'_>, &Value)),
        ("httpGet", http_get),
        ("tcpSocket", tcp_socket),
        ("grpc", grpc),
        ("sleep", |_, _, _| {}),
    ] {
        let action = &handler[key];
        if !action.is_object() {
            continue;
        }
        if has_one {
            let detail = "may not specify more than 1 handler type";
            errors.push(Error::forbidden(&path.child(key), detail));
        } else {
            has_one = true;
            check(errors, &path.child(key), action);
        }
    }
    if !has_one {
        errors.push(Error::required(path, "must specify a handler type"));
    }
}

fn exec(errors: &mut Vec<Error>, path: &Path<'_>, action: &Value) {
    if list(action, "command").is_empty() {
        errors.push(Error::required(&path.child("command"), ""));
    }
}

fn http_get(errors: &mut Vec<Error>, path: &Path<'_>, action: &Value) {
    required(errors, &path.child("path"), text(action, "path"));
    port_or_name(errors, &path.child("port"), &action["port"]);
    let scheme = text(action, "scheme");
    one_of(errors, &path.child("scheme"), scheme, &["HTTP", "HTTPS"]);
}

fn tcp_socket(errors: &mut Vec<Error>, path: &Path<'_>, action: &Value) {
    port_or_name(errors, &path.child("port"), &action["port"]);
}

fn grpc(errors: &mut Vec<Error>, path: &Path<'_>, action: &Value) {
    let port = action["port"].as_i64().unwrap_or_default();
    port_number(errors, &path.child("port"), port);
}

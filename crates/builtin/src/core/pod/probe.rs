//! Validation of probes and lifecycle hooks.

use outrigger_apimachinery::status::field::{Error, Path};
use serde_json::Value;

use crate::fields::{list, text};
use crate::validation::field_checks::{
    require, validate_enum, validate_nonnegative_fields, validate_port_num,
    validate_port_num_or_name,
};

/// Validates a probe. For some, `successThreshold` must be 1.
pub(super) fn check(errors: &mut Vec<Error>, path: &Path<'_>, probe: &Value, succeeds_once: bool) {
    handler(errors, path, probe);
    validate_nonnegative_fields(
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
        let field = path.child("terminationGracePeriodSeconds");
        errors.push(Error::invalid(&field, seconds, "must be greater than 0"));
    }
    let threshold = probe["successThreshold"].as_i64().unwrap_or(1);
    if succeeds_once && threshold != 1 {
        let field = path.child("successThreshold");
        errors.push(Error::invalid(&field, threshold, "must be 1"));
    }
}

/// Requires exactly one handler.
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
    require(errors, &path.child("path"), text(action, "path"));
    validate_port_num_or_name(errors, &path.child("port"), &action["port"]);
    let scheme = text(action, "scheme");
    validate_enum(errors, &path.child("scheme"), scheme, &["HTTP", "HTTPS"]);
}

fn tcp_socket(errors: &mut Vec<Error>, path: &Path<'_>, action: &Value) {
    validate_port_num_or_name(errors, &path.child("port"), &action["port"]);
}

fn grpc(errors: &mut Vec<Error>, path: &Path<'_>, action: &Value) {
    let port = action["port"].as_i64().unwrap_or_default();
    validate_port_num(errors, &path.child("port"), port);
}

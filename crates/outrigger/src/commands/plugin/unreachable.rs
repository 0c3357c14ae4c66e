//! Explains why a cluster could not be reached: which server, what failed, and what to do.

use std::error::Error as StdError;
use std::sync::OnceLock;

use anyhow::anyhow;

use crate::report::HintExt as _;

/// The server of the kubeconfig. A command uses one.
static SERVER: OnceLock<String> = OnceLock::new();

/// Remembers the server, for the messages of errors.
pub(super) fn set_server(server: String) {
    // Only the first matters.
    let _ = SERVER.set(server);
}

/// The error of a request that got no response from the API server.
pub(crate) fn explain(error: &kube::Error) -> anyhow::Error {
    let server = SERVER.get().map_or("", String::as_str);
    let (message, hint) = describe(server, &root_cause(error));
    let result: Result<(), _> = Err(anyhow!(message)).hint(hint);
    result.expect_err("a hint does not change the result")
}

/// The last of the sources: those before it say only that the connection failed.
fn root_cause(error: &(dyn StdError + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

fn describe(server: &str, cause: &str) -> (String, String) {
    let cluster = match server {
        "" => "the cluster".to_owned(),
        server => format!("the cluster at {server}"),
    };
    let is = |words: &[&str]| words.iter().any(|word| cause.contains(word));
    let hint = if is(&["certificate", "UnknownIssuer"]) {
        "the kubeconfig has another certificate authority than the server, or the server has another name"
    } else if is(&["lookup", "resolve"]) {
        "the name of the server cannot be resolved; check --kubeconfig and --context"
    } else if is(&["refused", "unreachable", "timed out", "deadline"]) {
        "check that it is running, and check --kubeconfig and --context; `outrigger up` starts a local one"
    } else {
        "check --kubeconfig and --context"
    };
    (
        format!("failed to reach {cluster}: {cause}"),
        hint.to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_server_and_cause_and_the_hint_fits() {
        let (message, hint) =
            describe("https://10.0.0.1:6443", "Connection refused (os error 111)");
        assert_eq!(
            message,
            "failed to reach the cluster at https://10.0.0.1:6443: Connection refused (os error 111)"
        );
        assert!(hint.starts_with("check that it is running"), "{hint}");
        let (_, hint) = describe("https://x", "invalid peer certificate: UnknownIssuer");
        assert!(hint.contains("certificate authority"), "{hint}");
    }
}

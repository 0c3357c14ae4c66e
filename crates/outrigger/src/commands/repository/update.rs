//! `outrigger repository update`: makes the controller read the index of repositories again, and reports the result.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{anyhow, bail};
use jiff::Timestamp;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use outrigger_api::annotation::REFRESH;
use outrigger_api::condition::ConditionStatus;
use outrigger_api::repository::Repository;
use serde_json::json;

use super::{ClusterFlags, api, explain, ready_condition, suggest, until};
use crate::commands::plugin::progress::parse_timeout;
use crate::logging::LogFormat;
use crate::printer::Printer;
use crate::report::{HintExt as _, failure, note};

const EXAMPLES: &str = "\
Examples:
  outrigger repository update
  outrigger repository update stable --timeout 5m";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Names of the repositories [default: all]
    names: Vec<String>,
    /// Maximum time to wait for a repository to be read
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = parse_timeout)]
    timeout: Duration,
    #[command(flatten)]
    cluster: ClusterFlags,
}

pub(super) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let api = api(&args.cluster).await?;
    let request = Timestamp::now().to_string();
    let mut before = Vec::new();
    let mut names = args.names.clone();
    if names.is_empty() {
        let all = api.list(&ListParams::default()).await;
        let all = all.map_err(|error| explain(&error, ""))?;
        names = all.iter().map(ResourceExt::name_any).collect();
        if names.is_empty() {
            note("no repositories in the cluster");
        }
    }
    for name in &names {
        let patch = json!({"metadata": {"annotations": {REFRESH: request}}});
        let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
        let patched = api.patch(name, &parameters, &patch).await;
        match patched {
            Ok(repository) => before.push(repository),
            Err(error) => return Err(suggest(&api, name, error).await),
        }
    }
    let mut exit_code = ExitCode::SUCCESS;
    for (name, before) in names.iter().zip(before) {
        let read = until_read(&api, name, &request, args.timeout).await;
        match read.and_then(|after| outcome(name, &before, &after)) {
            Ok(line) => printer.line(&line)?,
            Err(error) => {
                exit_code = failure(&error, LogFormat::default());
            }
        }
    }
    Ok(exit_code)
}

/// Waits until the controller has tried to read the repository.
async fn until_read(
    api: &Api<Repository>,
    name: &str,
    request: &str,
    timeout: Duration,
) -> anyhow::Result<Repository> {
    let is_handled = |repository: &Repository| {
        let status = repository.status.as_ref();
        status.is_some_and(|status| status.refresh_handled.as_deref() == Some(request))
    };
    let read = until(api, name, is_handled, timeout).await?;
    let seconds = timeout.as_secs();
    read.ok_or_else(|| anyhow!("repository {name} was not read within {seconds} s"))
        .hint(
            "check that the controller is running (outrigger serve), or wait longer with --timeout",
        )
}

/// What reading the repository resulted in.
fn outcome(name: &str, before: &Repository, after: &Repository) -> anyhow::Result<String> {
    let ready = ready_condition(after);
    let Some(ready) = ready.filter(|ready| ready.status == ConditionStatus::True) else {
        let message = ready.map_or("it has no condition Ready", |ready| &ready.message);
        bail!("failed to read repository {name}: {message}");
    };
    let digest_before = before
        .status
        .as_ref()
        .and_then(|status| status.index_digest.as_ref());
    let status = after.status.as_ref();
    let verb = if digest_before == status.and_then(|status| status.index_digest.as_ref()) {
        "unchanged"
    } else {
        "updated"
    };
    Ok(format!("repository {name} {verb}, {}", ready.message))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn repository(status: &Value) -> Repository {
        let object = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Repository", "metadata": {"name": "stable"},
            "spec": {"url": "https://charts.example.com"}, "status": status,
        });
        serde_json::from_value(object).unwrap()
    }

    fn read(digest: &str, status: &str, message: &str) -> Repository {
        repository(&json!({"indexDigest": digest, "conditions": [{
            "type": "Ready", "status": status, "reason": "Any", "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]}))
    }

    #[test]
    fn the_result_is_that_of_the_controller() {
        let before = read("a", "True", "3 charts");
        let text = |after: &Repository| match outcome("stable", &before, after) {
            Ok(text) => text,
            Err(error) => format!("Error: {error}"),
        };
        assert_eq!(
            text(&read("b", "True", "4 charts")),
            "repository stable updated, 4 charts"
        );
        assert_eq!(text(&before), "repository stable unchanged, 3 charts");
        assert_eq!(
            text(&read("a", "False", "connection refused")),
            "Error: failed to read repository stable: connection refused"
        );
    }
}

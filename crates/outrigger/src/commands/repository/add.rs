//! `outrigger repository add`: creates a Repository, and reports whether the controller can read it.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use kube::ResourceExt as _;
use kube::api::PostParams;
use outrigger_api::condition::ConditionStatus;
use outrigger_api::repository::{Repository, RepositorySpec, SecretReference};
use outrigger_repository::{Error as SourceError, Source};

use super::{ClusterFlags, api, explain, ready_condition, until};
use crate::commands::plugin::progress::parse_timeout;
use crate::commands::plugin::repo_path;
use crate::printer::Printer;
use crate::report::note;

const EXAMPLES: &str = "\
Examples:
  outrigger repository add stable https://charts.example.com
  outrigger repository add site oci://registry.local:5000/charts --secret default/registry
  outrigger repository add local ./charts";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the repository
    name: String,
    /// https://, oci:// or file:// URL, or a directory
    #[arg(value_parser = parse_url)]
    url: String,
    /// Priority among repositories with the same chart; the lowest value is used
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    priority: i32,
    /// Secret with credentials (username and password, or token) and certificates (ca.crt, and tls.crt with tls.key)
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = parse_secret)]
    secret: Option<SecretReference>,
    /// The charts are addons of the platform
    #[arg(long)]
    system: bool,
    /// Maximum time to wait until the controller has read the repository; 0s does not wait
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_timeout)]
    timeout: Duration,
    #[command(flatten)]
    cluster: ClusterFlags,
}

/// Why an argument is rejected.
#[derive(Debug, thiserror::Error)]
enum ArgumentError {
    #[error("expected NAMESPACE/NAME")]
    Secret,
    #[error("expected the URL of a repository, such as https://charts.example.com, or a directory")]
    Name,
    #[error("it is the URL of one chart; use `outrigger plugin install NAME URL`")]
    Archive,
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("failed to find the working directory")]
    WorkingDirectory(#[from] std::io::Error),
}

fn parse_secret(text: &str) -> Result<SecretReference, ArgumentError> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => {
            Ok(SecretReference {
                name: name.to_owned(),
                namespace: namespace.to_owned(),
            })
        }
        _ => Err(ArgumentError::Secret),
    }
}

fn parse_url(text: &str) -> Result<String, ArgumentError> {
    repository_url(text, &std::env::current_dir()?)
}

/// Rejects what no controller can read, and makes paths absolute.
fn repository_url(text: &str, directory: &Path) -> Result<String, ArgumentError> {
    match Source::parse(text, directory)? {
        Source::Named(_) => Err(ArgumentError::Name),
        Source::Archive(_) => Err(ArgumentError::Archive),
        Source::Local(_) | Source::Repository(_) | Source::Oci(_) => {
            Ok(repo_path::absolute(text, directory))
        }
    }
}

pub(super) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let spec = RepositorySpec {
        url: args.url.clone(),
        priority: args.priority,
        secret_ref: args.secret.clone(),
        system: args.system,
    };
    let api = api(&args.cluster).await?;
    let repository = Repository::new(&args.name, spec);
    let created = api.create(&PostParams::default(), &repository).await;
    let created = created.map_err(|error| explain(&error, &args.name))?;
    printer.line(&format!("repository {} added", created.name_any()))?;
    if args.timeout.is_zero() {
        return Ok(ExitCode::SUCCESS);
    }
    let read = until(&api, &args.name, is_read, args.timeout).await?;
    if let Some(warning) = warning(&args.name, read.as_ref()) {
        note(&warning);
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether the controller has tried to read this version of a repository.
fn is_read(repository: &Repository) -> bool {
    let status = repository.status.as_ref();
    let observed = status.and_then(|status| status.observed_generation);
    observed.is_some() && observed == repository.metadata.generation
}

/// What is wrong with an added repository, as the controller sees it. `None` for the repository if there was no time to
/// read it.
fn warning(name: &str, read: Option<&Repository>) -> Option<String> {
    let Some(repository) = read else {
        return Some(format!(
            "warning: the controller has not read it yet; `outrigger repository update {name}` waits for it"
        ));
    };
    let ready = ready_condition(repository)?;
    (ready.status != ConditionStatus::True).then(|| {
        format!(
            "warning: the controller cannot read it: {}; it is tried again",
            ready.message
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn urls_that_can_never_work_are_rejected() {
        let parse = |text: &str| repository_url(text, Path::new("/work"));
        for text in [
            "stable",
            "ftp://charts.example.com",
            "https://",
            "https://ann:secret@charts.example.com",
            "https://charts.example.com/web-1.0.0.tgz",
            "git@example.com:charts.git",
            "oci://",
            "file://",
            "",
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        for (text, url) in [
            ("https://charts.example.com", "https://charts.example.com"),
            ("oci://registry.local/charts", "oci://registry.local/charts"),
            ("file:///srv/charts", "file:///srv/charts"),
            ("./charts", "file:///work/charts"),
        ] {
            assert_eq!(parse(text).unwrap(), url);
        }
    }

    #[test]
    fn a_secret_has_a_namespace() {
        assert!(parse_secret("default/registry").is_ok());
        for text in ["registry", "/registry", "default/"] {
            assert!(parse_secret(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_repository_that_cannot_be_read_is_reported() {
        let repository = |observed: i64, status: &str| -> Repository {
            let object = json!({
                "apiVersion": "outrigger.dev/v1beta1", "kind": "Repository",
                "metadata": {"name": "stable", "generation": 1}, "spec": {"url": "https://charts.example.com"},
                "status": {"observedGeneration": observed, "conditions": [{
                    "type": "Ready", "status": status, "reason": "Unreachable", "message": "connection refused",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }]},
            });
            serde_json::from_value(object).unwrap()
        };
        assert!(is_read(&repository(1, "True")) && !is_read(&repository(0, "True")));
        assert_eq!(warning("stable", Some(&repository(1, "True"))), None);
        let text = warning("stable", Some(&repository(1, "False"))).unwrap();
        assert!(
            text.contains("cannot read it: connection refused"),
            "{text}"
        );
        assert!(
            warning("stable", None)
                .unwrap()
                .contains("has not read it yet")
        );
    }
}

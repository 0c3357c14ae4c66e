//! Runs specs in processes of `e2e.test`, several side by side. A process in which nothing finishes for a while is
//! interrupted, and another one runs the rest.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures::future::try_join_all;
use outrigger_testing::peers;
use serde::Deserialize;
use tokio::process::Child;

use super::clusters::Cluster;
use super::report::Outcome;
use crate::process::{command, open_log, signal};

/// How long the suite takes to start.
const STARTUP: Duration = Duration::from_secs(25);
/// How long an interrupted process may clean up.
const CLEANUP: Duration = Duration::from_secs(40);
const POLL: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub(super) struct Suite {
    program: PathBuf,
    kubectl: PathBuf,
    scratch: PathBuf,
    jobs: usize,
    limit: Duration,
}

/// A spec in the report of ginkgo.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SpecReport {
    leaf_node_type: String,
    leaf_node_text: String,
    #[serde(default)]
    container_hierarchy_texts: Option<Vec<String>>,
    state: String,
    #[serde(default)]
    failure: Option<Failure>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Failure {
    message: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SuiteReport {
    #[serde(default)]
    spec_reports: Option<Vec<SpecReport>>,
}

impl Suite {
    pub(super) fn new(scratch: &Path, jobs: usize, limit: Duration) -> anyhow::Result<Self> {
        Ok(Self {
            program: peers::E2E_TEST.installed()?,
            kubectl: peers::KUBECTL.installed()?,
            scratch: scratch.to_owned(),
            jobs: jobs.max(1),
            limit,
        })
    }

    /// The same suite, for specs that need the cluster alone.
    pub(super) fn alone(&self) -> Self {
        Self {
            jobs: 1,
            ..self.clone()
        }
    }

    /// The names of all specs.
    pub(super) async fn list(&self) -> anyhow::Result<Vec<String>> {
        let output = command(&self.program).arg("--list-tests").output().await?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut names: Vec<String> = text.lines().filter_map(spec_name).collect();
        names.dedup();
        Ok(names)
    }

    /// Runs specs on the cluster of a kubeconfig.
    pub(super) async fn run(
        &self,
        kubeconfig: &Path,
        specs: Vec<String>,
        cluster: Cluster,
    ) -> anyhow::Result<Vec<(String, Outcome)>> {
        let groups = (0..self.jobs).map(|job| {
            let names = specs.iter().skip(job).step_by(self.jobs);
            let names: Vec<String> = names.cloned().collect();
            let directory = self.scratch.join(cluster.name()).join(format!("job-{job}"));
            self.run_group(kubeconfig, names, directory)
        });
        Ok(try_join_all(groups).await?.into_iter().flatten().collect())
    }

    async fn run_group(
        &self,
        kubeconfig: &Path,
        mut left: Vec<String>,
        directory: PathBuf,
    ) -> anyhow::Result<Vec<(String, Outcome)>> {
        fs_err::create_dir_all(&directory)?;
        let mut results = Vec::new();
        for turn in 0.. {
            if left.is_empty() {
                break;
            }
            let log = directory.join(format!("{turn}.log"));
            let report = directory.join(format!("{turn}.json"));
            let mut child = self.start(kubeconfig, &left, &directory, &log, &report)?;
            self.watch(&mut child, &log).await?;
            let outcomes = outcomes(&report);
            let (done, rest): (Vec<_>, Vec<_>) = left
                .into_iter()
                .partition(|name| outcomes.contains_key(name));
            left = rest;
            if done.is_empty() && !left.is_empty() {
                let why = "it hung before the suite wrote a report".to_owned();
                results.push((left.remove(0), Outcome::Unfinished(why)));
            }
            for name in done {
                if let Some(outcome) = outcomes.get(&name) {
                    log_result(&name, outcome);
                    results.push((name, outcome.clone()));
                }
            }
        }
        Ok(results)
    }

    fn start(
        &self,
        kubeconfig: &Path,
        specs: &[String],
        directory: &Path,
        log: &Path,
        report: &Path,
    ) -> anyhow::Result<Child> {
        let names: Vec<String> = specs.iter().map(|name| regex::escape(name)).collect();
        let focus = format!("({})$", names.join("|"));
        let child = command(&self.program)
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .arg(format!("--kubectl-path={}", self.kubectl.display()))
            .arg(format!("--e2e-output-dir={}", directory.display()))
            .arg(format!("--ginkgo.json-report={}", report.display()))
            .arg(format!("--ginkgo.focus={focus}"))
            .args([
                "--provider=skeleton",
                "--allowed-not-ready-nodes=-1",
                "--minStartupPods=0",
                "--num-nodes=2",
                "--node-schedulable-timeout=5s",
                "--dump-logs-on-failure=false",
                "--disable-log-dump",
                "--ginkgo.no-color",
                "--ginkgo.v",
                "--ginkgo.timeout=2h",
                "--ginkgo.grace-period=8s",
            ])
            .env("KUBECONFIG", kubeconfig)
            .current_dir(directory)
            .stdout(open_log(log)?)
            .stderr(open_log(log)?)
            .spawn();
        child.context("failed to start e2e.test")
    }

    /// Waits for the end of a process, and interrupts it if no spec finishes within the limit.
    async fn watch(&self, child: &mut Child, log: &Path) -> anyhow::Result<()> {
        let mut finished = 0;
        let mut last = Instant::now();
        let mut is_interrupted = false;
        loop {
            if tokio::time::timeout(POLL, child.wait()).await.is_ok() {
                return Ok(());
            }
            let text = fs_err::read(log).unwrap_or_default();
            let count = String::from_utf8_lossy(&text).matches("\n• [").count();
            if count != finished {
                (finished, last) = (count, Instant::now());
            }
            let startup = if finished == 0 {
                STARTUP
            } else {
                Duration::ZERO
            };
            if is_interrupted && last.elapsed() > CLEANUP {
                child.kill().await?;
            } else if !is_interrupted && last.elapsed() > self.limit + startup {
                is_interrupted = true;
                last = Instant::now();
                if let Some(pid) = child.id() {
                    signal("INT", pid).await?;
                }
            }
        }
    }
}

/// The name in a line such as `    test/e2e/apps/job.go:94: [sig-apps] Job should …`.
fn spec_name(line: &str) -> Option<String> {
    let (place, name) = line.split_once(": [sig-")?;
    place
        .contains(".go:")
        .then(|| format!("[sig-{}", name.trim()))
}

/// The outcomes in a report; none if there is no report.
fn outcomes(report: &Path) -> HashMap<String, Outcome> {
    let text = fs_err::read(report).unwrap_or_default();
    let suites: Vec<SuiteReport> = serde_json::from_slice(&text).unwrap_or_default();
    let specs = suites.into_iter().filter_map(|suite| suite.spec_reports);
    specs.flatten().filter_map(outcome).collect()
}

fn outcome(spec: SpecReport) -> Option<(String, Outcome)> {
    if spec.leaf_node_type != "It" {
        return None;
    }
    let why = spec.failure.unwrap_or_default().message;
    let outcome = match spec.state.as_str() {
        "passed" => Outcome::Passed,
        "failed" | "panicked" => Outcome::Failed(why),
        "pending" => return None,
        // Specs that are not selected, or come after an interrupt.
        "skipped" if why.is_empty() || why.contains("nterrupt") => return None,
        _ => Outcome::Unfinished(why),
    };
    let mut parts = spec.container_hierarchy_texts.unwrap_or_default();
    parts.push(spec.leaf_node_text);
    Some((parts.join(" "), outcome))
}

#[expect(clippy::print_stderr, reason = "progress goes to stderr")]
fn log_result(name: &str, outcome: &Outcome) {
    let word = match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed(_) => "failed",
        Outcome::Unfinished(_) => "unfinished",
    };
    eprintln!("{word:10} {name}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_names_and_reports() {
        let line = "    k8s.io/kubernetes/test/e2e/apps/job.go:94: [sig-apps] Job should run";
        assert_eq!(
            spec_name(line).as_deref(),
            Some("[sig-apps] Job should run")
        );
        let directory = tempfile::tempdir().unwrap();
        let report = directory.path().join("report.json");
        let text = r#"[{"SpecReports": [
            {"LeafNodeType": "It", "LeafNodeText": "works", "ContainerHierarchyTexts": ["[sig-a]"], "State": "passed"},
            {"LeafNodeType": "It", "LeafNodeText": "fails", "State": "failed", "Failure": {"Message": "no"}},
            {"LeafNodeType": "It", "LeafNodeText": "skipped", "State": "skipped"},
            {"LeafNodeType": "BeforeSuite", "LeafNodeText": "", "State": "passed"}
        ]}]"#;
        fs_err::write(&report, text).unwrap();
        let outcomes = outcomes(&report);
        assert_eq!(outcomes.len(), 2);
        assert_eq!(outcomes["[sig-a] works"], Outcome::Passed);
        assert_eq!(outcomes["fails"], Outcome::Failed("no".to_owned()));
    }
}

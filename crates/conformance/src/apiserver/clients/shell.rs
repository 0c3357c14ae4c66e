//! Runs the steps of a script against one server, with its own home directory.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use anyhow::Context as _;
use regex::Regex;
use tempfile::TempDir;
use tokio::time::{Instant, sleep, timeout};

use super::programs;
use super::step::Step;
use crate::process::command;

const TIMEOUT: Duration = Duration::from_secs(90);

/// The exit code and the masked output of a step.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) code: i32,
    pub(super) text: String,
}

#[derive(Debug)]
pub(super) struct Shell {
    directory: PathBuf,
    home: TempDir,
    /// Whether the server simulates workloads, so that they become ready.
    simulates_workloads: bool,
}

impl Shell {
    pub(super) fn new(
        directory: &Path,
        script: &str,
        kubeconfig: &Path,
        simulates_workloads: bool,
    ) -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        // Scripts change the current namespace.
        fs_err::copy(kubeconfig, home.path().join("kubeconfig"))?;
        fs_err::create_dir(home.path().join("bin"))?;
        for (name, path) in programs(script)? {
            symlink(path, home.path().join("bin").join(name))?;
        }
        Ok(Self {
            directory: directory.to_owned(),
            home,
            simulates_workloads,
        })
    }

    /// Runs a step, repeatedly if it has `until`.
    pub(super) async fn run(&self, step: &Step) -> anyhow::Result<Outcome> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let outcome = timeout(TIMEOUT, self.run_once(&step.run))
                .await
                .with_context(|| format!("step {:?} timed out", step.run))??;
            if !step.until || outcome.code == 0 || Instant::now() > deadline {
                return Ok(outcome);
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    async fn run_once(&self, line: &str) -> anyhow::Result<Outcome> {
        let (ready, wait) = if self.simulates_workloads {
            ("--wait --timeout 60s", "--wait --timeout 60s")
        } else {
            ("--no-hooks", "")
        };
        let line = line
            .replace("{helm}", "helm")
            .replace("{ready}", ready)
            .replace("{wait}", wait);
        let path = format!("{}/bin:/usr/bin:/bin", self.home.path().display());
        let output = command("sh")
            .args(["-c", &line])
            .current_dir(&self.directory)
            .env_clear()
            .env("HOME", self.home.path())
            .env("KUBECONFIG", self.home.path().join("kubeconfig"))
            .env("PATH", path)
            .output()
            .await?;
        let text = [output.stdout, output.stderr].concat();
        Ok(Outcome {
            code: output.status.code().unwrap_or(-1),
            text: self.masked(&String::from_utf8_lossy(&text)),
        })
    }

    fn masked(&self, text: &str) -> String {
        let mut text = text.replace(&self.home.path().display().to_string(), "<home>");
        for (mask, pattern) in &*PATTERNS {
            text = pattern.replace_all(&text, *mask).into_owned();
        }
        text
    }
}

static PATTERNS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    let patterns = [
        (
            "<uid>",
            "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        ),
        (
            "<time>",
            r"20[0-9]{2}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+( [+-][0-9]{4} UTC|Z)?",
        ),
        (
            "<time>",
            r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} +[0-9]+ [0-9:]+ 20[0-9]{2}",
        ),
        ("<address>", r"https?://127\.[0-9.]+:[0-9]+"),
        ("<ip>", r"\b10\.[0-9]+\.[0-9]+\.[0-9]+\b"),
        ("resourceVersion: <version>", r#"resourceVersion: "[0-9]+""#),
        ("<age>", r"\b([0-9]+[smh])+\b"),
        // The width of a column depends on its values.
        ("  ", " {2,}"),
        ("\n", " +\n"),
        ("Context <name>", "Context \"[a-z-]+\""),
    ];
    let compile = |text| Regex::new(text).expect("the patterns are constants");
    patterns.map(|(mask, text)| (mask, compile(text))).into()
});

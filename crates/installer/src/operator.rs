//! The operator of a package: a program that does delegated steps, supervised beside the installer.
//!
//! It ends with the installer, however that ends: a shell around it waits for the end of its stdin. It starts again with
//! backoff when it exits. Its output is kept in a log of bounded size.

mod access;
mod log;

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::process::{Child, Command};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::folders::Folders;
use log::BoundedLog;

pub use access::ApiEndpoint;

/// The delay before the first restart; it doubles with each one.
const INITIAL_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_mins(1);

/// An operator that ran for this long has not failed to start.
const STEADY: Duration = Duration::from_mins(1);

/// How long output is read after the end of the operator.
const DRAIN: Duration = Duration::from_secs(1);

/// Runs the program, and ends its process group when stdin ends: then the installer is gone.
const GUARD: &str = r#"exec 3<&0
"$0" </dev/null 3<&- & program=$!
(trap '' TERM; cat <&3 >/dev/null; kill -TERM -$$ 2>/dev/null; sleep 5; kill -KILL -$$ 2>/dev/null) >/dev/null 2>&1 & guard=$!
exec 3<&-
trap 'exit 143' TERM
wait "$program"; code=$?
kill -KILL "$guard" 2>/dev/null
exit "$code""#;

/// What an operator is started with.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The file name of the program.
    pub(crate) name: String,
    /// Ids of the steps that are delegated.
    pub(crate) steps: Vec<String>,
}

/// Supervises at most one operator.
pub(crate) struct Supervisor {
    client: Client,
    endpoint: ApiEndpoint,
    folders: Folders,
    running: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Supervisor").finish_non_exhaustive()
    }
}

impl Supervisor {
    pub(crate) fn new(client: Client, endpoint: ApiEndpoint, folders: Folders) -> Self {
        Self {
            client,
            endpoint,
            folders,
            running: Mutex::default(),
        }
    }

    /// Starts the operator, in place of one that runs.
    pub(crate) async fn start(&self, settings: &Settings) -> Result<(), String> {
        let granted = access::grant(&self.client, &settings.steps).await;
        let token = granted.map_err(|error| format!("failed to grant access: {error}"))?;
        let kubeconfig = self.folders.operator_kubeconfig();
        let text = self.endpoint.kubeconfig(&token);
        let written = crate::steps::write_private(&kubeconfig, text.as_bytes());
        written?;
        let program = self.folders.operator().join(&settings.name);
        if !program.is_file() {
            return Err(format!(
                "{} does not exist; LoadExpansionOperatorImage writes it",
                program.display()
            ));
        }
        let started = Supervised {
            program,
            kubeconfig,
            share: self.folders.share(),
            steps: settings.steps.join(","),
            log: BoundedLog::new(self.folders.operator().join("operator.log")),
        };
        let mut running = self.running.lock().await;
        if let Some(running) = running.take() {
            running.abort();
            // It was aborted.
            let _ = running.await;
        }
        *running = Some(tokio::spawn(started.run()));
        Ok(())
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        if let Some(running) = self.running.get_mut().take() {
            running.abort();
        }
    }
}

/// The operator that is started again and again.
struct Supervised {
    program: PathBuf,
    kubeconfig: PathBuf,
    share: PathBuf,
    steps: String,
    log: BoundedLog,
}

impl Supervised {
    async fn run(self) {
        let log = Arc::new(self.log.clone());
        let mut delay = INITIAL_DELAY;
        loop {
            let started = Instant::now();
            let ended = match self.spawn() {
                Ok(child) => wait(child, &log).await,
                Err(error) => format!("failed to start: {error}"),
            };
            if started.elapsed() >= STEADY {
                delay = INITIAL_DELAY;
            }
            let name = self.program.display();
            log.line(&format!("{name} {ended}; next start in {delay:?}"));
            tracing::warn!("operator {name} {ended}; next start in {delay:?}");
            tokio::time::sleep(delay).await;
            delay = delay.saturating_mul(2).min(MAX_DELAY);
        }
    }

    fn spawn(&self) -> std::io::Result<Child> {
        let mut command = shell();
        command
            .arg("-c")
            .arg(GUARD)
            .arg(&self.program)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("OUTRIGGER_SHARE", &self.share)
            .env("OUTRIGGER_STEPS", &self.steps)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        command.spawn()
    }
}

fn shell() -> Command {
    #[expect(
        clippy::disallowed_methods,
        reason = "the operator is a program of the package, which only the installer starts"
    )]
    let command = std::process::Command::new("/bin/sh");
    Command::from(command)
}

/// Keeps the output, and returns how the operator ended. Dropping the future closes its stdin, which ends it.
async fn wait(mut child: Child, log: &Arc<BoundedLog>) -> String {
    let _stdin = child.stdin.take();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (out, err) = (Arc::clone(log), Arc::clone(log));
    let copies = [
        tokio::spawn(async move { out.copy(stdout).await }),
        tokio::spawn(async move { err.copy(stderr).await }),
    ];
    let status = child.wait().await;
    for mut copy in copies {
        // What the operator left running may keep the pipes open.
        if tokio::time::timeout(DRAIN, &mut copy).await.is_err() {
            copy.abort();
        }
    }
    match status {
        Ok(status) => format!("ended: {status}"),
        Err(error) => format!("cannot be waited for: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use super::*;

    fn supervised(folder: &Path, script: &str) -> Supervised {
        let program = folder.join("operator");
        fs_err::write(&program, script).unwrap();
        let mode = std::fs::Permissions::from_mode(0o700);
        fs_err::set_permissions(&program, mode).unwrap();
        Supervised {
            program,
            kubeconfig: folder.join("kubeconfig"),
            share: folder.to_owned(),
            steps: "EnsureCilium".to_owned(),
            log: BoundedLog::new(folder.join("operator.log")),
        }
    }

    async fn until(path: &Path, text: &str) {
        while !fs_err::read_to_string(path)
            .unwrap_or_default()
            .contains(text)
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    #[tokio::test]
    async fn an_operator_that_exits_is_started_again_and_its_output_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let script = "#!/bin/sh\necho \"steps $OUTRIGGER_STEPS\"\nexit 3\n";
        let operator = supervised(folder.path(), script);
        let log = folder.path().join("operator.log");
        let running = tokio::spawn(operator.run());
        until(&log, "exit status: 3; next start in 2s").await;
        running.abort();
        let text = fs_err::read_to_string(&log).unwrap();
        assert_eq!(text.matches("steps EnsureCilium\n").count(), 2, "{text}");
    }

    #[tokio::test]
    async fn an_operator_ends_with_its_supervisor() {
        let folder = tempfile::tempdir().unwrap();
        let script = "#!/bin/sh\necho $$ >pid; mv pid started\nsleep 1000\n";
        let script = script.replace("pid", &folder.path().join("pid").display().to_string());
        let started = folder.path().join("started");
        let script = script.replace(" started", &format!(" {}", started.display()));
        let running = tokio::spawn(supervised(folder.path(), &script).run());
        until(&started, "\n").await;
        let pid = fs_err::read_to_string(&started).unwrap();
        running.abort();
        let process = PathBuf::from(format!("/proc/{}", pid.trim()));
        while process.exists() && !is_zombie(&process) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn is_zombie(process: &Path) -> bool {
        let stat = fs_err::read_to_string(process.join("stat")).unwrap_or_default();
        stat.contains(") Z ")
    }
}

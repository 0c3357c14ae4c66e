//! Machines over SSH, by `node`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::RedactedBytes;
use outrigger_api::machine::{JumpHost, MachineFacts};
use outrigger_node::{
    Address, AttemptId, AttemptOutcome, Captured, Connector, Credentials, HostKey, HostKeyPolicy,
    Machine, Secret, Target, Tree, quote, quote_all,
};

use super::{Command, Connect, Login, Outcome, Output, Remote, RemoteError};

/// How much of the beginning and of the end of an output is read.
const CAPTURE: usize = 16 * 1024;
const SHORT: Duration = Duration::from_mins(1);

/// Connects to machines over SSH. All connections share its limits.
#[derive(Debug, Clone, Default)]
pub struct Ssh {
    connector: Connector,
}

impl Ssh {
    pub fn new(connector: Connector) -> Self {
        Self { connector }
    }
}

impl Connect for Ssh {
    fn connect(&self, login: &Login) -> Result<Arc<dyn Remote>, RemoteError> {
        Ok(Arc::new(SshMachine(self.machine(login)?)))
    }
}

impl Ssh {
    /// A machine, which is connected to when it is used.
    pub fn machine(&self, login: &Login) -> Result<Machine, RemoteError> {
        let access = &login.access;
        let jump = access.proxy.as_ref().map(|proxy| self.jump(proxy));
        let target = Target {
            address: Address::new(&access.username, &access.ip, access.port).map_err(failed)?,
            credentials: credentials(
                access.password.as_ref(),
                access.private_key.as_ref(),
                access.passphrase.as_ref(),
            )?,
            host_key: host_key(login.host_key.as_deref())?,
            jump: jump.transpose()?,
        };
        Ok(Machine::ssh(target, &self.connector))
    }

    fn jump(&self, proxy: &JumpHost) -> Result<Machine, RemoteError> {
        let target = Target {
            address: Address::new(&proxy.username, &proxy.ip, proxy.port).map_err(failed)?,
            credentials: credentials(
                proxy.password.as_ref(),
                proxy.private_key.as_ref(),
                proxy.passphrase.as_ref(),
            )?,
            host_key: host_key(proxy.host_key.as_deref())?,
            jump: None,
        };
        Ok(Machine::ssh(target, &self.connector))
    }
}

/// The credentials of a machine. The newline that editors and `echo` add is not part of a password.
pub(crate) fn credentials(
    password: Option<&RedactedBytes>,
    private_key: Option<&RedactedBytes>,
    passphrase: Option<&RedactedBytes>,
) -> Result<Credentials, RemoteError> {
    let secret = |bytes: &RedactedBytes| match String::from_utf8(bytes.expose().to_vec()) {
        Ok(text) => Ok(Secret::new(text)),
        Err(_) => Err(RemoteError {
            message: "the credentials are not UTF-8".to_owned(),
        }),
    };
    let typed = |bytes: &RedactedBytes| {
        let bytes = bytes.expose();
        let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        secret(&RedactedBytes::new(line))
    };
    Ok(Credentials {
        password: password.map(typed).transpose()?,
        private_key: private_key.map(secret).transpose()?,
        passphrase: passphrase.map(typed).transpose()?,
        ..Credentials::default()
    })
}

fn host_key(pinned: Option<&str>) -> Result<HostKeyPolicy, RemoteError> {
    match pinned {
        None => Ok(HostKeyPolicy::RecordFirst),
        Some(text) => Ok(HostKeyPolicy::pinned(
            text.parse::<HostKey>().map_err(failed)?,
        )),
    }
}

/// The message of an error and of its causes.
fn failed(error: impl std::error::Error) -> RemoteError {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let _ = write!(message, ": {cause}");
        source = cause.source();
    }
    RemoteError { message }
}

#[derive(Debug)]
struct SshMachine(Machine);

impl Remote for SshMachine {
    fn run<'a>(
        &'a self,
        task: &'a str,
        attempt: &'a str,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<Outcome, RemoteError>> {
        async move {
            let command = outrigger_node::Command::shell(script(command))
                .timeout(command.timeout)
                .capture(CAPTURE);
            let id = AttemptId::new(task, attempt);
            let outcome = self.0.run_attempt(&id, &command).await;
            outcome.map(from_node).map_err(failed)
        }
        .boxed()
    }

    fn cancel<'a>(
        &'a self,
        task: &'a str,
        attempt: &'a str,
    ) -> BoxFuture<'a, Result<Outcome, RemoteError>> {
        async move {
            let id = AttemptId::new(task, attempt);
            let outcome = self.0.cancel_attempt(&id).await;
            outcome.map(from_node).map_err(failed)
        }
        .boxed()
    }

    fn copy<'a>(&'a self, tree: &'a Tree) -> BoxFuture<'a, Result<(), RemoteError>> {
        async move { self.0.copy(tree).await.map(drop).map_err(failed) }.boxed()
    }

    fn remove<'a>(&'a self, paths: &'a [String]) -> BoxFuture<'a, Result<(), RemoteError>> {
        async move {
            let paths = quote_all(paths.iter().map(String::as_str));
            let command = outrigger_node::Command::shell(format!("rm -f -- {paths}"));
            let output = self.0.run(&command.timeout(SHORT)).await.map_err(failed)?;
            if output.status.is_success() {
                return Ok(());
            }
            Err(RemoteError {
                message: format!("failed to remove files: {}", output.stderr.text().trim()),
            })
        }
        .boxed()
    }

    fn forget<'a>(&'a self, tasks: &'a [String]) -> BoxFuture<'a, Result<(), RemoteError>> {
        async move { self.0.forget_attempts(tasks).await.map_err(failed) }.boxed()
    }

    fn boot_id(&self) -> BoxFuture<'_, Result<String, RemoteError>> {
        async move {
            let program = "IFS= read -r id </proc/sys/kernel/random/boot_id && printf %s \"$id\"";
            let command = outrigger_node::Command::shell(program).timeout(SHORT);
            let output = self.0.run(&command).await.map_err(failed)?;
            Ok(output.stdout.text())
        }
        .boxed()
    }

    fn facts(&self) -> BoxFuture<'_, Result<MachineFacts, RemoteError>> {
        async move {
            let facts = self.0.facts().await.map_err(failed)?;
            Ok(MachineFacts {
                os: facts.os_name,
                architecture: facts.architecture,
                kernel: facts.kernel,
                cpus: facts.cpus.unwrap_or_default(),
                memory_bytes: facts.memory_bytes.unwrap_or_default(),
                free_disk_bytes: facts.free_bytes.get("/").copied().unwrap_or_default(),
            })
        }
        .boxed()
    }

    fn host_key(&self) -> Option<String> {
        self.0.host_key().map(|key| key.to_openssh())
    }
}

/// Shell text that writes the context, runs the program and removes the context.
fn script(command: &Command) -> String {
    let mut text = String::new();
    let environment: &BTreeMap<&'static str, String> = &command.environment;
    for (name, value) in environment {
        text.push_str(&format!("export {name}={}\n", quote(value)));
    }
    let words = std::iter::once(command.program.as_str());
    let words = words.chain(command.arguments.iter().map(String::as_str));
    text.push_str(&format!(
        "OUTRIGGER_CONTEXT=$(umask 077; mktemp) || exit 125\nexport OUTRIGGER_CONTEXT\n\
         printf %s {} >\"$OUTRIGGER_CONTEXT\" || exit 125\n{}\n\
         code=$?\nrm -f -- \"$OUTRIGGER_CONTEXT\"\nexit $code\n",
        quote(&command.context),
        quote_all(words),
    ));
    text
}

fn from_node(outcome: AttemptOutcome) -> Outcome {
    let converted = |captured: &Captured| Output {
        text: captured.text(),
        is_truncated: captured.dropped > 0,
    };
    match outcome {
        AttemptOutcome::Exited { code, output } => Outcome::Exited {
            code: i32::try_from(code).unwrap_or(i32::MAX),
            output: converted(&output),
        },
        AttemptOutcome::TimedOut { output } => Outcome::TimedOut {
            output: converted(&output),
        },
        AttemptOutcome::Cancelled { .. } => Outcome::Canceled,
        AttemptOutcome::Lost { output } => Outcome::Lost {
            output: converted(&output),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trailing_newline_is_not_part_of_a_password() {
        for text in ["pw", "pw\n", "pw\r\n"] {
            let bytes = RedactedBytes::new(text);
            let credentials = credentials(Some(&bytes), None, Some(&bytes)).unwrap();
            assert_eq!(credentials.password, Some(Secret::new("pw")), "{text:?}");
            assert_eq!(credentials.passphrase, Some(Secret::new("pw")), "{text:?}");
        }
    }
}

//! Machines over SSH, by `node`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use outrigger_api::RedactedBytes;
use outrigger_api::machine::{InlineCredentials, JumpHost, MachineFacts};
use outrigger_node::{
    Address, AttemptId, AttemptOutcome, Captured, Connector, Credentials, HostKey, HostKeyPolicy,
    Machine, Secret, Target, Tree, quote, quote_all, require_trusted,
};

use super::jumps::Jumps;
use super::{Command, Connect, Login, MachineIds, Outcome, Output, Remote, RemoteError, Script};

/// How much of the beginning and of the end of an output is read.
const CAPTURE: usize = 16 * 1024;
/// The maximum duration of small commands.
const SHORT: Duration = Duration::from_mins(1);
/// Prints the boot id and the machine id.
const IDS: &str = r#"read -r boot </proc/sys/kernel/random/boot_id || exit
{ read -r machine </etc/machine-id; } 2>/dev/null || machine=
printf '%s\n%s' "$boot" "$machine""#;

/// Connects to machines over SSH. All connections share its limits.
#[derive(Debug, Clone, Default)]
pub struct Ssh {
    connector: Connector,
    jumps: Arc<Jumps>,
}

impl Ssh {
    pub fn new(connector: Connector) -> Self {
        Self {
            connector,
            ..Self::default()
        }
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
        let recorded = login.jump_host_key.as_deref();
        let jump = access.proxy.as_ref();
        if let Some(proxy) = jump.filter(|_| login.is_key_removed) {
            self.jumps.forget(proxy);
        }
        let jump = jump.map(|proxy| self.jump(proxy, recorded));
        let target = Target {
            address: Address::new(&access.username, &access.ip, access.port).map_err(failed)?,
            credentials: credentials(access.credentials())?,
            host_key: host_key(login.host_key.as_deref())?,
            jump: jump.transpose()?,
        };
        Ok(Machine::ssh(target, &self.connector))
    }

    fn jump(&self, proxy: &JumpHost, recorded: Option<&str>) -> Result<Machine, RemoteError> {
        let required = proxy.host_key.as_deref().or(recorded);
        let new = || self.new_jump(proxy, required);
        self.jumps.get(proxy, required, new)
    }

    fn new_jump(&self, proxy: &JumpHost, required: Option<&str>) -> Result<Machine, RemoteError> {
        let target = Target {
            address: Address::new(&proxy.username, &proxy.ip, proxy.port).map_err(failed)?,
            credentials: credentials(proxy.credentials())?,
            host_key: host_key(required)?,
            jump: None,
        };
        Ok(Machine::ssh(target, &self.connector))
    }
}

/// The credentials of a machine. The newline that editors and `echo` add is not part of a password.
pub(crate) fn credentials(inline: InlineCredentials<'_>) -> Result<Credentials, RemoteError> {
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
        password: inline.password.map(typed).transpose()?,
        private_key: inline.private_key.map(secret).transpose()?,
        passphrase: inline.passphrase.map(typed).transpose()?,
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

/// The machine on which this process runs, which records attempts in a folder.
pub fn local(state: &Path) -> Arc<dyn Remote> {
    let state = state.display().to_string();
    Arc::new(SshMachine(Machine::local_with_state(Some(state))))
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

    fn run_script<'a>(
        &'a self,
        task: &'a str,
        attempt: &'a str,
        script: &'a Script,
    ) -> BoxFuture<'a, Result<Outcome, RemoteError>> {
        async move {
            let command = outrigger_node::Command::shell(&script.text)
                .timeout(script.timeout)
                .capture(CAPTURE);
            let id = AttemptId::new(task, attempt);
            let outcome = self.0.run_attempt(&id, &command).await;
            outcome.map(from_node).map_err(failed)
        }
        .boxed()
    }

    fn query<'a>(&'a self, script: &'a Script) -> BoxFuture<'a, Result<String, RemoteError>> {
        async move {
            let command = outrigger_node::Command::shell(&script.text).timeout(script.timeout);
            let output = self.0.run(&command).await.map_err(failed)?;
            if output.status.is_success() {
                return Ok(output.stdout.text());
            }
            let (stdout, stderr) = (output.stdout.text(), output.stderr.text());
            let text = if stderr.trim().is_empty() {
                stdout
            } else {
                stderr
            };
            Err(RemoteError {
                message: format!("{}: {}", self.0.name(), text.trim()),
            })
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

    fn remove<'a>(&'a self, tree: &'a Tree) -> BoxFuture<'a, Result<(), RemoteError>> {
        async move { self.0.remove(tree).await.map_err(failed) }.boxed()
    }

    fn forget<'a>(&'a self, tasks: &'a [String]) -> BoxFuture<'a, Result<(), RemoteError>> {
        async move { self.0.forget_attempts(tasks).await.map_err(failed) }.boxed()
    }

    fn ids(&self) -> BoxFuture<'_, Result<MachineIds, RemoteError>> {
        async move {
            let command = outrigger_node::Command::shell(IDS).timeout(SHORT);
            let output = self.0.run(&command).await.map_err(failed)?;
            let text = output.stdout.text();
            let (boot, machine) = text.split_once('\n').unwrap_or((&text, ""));
            if boot.is_empty() {
                let message = format!("{} has no boot id", self.0.name());
                return Err(RemoteError { message });
            }
            Ok(MachineIds {
                boot: boot.to_owned(),
                machine: machine.to_owned(),
            })
        }
        .boxed()
    }

    fn facts(&self) -> BoxFuture<'_, Result<MachineFacts, RemoteError>> {
        async move {
            let facts = self.0.facts().await.map_err(failed)?;
            Ok(MachineFacts {
                hostname: facts.hostname,
                machine_id: facts.machine_id.unwrap_or_default(),
                // Only root can read it: providers that compare it ask for it.
                product_uuid: String::new(),
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

    fn jump_host_key(&self) -> Option<String> {
        self.0.jump_host_key().map(|key| key.to_openssh())
    }
}

/// Shell text that writes the context, runs the program and empties the context, also if the attempt is ended. The context
/// is next to the script, where only the user of the attempt can read it and where it is removed with the record.
fn script(command: &Command) -> String {
    let mut text = String::new();
    let environment: &BTreeMap<&'static str, String> = &command.environment;
    for (name, value) in environment {
        text.push_str(&format!("export {name}={}\n", quote(value)));
    }
    text.push_str(&require_trusted(&command.program));
    let words = std::iter::once(command.program.as_str());
    let words = words.chain(command.arguments.iter().map(String::as_str));
    text.push_str(&format!(
        "export OUTRIGGER_CONTEXT=\"$0.context\"\n\
         trap 'true >\"$OUTRIGGER_CONTEXT\"' EXIT\ntrap 'exit 143' HUP INT TERM\n\
         (umask 077; printf %s {} >\"$OUTRIGGER_CONTEXT\") 2>/dev/null || {{\n\
         why=$(dd if=/dev/zero of=\"$OUTRIGGER_CONTEXT\" bs=65536 count=1 2>&1 | head -n 1)\n\
         echo \"the context of the hook cannot be written: ${{why##*: }}\"; exit 125; }}\n{}\nexit $?\n",
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
        AttemptOutcome::TimedOut { after, output } => Outcome::TimedOut {
            after,
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
    use std::collections::BTreeSet;
    use std::path::Path;

    use outrigger_node::Entry;

    use super::*;

    /// A server that a stand-in machine has. It forwards nothing.
    async fn server(seed: u8, port: u16) -> (u16, tokio::task::JoinHandle<()>) {
        let listener = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let password = Secret::new("x");
        let seed = [seed; 32];
        let server = outrigger_node::stand_in::Server::bind(address, &seed, password);
        let server = server.await.unwrap();
        let task = tokio::spawn(async move {
            server.serve().await;
        });
        (address.port(), task)
    }

    fn behind(port: u16, jump_host_key: Option<String>) -> Login {
        let access = serde_json::json!({
            "ip": "127.0.0.1", "password": "eA==",
            "proxy": {"ip": "127.0.0.1", "port": port, "password": "eA=="},
        });
        Login {
            access: serde_json::from_value(access).unwrap(),
            jump_host_key,
            ..Login::default()
        }
    }

    #[tokio::test]
    async fn the_host_key_of_a_jump_host_is_recorded_and_then_required() {
        let (port, jump) = server(1, 0).await;
        let first = Ssh::default().connect(&behind(port, None)).unwrap();
        assert_eq!(first.jump_host_key(), None);
        let error = first.facts().await.unwrap_err().message;
        assert!(error.contains("cannot reach"), "{error}");
        let key = first.jump_host_key().unwrap();
        jump.abort();
        let _ = jump.await;
        // Another server, perhaps one that collects passwords.
        let (_, _impostor) = server(2, port).await;
        let later = Ssh::default()
            .connect(&behind(port, Some(key.clone())))
            .unwrap();
        let error = later.facts().await.unwrap_err().message;
        assert!(
            error.contains("host key") && error.contains("changed"),
            "{error}"
        );
        // The spec wins.
        let mut pinned = behind(port, Some(key));
        let other: HostKey = {
            let machine = Ssh::default().connect(&behind(port, None)).unwrap();
            let _ = machine.facts().await;
            machine.jump_host_key().unwrap().parse().unwrap()
        };
        pinned.access.proxy.as_mut().unwrap().host_key = Some(other.to_openssh());
        let error = Ssh::default().connect(&pinned).unwrap();
        let error = error.facts().await.unwrap_err().message;
        assert!(error.contains("cannot reach"), "{error}");
    }

    #[tokio::test]
    async fn machines_share_a_jump_host_unless_they_require_other_keys() {
        let ssh = Ssh::default();
        let (port, _jump) = server(1, 0).await;
        let jump_of = |login: &Login| {
            let proxy = login.access.proxy.clone().unwrap();
            ssh.jump(&proxy, login.jump_host_key.as_deref()).unwrap()
        };
        let first = jump_of(&behind(port, None));
        assert!(first.is_same(&jump_of(&behind(port, None))));
        first.open().await.unwrap();
        let key = first.host_key().unwrap().to_openssh();
        assert!(first.is_same(&jump_of(&behind(port, Some(key)))));
        let other =
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ";
        assert!(!first.is_same(&jump_of(&behind(port, Some(other.to_owned())))));
        assert!(!first.is_same(&jump_of(&behind(port + 1, None))));
        // The recorded key was removed: the open connection does not tell what is recorded next.
        let removed = Login {
            is_key_removed: true,
            ..behind(port, None)
        };
        let machine = ssh.machine(&removed).unwrap();
        let second = jump_of(&behind(port, None));
        assert!(!first.is_same(&second));
        drop(machine);
    }

    #[tokio::test]
    async fn any_number_of_files_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let files = root.path().join("files");
        fs_err::create_dir(&files).unwrap();
        let long = "x".repeat(230);
        // Links to one file: ext4 takes seconds to find this many free inodes after others were freed.
        let file = root.path().join("file");
        fs_err::write(&file, "").unwrap();
        for i in 0..9500 {
            fs_err::hard_link(&file, files.join(format!("{long}{i}"))).unwrap();
        }
        let scan = |source: &str| {
            let entry = Entry {
                source: source.into(),
                destination: files.display().to_string(),
            };
            Tree::scan(root.path(), &[entry], &BTreeSet::new()).unwrap()
        };
        // The files are removed from where they are, and a folder is in the way of the other one.
        let (tree, blocked) = (scan("files"), scan("file"));
        let state = root.path().join("state").display().to_string();
        let machine = SshMachine(Machine::local_with_state(Some(state)));
        machine.remove(&tree).await.unwrap();
        assert_eq!(fs_err::read_dir(&files).unwrap().count(), 0);
        machine.remove(&tree).await.unwrap();
        let error = machine.remove(&blocked).await.unwrap_err().message;
        assert!(error.contains(&files.display().to_string()), "{error}");
    }

    /// This machine, with its state in `root`, and a hook on it.
    fn local_machine(root: &Path, hook: &Path, script: &str) -> SshMachine {
        fs_err::write(hook, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs_err::set_permissions(hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let state = root.join("state").display().to_string();
        SshMachine(Machine::local_with_state(Some(state)))
    }

    /// Needs root, to give a folder to another user.
    #[tokio::test]
    async fn a_hook_that_another_user_could_replace_is_not_run() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("hooks");
        let hook = folder.join("hook");
        fs_err::create_dir(&folder).unwrap();
        let machine = local_machine(root.path(), &hook, "echo ran");
        let command = Command {
            program: hook.display().to_string(),
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            context: "{}".to_owned(),
            timeout: Duration::from_mins(1),
        };
        let run = async |attempt: &str| match machine.run("task", attempt, &command).await {
            Ok(Outcome::Exited { code, output }) => (code, output.text),
            other => panic!("{other:?}"),
        };
        assert_eq!(run("1").await, (0, "ran\n".to_owned()));
        if std::os::unix::fs::chown(&folder, Some(12345), None).is_err() {
            return;
        }
        let (code, output) = run("2").await;
        assert_eq!(code, 126, "{output}");
        let expected = format!("not run: {} belongs to user 12345\n", folder.display());
        assert_eq!(output, expected);
    }

    #[tokio::test]
    async fn a_hook_that_others_can_write_to_is_not_run_although_it_is_our_own() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("hooks");
        let hook = folder.join("hook");
        fs_err::create_dir(&folder).unwrap();
        let machine = local_machine(root.path(), &hook, "echo ran");
        let command = Command {
            program: hook.display().to_string(),
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            context: "{}".to_owned(),
            timeout: Duration::from_mins(1),
        };
        let set_mode = |path: &Path, mode| {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            fs_err::set_permissions(path, mode).unwrap();
        };
        // The sticky bit protects what is in a folder, and not a file.
        let cases = [
            ((0o755, 0o755), None),
            ((0o1777, 0o755), None),
            ((0o777, 0o755), Some(&folder)),
            ((0o755, 0o757), Some(&hook)),
            ((0o755, 0o1777), Some(&hook)),
        ];
        for (index, ((folder_mode, hook_mode), refused)) in cases.into_iter().enumerate() {
            set_mode(&folder, folder_mode);
            set_mode(&hook, hook_mode);
            let outcome = machine.run("task", &index.to_string(), &command).await;
            let Ok(Outcome::Exited { code, output }) = outcome else {
                panic!("{outcome:?}");
            };
            let expected = match refused {
                None => (0, "ran\n".to_owned()),
                Some(path) => {
                    let path = path.display();
                    (126, format!("not run: {path} is writable for all users\n"))
                }
            };
            assert_eq!(
                (code, output.text),
                expected,
                "{folder_mode:o} {hook_mode:o}"
            );
        }
    }

    #[tokio::test]
    async fn a_hook_that_is_ended_leaves_no_context() {
        let root = tempfile::tempdir().unwrap();
        let hook = root.path().join("hook");
        let script = "echo \"$OUTRIGGER_CONTEXT\"; cat \"$OUTRIGGER_CONTEXT\"; echo\nsleep 100";
        let machine = local_machine(root.path(), &hook, script);
        let command = Command {
            program: hook.display().to_string(),
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            context: "{'a': 1}".to_owned(),
            timeout: Duration::from_secs(1),
        };
        let outcome = machine.run("task", "1", &command).await.unwrap();
        let Outcome::TimedOut { after, output } = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!(after, Duration::from_secs(1));
        let (context, content) = output.text.split_once('\n').unwrap();
        assert!(content.starts_with("{'a': 1}\n"), "{content}");
        assert!(Path::new(context).starts_with(root.path()), "{context}");
        let metadata = fs_err::metadata(context).unwrap();
        assert_eq!(metadata.len(), 0);
        let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions());
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_trailing_newline_is_not_part_of_a_password() {
        for text in ["pw", "pw\n", "pw\r\n"] {
            let bytes = RedactedBytes::new(text);
            let inline = InlineCredentials {
                password: Some(&bytes),
                private_key: None,
                passphrase: Some(&bytes),
            };
            let credentials = credentials(inline).unwrap();
            assert_eq!(credentials.password, Some(Secret::new("pw")), "{text:?}");
            assert_eq!(credentials.passphrase, Some(Secret::new("pw")), "{text:?}");
        }
    }
}

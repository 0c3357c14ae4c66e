//! A machine: the one thing that callers hold.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OnceCell, SemaphorePermit};

use crate::answer::{Answer, unexpected};
use crate::attempt::IdleShell;
use crate::channel::{Event, Events, Input};
use crate::preamble::Preamble;
use crate::privilege::{PROBE, Privilege, unlocked};
use crate::shell::{Program, READY};
use crate::ssh::{Connection, ExecError, Purpose};
use crate::{ConnectError, Connector, HostKey, RunError, Target, local};

/// The longest answer of the probe.
const MAX_PROBE: usize = 16 * 1024;

/// A machine over SSH, or the local one. Cheap to clone; all clones share one connection, which is opened when it is
/// needed, and again when it broke.
#[derive(Clone)]
pub struct Machine {
    inner: Arc<Inner>,
}

/// A machine that is gone when nobody holds it.
#[derive(Clone)]
pub struct WeakMachine(Weak<Inner>);

impl WeakMachine {
    pub fn upgrade(&self) -> Option<Machine> {
        let inner = self.0.upgrade()?;
        Some(Machine { inner })
    }
}

impl fmt::Debug for WeakMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WeakMachine")
    }
}

struct Inner {
    name: String,
    transport: Transport,
    privilege: OnceCell<Privilege>,
    /// Where attempts are recorded, if not in the default folder.
    state: Option<String>,
    /// The shell of the last attempt.
    idle_shell: Mutex<Option<IdleShell>>,
}

enum Transport {
    Ssh(Box<Connection>),
    Local,
}

/// A shell that runs a program, and its place among the channels of the connection.
pub(crate) struct Shell<'a> {
    pub(crate) input: Input,
    pub(crate) events: Events,
    pub(crate) channel: Option<SemaphorePermit<'a>>,
}

impl Machine {
    /// A machine over SSH. It is not connected to yet.
    pub fn ssh(target: Target, connector: &Connector) -> Self {
        let name = target.address.to_string();
        let connection = Box::new(Connection::new(target, connector.clone()));
        let inner = Inner {
            name,
            transport: Transport::Ssh(connection),
            privilege: OnceCell::new(),
            state: None,
            idle_shell: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Connects to a machine over SSH, checks its host key, logs in and makes sure that commands can run as root.
    pub async fn connect(target: Target, connector: &Connector) -> Result<Self, RunError> {
        let machine = Self::ssh(target, connector);
        machine.open().await?;
        Ok(machine)
    }

    /// The machine on which this process runs. Commands run as its user.
    pub fn local() -> Self {
        Self::local_with_state(None)
    }

    /// The local machine, which records attempts in a folder of its own.
    pub fn local_with_state(state: Option<String>) -> Self {
        let is_root = rustix::process::geteuid().is_root();
        let privilege = OnceCell::new_with(Some(Privilege::Direct { is_root }));
        let inner = Inner {
            name: "localhost".to_owned(),
            transport: Transport::Local,
            privilege,
            state,
            idle_shell: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The address, for messages.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    pub(crate) fn state(&self) -> Option<&str> {
        self.inner.state.as_deref()
    }

    /// Connects now instead of with the first command.
    pub async fn open(&self) -> Result<(), RunError> {
        if let Transport::Ssh(connection) = &self.inner.transport {
            connection.open().await?;
        }
        self.privilege().await.map(drop)
    }

    /// The shell that waits for the next attempt, if there is one.
    pub(crate) fn idle_shell(&self) -> MutexGuard<'_, Option<IdleShell>> {
        let shell = self.inner.idle_shell.lock();
        shell.unwrap_or_else(PoisonError::into_inner)
    }

    /// The key that the machine presented; none before it was connected to, and none of the local machine.
    pub fn host_key(&self) -> Option<HostKey> {
        match &self.inner.transport {
            Transport::Ssh(connection) => connection.host_key(),
            Transport::Local => None,
        }
    }

    /// The key of the host through which the machine is reached; none before that host was connected to.
    pub fn jump_host_key(&self) -> Option<HostKey> {
        match &self.inner.transport {
            Transport::Ssh(connection) => connection.target().jump.as_ref()?.host_key(),
            Transport::Local => None,
        }
    }

    /// Whether both share a connection.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Refers to the machine without keeping its connection open.
    pub fn downgrade(&self) -> WeakMachine {
        WeakMachine(Arc::downgrade(&self.inner))
    }

    /// Starts a shell that runs a program as root, or as the user if the credentials say so.
    pub(crate) async fn start(&self, program: Program<'_>) -> Result<Shell<'_>, RunError> {
        let channel = self.channel().await?;
        self.start_in(channel, program).await
    }

    /// A place among the channels of the connection.
    pub(crate) async fn channel(&self) -> Result<Option<SemaphorePermit<'_>>, RunError> {
        Ok(match &self.inner.transport {
            Transport::Ssh(connection) => connection.channel().await?,
            Transport::Local => None,
        })
    }

    /// Like [`Self::start`], although all channels may be taken.
    pub(crate) async fn start_extra(&self, program: Program<'_>) -> Result<Shell<'_>, RunError> {
        self.start_in(None, program).await
    }

    /// Like [`Self::start`], in this place. A shell that is idle gives its own to it: servers limit the number of channels.
    pub(crate) async fn start_in<'a>(
        &'a self,
        channel: Option<SemaphorePermit<'a>>,
        program: Program<'_>,
    ) -> Result<Shell<'a>, RunError> {
        let privilege = self.privilege().await?;
        drop(self.idle_shell().take());
        let purpose = match channel {
            Some(_) => Purpose::Work,
            None => Purpose::Control,
        };
        let line = privilege.command_line(program.loader());
        let program = Bytes::from(program.encode()?);
        let (input, events) = match privilege.password_line() {
            None => self.exec(&line, program, purpose).await?,
            Some(password) => {
                let (mut input, mut events) = self.exec(&line, password, purpose).await?;
                unlocked(self.name(), &mut input, &mut events).await?;
                // If the shell does not read it, the events tell why.
                let _ = input.send(format!("{READY}\n").into()).await;
                let _ = input.send(program).await;
                (input, events)
            }
        };
        Ok(Shell {
            input,
            events,
            channel,
        })
    }

    /// Runs a command line, and sends the beginning of its input.
    async fn exec(
        &self,
        command: &str,
        data: Bytes,
        purpose: Purpose,
    ) -> Result<(Input, Events), RunError> {
        let connection = match &self.inner.transport {
            Transport::Local => {
                let (mut input, events) = local::exec(command).map_err(RunError::Start)?;
                // If the shell does not read it, the events tell why.
                let _ = input.send(data).await;
                return Ok((input, events));
            }
            Transport::Ssh(connection) => connection,
        };
        let started = connection.exec(command, &data, purpose).await;
        started.map_err(|error| match error {
            ExecError::Connect(error) => error.into(),
            ExecError::Refused => RunError::Refused {
                machine: self.name().to_owned(),
            },
            ExecError::Lost => self.lost(),
        })
    }

    pub(crate) async fn privilege(&self) -> Result<&Privilege, RunError> {
        let privilege = &self.inner.privilege;
        privilege.get_or_try_init(|| self.find_privilege()).await
    }

    async fn find_privilege(&self) -> Result<Privilege, RunError> {
        let Transport::Ssh(connection) = &self.inner.transport else {
            return Ok(Privilege::Direct { is_root: false });
        };
        let target = connection.target();
        let is_root = target.address.user() == "root";
        if is_root || target.credentials.unprivileged {
            return Ok(Privilege::Direct { is_root });
        }
        let answer = self.probe().await?;
        Privilege::from_probe(&answer, self.name(), target.credentials.for_sudo())
    }

    async fn probe(&self) -> Result<String, RunError> {
        let mut preamble = Preamble::until_random();
        let probe = format!("printf %s {}\n{PROBE}", preamble.marker());
        let probe = Program::WithInput(&probe);
        let line = Privilege::Direct { is_root: false }.command_line(probe.loader());
        let probe = Bytes::from(probe.encode()?);
        // Others wait for it.
        let (mut input, mut events) = self.exec(&line, probe, Purpose::Control).await?;
        input.end().await;
        let mut answer = Answer::new(MAX_PROBE);
        let (mut is_ended, mut is_answer) = (false, false);
        loop {
            match events.next().await {
                Event::Stdout(data) => {
                    let mut start = Some(0);
                    if !is_answer {
                        let skipped = preamble.skip(&data);
                        start = skipped.map_err(|_| unexpected(self.name(), &preamble.text()))?;
                    }
                    is_answer |= start.is_some();
                    let answered = start.and_then(|start| data.get(start..));
                    let pushed = answer.push(answered.unwrap_or_default());
                    pushed.map_err(|_| answer.unexpected(self.name()))?;
                }
                Event::Stderr(_) => {}
                Event::Ended(_) => is_ended = true,
                Event::Refused | Event::Closed => break,
            }
        }
        if !is_ended && answer.bytes().is_empty() {
            return Err(self.lost());
        }
        if !is_answer {
            return Err(unexpected(self.name(), &preamble.text()));
        }
        Ok(answer.text())
    }

    /// A command could not be started in time.
    pub(crate) fn not_started(&self, timeout: Duration) -> RunError {
        RunError::NotStarted {
            machine: self.name().to_owned(),
            timeout,
            waiting_for: self.waits_for(),
        }
    }

    /// What is waited for before a command runs.
    pub(crate) fn waits_for(&self) -> &'static str {
        match &self.inner.transport {
            Transport::Ssh(connection) => connection.progress().last(),
            Transport::Local => "a shell",
        }
    }

    pub(crate) fn lost(&self) -> RunError {
        RunError::ConnectionLost {
            machine: self.name().to_owned(),
        }
    }

    /// The connection of a jump host.
    pub(crate) fn jump_connection(&self) -> Result<&Connection, ConnectError> {
        match &self.inner.transport {
            Transport::Ssh(connection) => Ok(connection),
            Transport::Local => Err(ConnectError::LocalJump),
        }
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Machine({})", self.name())
    }
}

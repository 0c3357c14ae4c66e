//! The connection to one machine, which is opened when it is needed and again when it broke.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use russh::Channel;
use russh::client::Msg;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::Instant;

use super::progress::Progress;
use super::session::{Opening, Session};
use crate::channel::{self, Events, Input};
use crate::{Address, ConnectError, Credentials, HostKey, HostKeyPolicy, Machine};

/// Channels of one connection. OpenSSH allows ten; two are left for the end of commands.
const MAX_CHANNELS: u32 = 8;

/// How often a server may refuse to open a channel or to run a command in it, with growing delays of two seconds in total.
const MAX_REFUSALS: u32 = 20;

/// Further connections to a machine whose server refuses another session on the first one (`MaxSessions` of sshd), for each
/// purpose.
const MAX_SPARES: usize = 2;

/// What a command is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Work,
    /// It ends other commands, or asks about them: it waits for none.
    Control,
}

impl Purpose {
    /// How often a server may refuse to open a channel before another connection is opened.
    const fn max_refusals(self) -> u32 {
        match self {
            Self::Work => 10,
            Self::Control => 4,
        }
    }
}

/// A connection that one command has for itself. Dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct Spare {
    _session: Arc<Session>,
    _permit: OwnedSemaphorePermit,
}

/// A machine, how to log in, and how to recognize it.
#[derive(Debug, Clone)]
pub struct Target {
    pub address: Address,
    pub credentials: Credentials,
    pub host_key: HostKeyPolicy,
    /// The machine through which it is reached. One connection to it serves all machines behind it.
    pub jump: Option<Machine>,
}

/// Limits of connections.
#[derive(Debug, Clone)]
pub struct Settings {
    /// For the TCP connection.
    pub connect_timeout: Duration,
    /// From the TCP connection to the end of the key exchange.
    pub handshake_timeout: Duration,
    pub authentication_timeout: Duration,
    /// After two intervals without an answer, a connection is lost.
    pub keepalive_interval: Duration,
    /// How many key exchanges and logins take place at the same time. Those that take longer than half a second do not
    /// count.
    pub concurrent_handshakes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            handshake_timeout: Duration::from_secs(20),
            authentication_timeout: Duration::from_secs(30),
            keepalive_interval: Duration::from_secs(15),
            concurrent_handshakes: 32,
        }
    }
}

/// Settings and limits that machines share. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Connector {
    settings: Arc<Settings>,
    handshakes: Arc<Semaphore>,
}

impl Connector {
    pub fn new(settings: Settings) -> Self {
        Self {
            handshakes: Arc::new(Semaphore::new(settings.concurrent_handshakes.max(1))),
            settings: Arc::new(settings),
        }
    }
}

impl Default for Connector {
    fn default() -> Self {
        Self::new(Settings::default())
    }
}

/// A machine, connected or not.
#[derive(Debug)]
pub(crate) struct Connection {
    target: Target,
    connector: Connector,
    state: tokio::sync::Mutex<State>,
    progress: Progress,
    /// The key of the first session, which all later ones must present.
    host_key: Mutex<Option<HostKey>>,
    channels: Semaphore,
    /// Places for connections of commands that work, and of those that control.
    spares: [Arc<Semaphore>; 2],
}

#[derive(Debug, Default)]
struct State {
    session: Option<Arc<Session>>,
    /// When and why the last attempt to connect failed.
    failure: Option<(Instant, ConnectError)>,
}

impl Connection {
    pub(crate) fn new(target: Target, connector: Connector) -> Self {
        Self {
            target,
            connector,
            state: tokio::sync::Mutex::default(),
            progress: Progress::default(),
            host_key: Mutex::new(None),
            channels: Semaphore::new(MAX_CHANNELS as usize),
            spares: [(); 2].map(|()| Arc::new(Semaphore::new(MAX_SPARES))),
        }
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.connector.settings
    }

    pub(crate) fn host_key(&self) -> Option<HostKey> {
        let key = self.host_key.lock();
        key.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What is waited for.
    pub(crate) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// A place among the channels of the connection, or all of them if the server supports one at a time.
    pub(crate) async fn channel(&self) -> Result<Option<SemaphorePermit<'_>>, ConnectError> {
        let session = self.session().await?;
        let places = if session.has_channel_race() {
            MAX_CHANNELS
        } else {
            1
        };
        self.progress
            .waits_for("the end of other commands on the machine");
        Ok(self.channels.acquire_many(places).await.ok())
    }

    /// Connects unless connected.
    pub(crate) async fn open(&self) -> Result<(), ConnectError> {
        self.session().await.map(drop)
    }

    /// The open session, or a new one. All who wait for it get the same result.
    pub(super) async fn session(&self) -> Result<Arc<Session>, ConnectError> {
        let asked = Instant::now();
        let mut state = self.state.lock().await;
        if let Some(open) = state.session.as_ref().filter(|open| !open.is_closed()) {
            return Ok(Arc::clone(open));
        }
        if let Some((_, error)) = state.failure.as_ref().filter(|(at, _)| *at >= asked) {
            return Err(error.clone());
        }
        *state = State::default();
        let opened = self.connect().await;
        match &opened {
            Ok(session) => state.session = Some(Arc::clone(session)),
            Err(error) => state.failure = Some((Instant::now(), error.clone())),
        }
        opened
    }

    async fn connect(&self) -> Result<Arc<Session>, ConnectError> {
        let opening = Opening {
            settings: self.settings(),
            handshakes: &self.connector.handshakes,
            progress: &self.progress,
        };
        let policy = self.policy();
        let opened = Session::open(&self.target, &policy, &opening);
        let opened = Arc::new(Box::pin(opened).await?);
        let mut key = self.host_key.lock().unwrap_or_else(PoisonError::into_inner);
        key.get_or_insert_with(|| opened.host_key().clone());
        Ok(opened)
    }

    /// Runs a command line, and sends the beginning of its input. A session that turns out to be dead is replaced once. If the
    /// server refuses another channel, the command gets a connection of its own.
    pub(crate) async fn exec(
        &self,
        command: &str,
        input: &Bytes,
        purpose: Purpose,
    ) -> Result<(Input, Events), ExecError> {
        let mut refusals = (1..=MAX_REFUSALS).map(|number| number * Duration::from_millis(10));
        let (mut losses, mut unopened) = (0, 0);
        while losses < 2 {
            let session = self.session().await?;
            self.progress.waits_for("a shell");
            let limit = self.settings().authentication_timeout;
            match tokio::time::timeout(limit, session.open_channel()).await {
                Ok(Ok(channel)) => {
                    if let Some(started) = start(channel, command, input).await? {
                        return Ok(started);
                    }
                    let delay = refusals.next().ok_or(ExecError::Refused)?;
                    tokio::time::sleep(delay).await;
                }
                // Servers free the place of a channel some time after it was closed.
                Ok(Err(russh::Error::ChannelOpenFailure(_))) => {
                    unopened += 1;
                    if unopened > purpose.max_refusals() {
                        return self.exec_on_spare(command, input, purpose).await;
                    }
                    let delay = refusals.next().ok_or(ExecError::Refused)?;
                    tokio::time::sleep(delay).await;
                }
                Ok(Err(_)) | Err(_) => {
                    losses += 1;
                    self.discard(&session).await;
                }
            }
        }
        Err(ExecError::Lost)
    }

    /// Runs a command line on a connection that is closed with it.
    async fn exec_on_spare(
        &self,
        command: &str,
        input: &Bytes,
        purpose: Purpose,
    ) -> Result<(Input, Events), ExecError> {
        let [work, control] = &self.spares;
        let places = match purpose {
            Purpose::Work => work,
            Purpose::Control => control,
        };
        self.progress
            .waits_for("the end of other commands on the machine");
        let permit = Arc::clone(places).acquire_owned().await;
        let permit = permit.map_err(|_| ExecError::Lost)?;
        let session = self.connect().await?;
        self.progress.waits_for("a shell");
        let limit = self.settings().authentication_timeout;
        let channel = match tokio::time::timeout(limit, session.open_channel()).await {
            Ok(Ok(channel)) => channel,
            Ok(Err(russh::Error::ChannelOpenFailure(_))) => return Err(ExecError::Refused),
            Ok(Err(_)) | Err(_) => return Err(ExecError::Lost),
        };
        let started = start(channel, command, input).await?;
        let (input, mut events) = started.ok_or(ExecError::Refused)?;
        events.keep_open(Spare {
            _session: session,
            _permit: permit,
        });
        Ok((input, events))
    }

    async fn discard(&self, dead: &Arc<Session>) {
        let session = &mut self.state.lock().await.session;
        if session.as_ref().is_some_and(|open| Arc::ptr_eq(open, dead)) {
            *session = None;
        }
    }

    /// The policy of the target, or the recorded key.
    fn policy(&self) -> HostKeyPolicy {
        self.host_key()
            .map_or_else(|| self.target.host_key.clone(), HostKeyPolicy::pinned)
    }
}

/// Runs a command line in a new channel. Returns nothing if the server closes the channel before it runs the command, as
/// one with a [race](Session::has_channel_race) may do when a command that holds no place ends.
async fn start(
    channel: Channel<Msg>,
    command: &str,
    data: &Bytes,
) -> Result<Option<(Input, Events)>, ExecError> {
    let requested = channel.exec(true, command).await;
    requested.map_err(|_| ExecError::Lost)?;
    let (mut input, mut events) = channel::ssh(channel);
    let is_started = {
        // Not after the answer: that would take a round trip. If nobody reads the data, the events tell why.
        let mut sending = std::pin::pin!(input.send(data.clone()));
        tokio::select! {
            is_started = events.is_started() => {
                if is_started {
                    let _ = sending.await;
                }
                is_started
            }
            _ = &mut sending => events.is_started().await,
        }
    };
    Ok(is_started.then_some((input, events)))
}

/// Why no command runs.
#[derive(Debug)]
pub(crate) enum ExecError {
    Connect(ConnectError),
    Refused,
    Lost,
}

impl From<ConnectError> for ExecError {
    fn from(error: ConnectError) -> Self {
        Self::Connect(error)
    }
}

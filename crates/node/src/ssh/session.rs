//! One authenticated SSH session.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use russh::client::{self, Handle};
use russh::{Channel, Preferred, cipher};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::authenticate::authenticate;
use super::connection::{Connection, Settings, Target};
use super::handler::Handler;
use super::progress::Progress;
use super::stream::{Greeted, Guard, guarded};
use crate::{Address, ConnectError, HostKey, HostKeyPolicy};

/// What a channel may send before we read it. Bounds the memory of a machine whose output nobody reads.
const WINDOW: u32 = 256 * 1024;
/// Unread messages of a channel.
const CHANNEL_BUFFER: usize = 8;
/// AES-GCM first: it is the fastest where the processor has AES instructions.
const CIPHERS: &[cipher::Name] = &[
    cipher::AES_256_GCM,
    cipher::AES_128_GCM,
    cipher::CHACHA20_POLY1305,
    cipher::AES_256_CTR,
    cipher::AES_192_CTR,
    cipher::AES_128_CTR,
];

/// How long a connection that is being opened may keep others waiting.
const MAX_TURN: Duration = Duration::from_millis(500);

/// What opening a session needs.
pub(super) struct Opening<'a> {
    pub(super) settings: &'a Settings,
    /// Limits how many key exchanges and logins take place at the same time.
    pub(super) handshakes: &'a Semaphore,
    pub(super) progress: &'a Progress,
}

/// A session. Dropping it closes the connection.
pub(super) struct Session {
    handle: Handle<Handler>,
    host_key: HostKey,
    has_channel_race: bool,
    _guard: Guard,
}

impl Session {
    /// Connects, checks the host key and logs in.
    pub(super) async fn open(
        target: &Target,
        policy: &HostKeyPolicy,
        opening: &Opening<'_>,
    ) -> Result<Self, ConnectError> {
        let settings = opening.settings;
        match &target.jump {
            None => {
                opening.progress.waits_for("the TCP connection");
                let stream = tcp(&target.address, settings.connect_timeout).await?;
                Self::open_on(stream, target, policy, opening).await
            }
            Some(jump) => {
                opening.progress.waits_for("the jump host");
                let stream = jump.jump_connection()?.forward(&target.address).await?;
                Self::open_on(stream, target, policy, opening).await
            }
        }
    }

    async fn open_on<S>(
        mut stream: S,
        target: &Target,
        policy: &HostKeyPolicy,
        opening: &Opening<'_>,
    ) -> Result<Self, ConnectError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        opening.progress.waits_for("the SSH handshake");
        let greeting = greeting(&mut stream, target, opening.settings).await?;
        opening
            .progress
            .waits_for("other connections that are being opened");
        let permit = opening.handshakes.acquire().await;
        opening
            .progress
            .waits_for("the SSH handshake and the authentication");
        let stream = Greeted::new(greeting, stream);
        let opened = Self::log_in(stream, target, policy, opening.settings);
        let mut opened = std::pin::pin!(opened);
        if let Ok(opened) = timeout(MAX_TURN, &mut opened).await {
            return opened;
        }
        // A peer that takes its time needs none of ours.
        drop(permit);
        opened.await
    }

    async fn log_in<S>(
        stream: S,
        target: &Target,
        policy: &HostKeyPolicy,
        settings: &Settings,
    ) -> Result<Self, ConnectError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut session = handshake(stream, target, policy, settings).await?;
        let limit = settings.authentication_timeout;
        let login = authenticate(&mut session.handle, &target.address, &target.credentials);
        timeout(limit, login)
            .await
            .map_err(|_| ConnectError::AuthenticationTimeout {
                address: target.address.clone(),
                timeout: limit,
            })??;
        Ok(session)
    }

    pub(super) fn host_key(&self) -> &HostKey {
        &self.host_key
    }

    /// Whether a channel must not be opened while another one has a command.
    pub(super) fn has_channel_race(&self) -> bool {
        self.has_channel_race
    }

    pub(super) fn is_closed(&self) -> bool {
        self.handle.is_closed()
    }

    pub(super) async fn open_channel(&self) -> Result<Channel<client::Msg>, russh::Error> {
        self.handle.channel_open_session().await
    }

    /// A connection from the machine to another one.
    pub(super) async fn forward(
        &self,
        address: &Address,
    ) -> Result<russh::ChannelStream<client::Msg>, russh::Error> {
        let port = u32::from(address.port());
        let opened = self
            .handle
            .channel_open_direct_tcpip(address.host(), port, "127.0.0.1", 0)
            .await?;
        Ok(opened.into_stream())
    }
}

async fn tcp(address: &Address, limit: Duration) -> Result<TcpStream, ConnectError> {
    let host = (address.host(), address.port());
    let connected = timeout(limit, TcpStream::connect(host)).await;
    let failed = |source: io::Error| ConnectError::Unreachable {
        address: address.clone(),
        source: Arc::new(source),
    };
    let stream = connected.map_err(|_| ConnectError::Timeout {
        address: address.clone(),
        timeout: limit,
    })?;
    let stream = stream.map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    Ok(stream)
}

/// The first bytes of the server. All servers send their version without being asked; a silent one must not make others
/// wait.
async fn greeting<S: AsyncRead + Unpin>(
    stream: &mut S,
    target: &Target,
    settings: &Settings,
) -> Result<Bytes, ConnectError> {
    let address = || target.address.clone();
    let mut first = BytesMut::with_capacity(256);
    let read = timeout(settings.handshake_timeout, stream.read_buf(&mut first)).await;
    let read = read.map_err(|_| ConnectError::Silent {
        address: address(),
        timeout: settings.handshake_timeout,
    })?;
    let source = match read {
        Ok(0) => russh::Error::Disconnect,
        Ok(_) => return Ok(first.freeze()),
        Err(error) => error.into(),
    };
    Err(ConnectError::Protocol {
        address: address(),
        source: source.into(),
    })
}

async fn handshake<S>(
    stream: S,
    target: &Target,
    policy: &HostKeyPolicy,
    settings: &Settings,
) -> Result<Session, ConnectError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (stream, guard) = guarded(stream);
    let (handler, server) = Handler::new(policy.clone());
    let config = Arc::new(config(policy, settings));
    let connecting = Box::pin(client::connect_stream(config, stream, handler));
    let address = || target.address.clone();
    let connected = timeout(settings.handshake_timeout, connecting).await;
    let connected = connected.map_err(|_| ConnectError::Silent {
        address: address(),
        timeout: settings.handshake_timeout,
    })?;
    match (connected, server.host_key()) {
        (Ok(handle), Some(host_key)) => Ok(Session {
            handle,
            host_key,
            has_channel_race: server.has_channel_race(),
            _guard: guard,
        }),
        (Err(russh::Error::UnknownKey), Some(offered)) => Err(ConnectError::HostKeyChanged {
            address: address(),
            expected: pinned(policy),
            offered,
        }),
        (result, _) => Err(ConnectError::Protocol {
            address: address(),
            source: result.err().unwrap_or(russh::Error::Inconsistent).into(),
        }),
    }
}

fn pinned(policy: &HostKeyPolicy) -> Vec<HostKey> {
    match policy {
        HostKeyPolicy::Pinned(keys) => keys.clone(),
        HostKeyPolicy::RecordFirst => Vec::new(),
    }
}

fn config(policy: &HostKeyPolicy, settings: &Settings) -> client::Config {
    let mut preferred = Preferred {
        cipher: Cow::Borrowed(CIPHERS),
        ..Preferred::DEFAULT
    };
    if let Some(algorithms) = policy.algorithms() {
        preferred.key = Cow::Owned(algorithms);
    }
    client::Config {
        window_size: WINDOW,
        channel_buffer_size: CHANNEL_BUFFER,
        preferred,
        keepalive_interval: Some(settings.keepalive_interval),
        keepalive_max: 2,
        nodelay: true,
        ..client::Config::default()
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("host_key", &self.host_key)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// Opens a TCP connection to another machine through this one.
    pub(super) async fn forward(
        &self,
        address: &Address,
    ) -> Result<russh::ChannelStream<client::Msg>, ConnectError> {
        let session = self.session().await?;
        let opened = timeout(self.settings().connect_timeout, session.forward(address)).await;
        opened
            .unwrap_or(Err(russh::Error::ConnectionTimeout))
            .map_err(|source| ConnectError::Jump {
                jump: self.target().address.clone(),
                address: address.clone(),
                source: source.into(),
            })
    }
}

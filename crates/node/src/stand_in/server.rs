//! A small SSH server for stand-in machines, so that they need nothing installed: one user, password authentication, and
//! commands without a terminal. Not for machines that others can reach.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use russh::keys::PrivateKey;
use russh::keys::ssh_key::private::{Ed25519Keypair, KeypairData};
use russh::server::{self, Auth, ChannelOpenHandle, Msg, Session};
use russh::{Channel, ChannelId, ChannelMsg, ChannelReadHalf, ChannelWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use crate::channel::{Event, Events, Input, Status};
use crate::{Secret, local};

/// The channel of stderr.
const STDERR: u32 = 1;

/// A server that accepts connections, but does not serve them yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    config: Arc<server::Config>,
    password: Secret,
}

impl Server {
    /// Listens on an address. The seed determines the host key.
    pub async fn bind(address: SocketAddr, seed: &[u8; 32], password: Secret) -> io::Result<Self> {
        let key = KeypairData::from(Ed25519Keypair::from_seed(seed));
        let key = PrivateKey::new(key, "").map_err(io::Error::other)?;
        let config = server::Config {
            keys: vec![key],
            auth_rejection_time: Duration::from_millis(500),
            auth_rejection_time_initial: Some(Duration::ZERO),
            inactivity_timeout: None,
            nodelay: true,
            ..server::Config::default()
        };
        Ok(Self {
            listener: TcpListener::bind(address).await?,
            config: Arc::new(config),
            password,
        })
    }

    /// Serves connections, each in a task, for ever.
    pub async fn serve(self) -> ! {
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Too many open files, for example. That passes.
                    tracing::warn!(error = %error, "failed to accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let client = Client {
                password: self.password.clone(),
                channels: HashMap::new(),
            };
            tokio::spawn(serve_client(Arc::clone(&self.config), stream, client));
        }
    }
}

async fn serve_client(config: Arc<server::Config>, stream: TcpStream, client: Client) {
    let session = async { server::run_stream(config, stream, client).await?.await };
    if let Err(error) = session.await {
        tracing::debug!(error = %error, "connection ended");
    }
}

/// One connection.
struct Client {
    password: Secret,
    /// Channels in which no command runs yet.
    channels: HashMap<ChannelId, Channel<Msg>>,
}

impl server::Handler for Client {
    type Error = russh::Error;

    async fn auth_password(&mut self, user: &str, password: &str) -> Result<Auth, Self::Error> {
        if user == "root" && password == self.password.expose() {
            return Ok(Auth::Accept);
        }
        Ok(Auth::reject())
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        self.channels.insert(channel.id(), channel);
        reply.accept().await;
        Ok(())
    }

    async fn exec_request(
        &mut self,
        id: ChannelId,
        command: &[u8],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        let command = String::from_utf8_lossy(command);
        let line = format!("cd \"${{HOME:-/}}\" 2>/dev/null\n{command}");
        let (Some(channel), Ok((input, events))) = (self.channels.remove(&id), local::exec(&line))
        else {
            return session.channel_failure(id);
        };
        session.channel_success(id)?;
        tokio::spawn(run(channel, input, events));
        Ok(())
    }
}

/// Passes data between a channel and a command, until the command and its output end, or the client closes the channel.
async fn run(channel: Channel<Msg>, input: Input, events: Events) {
    let (read, write) = channel.split();
    tokio::select! {
        () = pass_input(read, input) => {}
        result = pass_output(&write, events) => {
            // A client that is gone need not be told.
            let _ = result;
        }
    }
    let _ = write.close().await;
}

/// Ends when the client closes the channel, not with the input.
async fn pass_input(mut channel: ChannelReadHalf, mut input: Input) {
    while let Some(message) = channel.wait().await {
        match message {
            // A command need not read its input.
            ChannelMsg::Data { data } => drop(input.send(data).await),
            ChannelMsg::Eof => input.end().await,
            ChannelMsg::Close => return,
            _ => {}
        }
    }
}

async fn pass_output(
    channel: &ChannelWriteHalf<Msg>,
    mut events: Events,
) -> Result<(), russh::Error> {
    loop {
        match events.next().await {
            Event::Stdout(data) => channel.data_bytes(data).await?,
            Event::Stderr(data) => channel.extended_data_bytes(STDERR, data).await?,
            Event::Ended(Status::Exited(code)) => channel.exit_status(code).await?,
            // As shells report it.
            Event::Ended(Status::Killed(_)) => channel.exit_status(137).await?,
            Event::Refused | Event::Closed => return channel.eof().await,
        }
    }
}

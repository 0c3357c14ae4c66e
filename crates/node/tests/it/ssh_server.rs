//! An SSH server that misbehaves as told, and counts what is open.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use outrigger_node::{Address, Credentials, HostKeyPolicy, Target};
use russh::keys::PrivateKey;
use russh::keys::ssh_key::private::{Ed25519Keypair, KeypairData};
use russh::server::{self, Auth, ChannelOpenHandle, Msg, Session};
use russh::{Channel, ChannelId, ChannelMsg};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::sync::watch;

/// What the server does with commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behavior {
    /// Ends them at once, without output.
    Nothing,
    /// Prints this again and again.
    Endless(&'static [u8]),
    /// Answers the probe for sudo, and then prints errors without end.
    EndlessErrors,
    /// Prints this and waits for ever.
    Says(&'static str),
    /// Lets nobody log in, and does not refuse it either.
    NoLogin,
    /// Runs them in this home directory, each in a session of its own.
    Runs(&'static str),
}

#[derive(Debug)]
pub(crate) struct SshServer {
    pub(crate) address: SocketAddr,
    pub(crate) connections: Arc<AtomicUsize>,
    /// Commands that were started.
    pub(crate) commands: Arc<AtomicUsize>,
    /// Channels with commands.
    pub(crate) channels: watch::Receiver<i64>,
}

impl SshServer {
    pub(crate) async fn start(behavior: Behavior) -> Self {
        let key = KeypairData::from(Ed25519Keypair::from_seed(&[7; 32]));
        let config = server::Config {
            keys: vec![PrivateKey::new(key, "").unwrap()],
            auth_rejection_time: Duration::ZERO,
            inactivity_timeout: None,
            ..server::Config::default()
        };
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let commands = Arc::new(AtomicUsize::new(0));
        let (open, channels) = watch::channel(0);
        let (count, open) = (Arc::clone(&connections), Arc::new(open));
        let started = Arc::clone(&commands);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let client = Client {
                    behavior,
                    commands: Arc::clone(&started),
                    open: Arc::clone(&open),
                    channels: HashMap::new(),
                };
                let config = Arc::clone(&config);
                tokio::spawn(async move {
                    if let Ok(session) = server::run_stream(config, stream, client).await {
                        let _ = session.await;
                    }
                });
            }
        });
        Self {
            address,
            connections,
            commands,
            channels,
        }
    }

    pub(crate) fn target(&self, user: &str) -> Target {
        target(self.address, user)
    }

    /// Waits until a command runs, and then until no channel is open.
    pub(crate) async fn all_closed(&mut self) {
        self.channels.wait_for(|open| *open == 0).await.unwrap();
    }
}

pub(crate) fn target(address: SocketAddr, user: &str) -> Target {
    Target {
        address: Address::new(user, address.ip().to_string(), address.port()).unwrap(),
        credentials: Credentials::password("x"),
        host_key: HostKeyPolicy::RecordFirst,
        jump: None,
    }
}

struct Client {
    behavior: Behavior,
    commands: Arc<AtomicUsize>,
    open: Arc<watch::Sender<i64>>,
    channels: HashMap<ChannelId, Channel<Msg>>,
}

impl server::Handler for Client {
    type Error = russh::Error;

    async fn auth_password(&mut self, _: &str, _: &str) -> Result<Auth, Self::Error> {
        if self.behavior == Behavior::NoLogin {
            std::future::pending::<()>().await;
        }
        Ok(Auth::Accept)
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

    async fn channel_open_direct_tcpip(
        &mut self,
        channel: Channel<Msg>,
        host: &str,
        port: u32,
        _: &str,
        _: u32,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        let mut stream = TcpStream::connect((host, u16::try_from(port).unwrap())).await?;
        reply.accept().await;
        tokio::spawn(async move {
            let mut channel = channel.into_stream();
            let _ = tokio::io::copy_bidirectional(&mut channel, &mut stream).await;
        });
        Ok(())
    }

    async fn exec_request(
        &mut self,
        id: ChannelId,
        command: &[u8],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        let channel = self.channels.remove(&id).unwrap();
        session.channel_success(id)?;
        self.commands.fetch_add(1, Ordering::SeqCst);
        let command = String::from_utf8_lossy(command).into_owned();
        let is_sudo = command.contains("sudo");
        let (behavior, open) = (self.behavior, Arc::clone(&self.open));
        open.send_modify(|count| *count += 1);
        tokio::spawn(async move {
            let _ = match behavior {
                Behavior::Runs(home) => run(channel, &command, home).await.is_ok(),
                _ => behave(channel, behavior, is_sudo).await.is_ok(),
            };
            open.send_modify(|count| *count -= 1);
        });
        Ok(())
    }
}

/// Ends when the client closes the channel, or the command ends.
async fn behave(
    channel: Channel<Msg>,
    behavior: Behavior,
    is_sudo: bool,
) -> Result<(), russh::Error> {
    let (mut read, write) = channel.split();
    let answer = async {
        match behavior {
            Behavior::Endless(text) => loop {
                write.data_bytes(text).await?;
            },
            Behavior::EndlessErrors if is_sudo => loop {
                write.extended_data_bytes(1, &[b'x'; 900][..]).await?;
            },
            Behavior::EndlessErrors => write.data_bytes(&b"password\n"[..]).await?,
            Behavior::Says(text) => {
                write.data_bytes(text.as_bytes()).await?;
                return std::future::pending().await;
            }
            Behavior::Nothing | Behavior::NoLogin | Behavior::Runs(_) => {}
        }
        write.exit_status(0).await?;
        write.eof().await?;
        write.close().await
    };
    let closed = async {
        while !matches!(read.wait().await, None | Some(ChannelMsg::Close)) {}
        Ok(())
    };
    tokio::select! {
        result = answer => result,
        result = closed => result,
    }
}

/// Runs a command until it ends or the client closes the channel.
async fn run(channel: Channel<Msg>, command: &str, home: &str) -> anyhow::Result<()> {
    let mut child = Command::new("setsid")
        .args(["sh", "-c", command])
        .env("HOME", home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (mut read, write) = channel.split();
    let mut stdin = child.stdin.take();
    let mut stdout = child.stdout.take().unwrap();
    let input = async {
        while let Some(message) = read.wait().await {
            match (message, &mut stdin) {
                (ChannelMsg::Data { data }, Some(pipe)) => pipe.write_all(&data).await?,
                (ChannelMsg::Eof, _) => drop(stdin.take()),
                (ChannelMsg::Close, _) => break,
                _ => {}
            }
        }
        anyhow::Ok(())
    };
    let output = async {
        tokio::io::copy(&mut stdout, &mut write.make_writer()).await?;
        write.exit_status(0).await?;
        write.eof().await?;
        write.close().await?;
        anyhow::Ok(())
    };
    tokio::select! {
        result = input => result,
        result = output => result,
    }
}

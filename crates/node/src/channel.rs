//! A running remote or local shell: where its input goes, and what it reports.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use tokio::io::AsyncWriteExt as _;

use crate::local::LocalEvents;
use crate::ssh::Spare;

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// With an exit code. A shell reports a child that was killed by a signal as 128 plus the signal.
    Exited(u32),
    /// By a signal, named without `SIG`.
    Killed(String),
}

impl Status {
    pub fn is_success(&self) -> bool {
        *self == Self::Exited(0)
    }
}

/// What a shell reports.
#[derive(Debug)]
pub(crate) enum Event {
    Stdout(Bytes),
    Stderr(Bytes),
    Ended(Status),
    /// The server does not run the command.
    Refused,
    /// Nothing follows. Without an [`Event::Ended`] before, the connection was lost.
    Closed,
}

/// The peer does not accept input anymore.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InputClosed;

/// The input of a shell. If it is dropped, the channel is closed: a shell that waits for input would wait for ever, and
/// take a place on the machine.
#[derive(Debug)]
pub(crate) enum Input {
    Ssh {
        channel: Option<russh::ChannelWriteHalf<russh::client::Msg>>,
        is_closed: IsClosed,
    },
    Local(Option<tokio::process::ChildStdin>),
}

/// Whether a channel is gone, so that its number may belong to another one.
#[derive(Debug, Clone, Default)]
pub(crate) struct IsClosed(Arc<AtomicBool>);

impl IsClosed {
    fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The two halves of a channel.
pub(crate) fn ssh(channel: russh::Channel<russh::client::Msg>) -> (Input, Events) {
    let (read, write) = channel.split();
    let is_closed = IsClosed::default();
    let input = Input::Ssh {
        channel: Some(write),
        is_closed: is_closed.clone(),
    };
    let events = Events::Ssh {
        channel: read,
        early: None,
        is_closed,
        spare: None,
    };
    (input, events)
}

impl Input {
    /// Waits until the peer has accepted the data, which it may never do.
    pub(crate) async fn send(&mut self, data: Bytes) -> Result<(), InputClosed> {
        match self {
            Self::Ssh { channel, .. } => match channel {
                Some(channel) => channel.data_bytes(data).await.map_err(|_| InputClosed),
                None => Err(InputClosed),
            },
            Self::Local(Some(pipe)) => pipe.write_all(&data).await.map_err(|_| InputClosed),
            Self::Local(None) => Err(InputClosed),
        }
    }

    /// Ends the input.
    pub(crate) async fn end(&mut self) {
        match self {
            // An error means that the connection is lost, which the events report.
            Self::Ssh { channel, .. } => {
                if let Some(channel) = channel {
                    drop(channel.eof().await);
                }
            }
            Self::Local(pipe) => drop(pipe.take()),
        }
    }

    /// Frees the channel although the shell may still run. Output that nobody reads would hold up the whole connection.
    pub(crate) async fn close(&mut self, events: Events) {
        drop(events);
        match self {
            Self::Ssh { channel, is_closed } => {
                if let Some(channel) = channel.take().filter(|_| !is_closed.get()) {
                    drop(channel.close().await);
                }
            }
            Self::Local(pipe) => drop(pipe.take()),
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        let Self::Ssh { channel, is_closed } = self else {
            return;
        };
        let channel = channel.take().filter(|_| !is_closed.get());
        if let (Some(channel), Ok(runtime)) = (channel, tokio::runtime::Handle::try_current()) {
            // An error means that the connection is lost.
            runtime.spawn(async move { drop(channel.close().await) });
        }
    }
}

/// The events of a shell.
#[derive(Debug)]
pub(crate) enum Events {
    Ssh {
        channel: russh::ChannelReadHalf,
        /// An event that arrived before the server confirmed the command.
        early: Option<Event>,
        is_closed: IsClosed,
        /// The connection, if nothing else uses it.
        spare: Option<Spare>,
    },
    Local(Box<LocalEvents>),
}

impl Events {
    /// Keeps a connection open until these events are dropped.
    pub(crate) fn keep_open(&mut self, connection: Spare) {
        if let Self::Ssh { spare, .. } = self {
            *spare = Some(connection);
        }
    }

    /// Whether the shell has a connection of its own.
    pub(crate) fn has_spare(&self) -> bool {
        matches!(self, Self::Ssh { spare: Some(_), .. })
    }

    /// Waits until the server has answered the request to run the command. Returns `false` if it closed the channel
    /// instead: the command does not run. Cancel safe.
    pub(crate) async fn is_started(&mut self) -> bool {
        use russh::ChannelMsg;
        let Self::Ssh {
            channel,
            early,
            is_closed,
            ..
        } = self
        else {
            return true;
        };
        loop {
            match channel.wait().await {
                // Without a connection, the next event tells.
                Some(ChannelMsg::Success) | None => return true,
                Some(ChannelMsg::Close) => {
                    is_closed.set();
                    return false;
                }
                Some(message) => *early = event_of(message),
            }
            if early.is_some() {
                return true;
            }
        }
    }

    /// The next event. Cancel safe.
    pub(crate) async fn next(&mut self) -> Event {
        match self {
            Self::Ssh {
                channel,
                early,
                is_closed,
                ..
            } => {
                if let Some(event) = early.take() {
                    return event;
                }
                let event = next_of(channel).await;
                if matches!(event, Event::Closed) {
                    is_closed.set();
                }
                event
            }
            Self::Local(process) => process.next().await,
        }
    }
}

async fn next_of(channel: &mut russh::ChannelReadHalf) -> Event {
    while let Some(message) = channel.wait().await {
        if let Some(event) = event_of(message) {
            return event;
        }
    }
    Event::Closed
}

fn event_of(message: russh::ChannelMsg) -> Option<Event> {
    use russh::ChannelMsg;
    match message {
        ChannelMsg::Data { data } => Some(Event::Stdout(data)),
        ChannelMsg::ExtendedData { data, .. } => Some(Event::Stderr(data)),
        ChannelMsg::ExitStatus { exit_status } => Some(Event::Ended(Status::Exited(exit_status))),
        ChannelMsg::ExitSignal { signal_name, .. } => {
            Some(Event::Ended(Status::Killed(signal_text(&signal_name))))
        }
        ChannelMsg::Failure => Some(Event::Refused),
        ChannelMsg::Close => Some(Event::Closed),
        _ => None,
    }
}

fn signal_text(signal: &russh::Sig) -> String {
    match signal {
        russh::Sig::Custom(name) => name.clone(),
        known => format!("{known:?}"),
    }
}

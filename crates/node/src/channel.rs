//! A running remote or local shell: where its input goes, and what it reports.

use bytes::Bytes;
use tokio::io::AsyncWriteExt as _;

use crate::local::LocalEvents;

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

/// The input of a shell.
#[derive(Debug)]
pub(crate) enum Input {
    Ssh(russh::ChannelWriteHalf<russh::client::Msg>),
    Local(Option<tokio::process::ChildStdin>),
}

impl Input {
    /// Waits until the peer has accepted the data, which it may never do.
    pub(crate) async fn send(&mut self, data: Bytes) -> Result<(), InputClosed> {
        match self {
            Self::Ssh(channel) => channel.data_bytes(data).await.map_err(|_| InputClosed),
            Self::Local(Some(pipe)) => pipe.write_all(&data).await.map_err(|_| InputClosed),
            Self::Local(None) => Err(InputClosed),
        }
    }

    /// Ends the input.
    pub(crate) async fn end(&mut self) {
        match self {
            // An error means that the connection is lost, which the events report.
            Self::Ssh(channel) => drop(channel.eof().await),
            Self::Local(pipe) => drop(pipe.take()),
        }
    }

    /// Frees the channel although the shell may still run. Output that nobody reads would hold up the whole connection.
    pub(crate) async fn close(&mut self, events: Events) {
        let is_closed = events.is_closed();
        drop(events);
        if is_closed {
            return;
        }
        match self {
            Self::Ssh(channel) => drop(channel.close().await),
            Self::Local(pipe) => drop(pipe.take()),
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
        /// The channel is gone, and its number may belong to another one.
        is_closed: bool,
    },
    Local(Box<LocalEvents>),
}

impl Events {
    pub(crate) fn ssh(channel: russh::ChannelReadHalf) -> Self {
        Self::Ssh {
            channel,
            early: None,
            is_closed: false,
        }
    }

    /// Waits until the server has answered the request to run the command. Returns `false` if it closed the channel
    /// instead: the command does not run. Cancel safe.
    pub(crate) async fn is_started(&mut self) -> bool {
        use russh::ChannelMsg;
        let Self::Ssh {
            channel,
            early,
            is_closed,
        } = self
        else {
            return true;
        };
        loop {
            match channel.wait().await {
                // Without a connection, the next event tells.
                Some(ChannelMsg::Success) | None => return true,
                Some(ChannelMsg::Close) => {
                    *is_closed = true;
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
            } => {
                if let Some(event) = early.take() {
                    return event;
                }
                let event = next_of(channel).await;
                *is_closed |= matches!(event, Event::Closed);
                event
            }
            Self::Local(process) => process.next().await,
        }
    }

    fn is_closed(&self) -> bool {
        matches!(
            self,
            Self::Ssh {
                is_closed: true,
                ..
            }
        )
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

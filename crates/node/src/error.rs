//! What can go wrong with a machine.

use std::sync::Arc;
use std::time::Duration;

use crate::shell::NulByte;
use crate::{Address, HostKey};

/// A machine cannot be used: it is not reachable, not the expected one, or refuses the credentials.
///
/// Cheap to clone: all who wait for a connection get the same error.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ConnectError {
    #[error("failed to connect to {address}")]
    Unreachable {
        address: Address,
        source: Arc<std::io::Error>,
    },
    /// Nothing accepted the connection in time.
    #[error("failed to connect to {address} within {timeout:?}")]
    Timeout { address: Address, timeout: Duration },
    /// Something accepted the connection, and did not complete the SSH handshake in time.
    #[error(
        "{address} accepted the connection, but did not complete the SSH handshake within {timeout:?}"
    )]
    Silent { address: Address, timeout: Duration },
    #[error("{address} does not speak SSH as expected")]
    Protocol {
        address: Address,
        source: Arc<russh::Error>,
    },
    #[error(
        "the host key of {address} changed: expected {}, got {offered}",
        fingerprints(expected)
    )]
    HostKeyChanged {
        address: Address,
        expected: Vec<HostKey>,
        offered: HostKey,
    },
    #[error("{address} rejected the authentication by {}", attempted.join(", "))]
    Rejected {
        address: Address,
        /// The methods that were tried.
        attempted: Vec<&'static str>,
        /// The methods that the server accepts.
        accepted: Vec<String>,
    },
    #[error(
        "there are no credentials for {0}: neither a password, nor a private key, nor an agent"
    )]
    NoCredentials(Address),
    #[error("failed to read the private key for {address}")]
    PrivateKey {
        address: Address,
        source: Arc<russh::keys::Error>,
    },
    #[error("failed to use the SSH agent for {address}")]
    Agent {
        address: Address,
        source: Arc<russh::keys::Error>,
    },
    #[error("{address} did not complete the authentication within {timeout:?}")]
    AuthenticationTimeout { address: Address, timeout: Duration },
    #[error("{0} has no sudo, and its user is not root")]
    NoSudo(String),
    #[error("sudo of {0} requires a password")]
    SudoPasswordRequired(String),
    #[error("sudo of {machine} refused to run commands: {message}")]
    SudoRefused { machine: String, message: String },
    #[error("the local machine cannot be a jump host")]
    LocalJump,
    #[error("the jump host {jump} cannot reach {address}")]
    Jump {
        jump: Address,
        address: Address,
        source: Arc<russh::Error>,
    },
}

fn fingerprints(keys: &[HostKey]) -> String {
    let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
    keys.join(" or ")
}

/// A command could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection broke while the command ran. Whether it ended is not known.
    #[error("the connection to {machine} was lost while a command ran")]
    ConnectionLost { machine: String },
    /// Nothing ran.
    #[error("no command was started on {machine} within {timeout:?}: waiting for {waiting_for}")]
    NotStarted {
        machine: String,
        timeout: Duration,
        waiting_for: &'static str,
    },
    /// A command that survives its connection may still run.
    #[error(
        "{machine} did not report how a command ended within {elapsed:?}: waiting for {waiting_for}"
    )]
    NotReported {
        machine: String,
        elapsed: Duration,
        waiting_for: &'static str,
    },
    /// A shell was killed before it answered.
    #[error("the shell on {machine} that was to report how a command ended was killed")]
    NoAnswer { machine: String },
    /// The process group was killed.
    #[error("the command on {machine} did not end within {timeout:?}")]
    Timeout { machine: String, timeout: Duration },
    #[error("{machine} refused to run a command")]
    Refused { machine: String },
    #[error(transparent)]
    NulByte(#[from] NulByte),
    /// The shell of the machine answered what no POSIX shell answers.
    #[error("{machine} gave an unexpected answer: {answer:?}")]
    UnexpectedAnswer { machine: String, answer: String },
    #[error("failed to start a shell on this machine")]
    Start(#[source] std::io::Error),
    /// The state folder of the machine cannot be written to, or an earlier attempt cannot be ended.
    #[error("{machine} cannot run a command: {message}")]
    State { machine: String, message: String },
}

impl RunError {
    /// Whether the machine may succeed with the same request later.
    pub fn is_connection_loss(&self) -> bool {
        matches!(
            self,
            Self::ConnectionLost { .. }
                | Self::Connect(
                    ConnectError::Unreachable { .. }
                        | ConnectError::Timeout { .. }
                        | ConnectError::Silent { .. }
                        | ConnectError::AuthenticationTimeout { .. }
                        | ConnectError::Jump { .. }
                )
        )
    }
}

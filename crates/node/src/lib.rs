//! Machines: over SSH, and the local one. Run commands, copy files, gather facts.
//!
//! ```text
//! Target (address, credentials, host key) ─ Machine::connect ─→ Machine: one connection, many channels
//! Machine::run           ─→ a command, its output and exit code; killed with the call
//! Machine::run_attempt   ─→ at most once for an attempt id; survives the connection and the caller
//! Tree::scan ─→ Machine::copy ─→ only what differs, in one stream, atomically
//! Machine::facts         ─→ what the machine is
//! ```
//!
//! A machine needs an SSH server (OpenSSH, dropbear), a POSIX shell and the usual programs (coreutils, tar, setsid), which
//! busybox has as well; no Python, no SFTP, nothing of ours. What runs there is shell text that travels on the input of a
//! shell, so that arguments and secrets are on no command line.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use outrigger_node::{
//!     AttemptId, Command, Connector, Credentials, Entry, HostKeyPolicy, Machine, Target, Tree,
//! };
//!
//! let connector = Connector::default(); // shared by all machines: limits and timeouts
//! let target = Target {
//!     address: "root@10.0.0.9:22".parse()?,
//!     credentials: Credentials::password("secret"),
//!     host_key: HostKeyPolicy::RecordFirst, // or HostKeyPolicy::pinned("SHA256:…".parse()?)
//!     jump: None,
//! };
//! let machine = Machine::connect(target, &connector).await?;
//! let pin = machine.host_key(); // to store, and to pin from now on
//!
//! // Scanned once, copied to all machines.
//! let entries = [Entry { source: "hooks/pre".into(), destination: "/tmp/hooks/pre".into() }];
//! let hooks = ["/tmp/hooks/pre/pre-install".to_owned()].into();
//! let tree = Tree::scan("/etc/outrigger/files".as_ref(), &entries, &hooks)?;
//! machine.copy(&tree).await?;
//!
//! let hook = Command::new("/tmp/hooks/pre/pre-install", ["location=xa"]).env("OUTRIGGER_HOOK", "PreInstall");
//! let attempt = AttemptId::new("cls-1/EnsurePreInstallHook", "run-1/EnsurePreInstallHook/1");
//! let outcome = machine.run_attempt(&attempt, &hook).await?;
//! # Ok(()) }
//! ```
//!
//! Errors name the machine and what was attempted. [`ConnectError`] is about the connection and the credentials,
//! [`RunError`] about commands, [`ScanError`] about the files of the caller and [`CopyError`] about those of the machine.

mod address;
mod answer;
mod attempt;
mod channel;
mod command;
mod copy;
mod credentials;
mod error;
mod facts;
mod host;
mod host_key;
mod local;
mod machine;
mod output;
mod preamble;
mod privilege;
mod run;
mod secret;
mod shell;
mod ssh;
pub mod stand_in;
mod trust;

pub use address::{Address, DEFAULT_PORT, InvalidAddress};
pub use attempt::{AttemptId, AttemptOutcome};
pub use channel::Status;
pub use command::Command;
pub use copy::{
    CopyError, CopyReport, Entry, FileCache, MAX_DEPTH, MAX_FILES, ScanError, ScanProgress, Tree,
};
pub use credentials::{Credentials, InvalidPrivateKey};
pub use error::{ConnectError, RunError};
pub use facts::Facts;
pub use host::Host;
pub use host_key::{HostKey, HostKeyPolicy, InvalidHostKey};
pub use machine::{Machine, WeakMachine};
pub use output::{Captured, Output};
pub use run::{Chunk, dropped_commands_killed};
pub use secret::Secret;
pub use shell::{NulByte, quote, quote_all};
pub use ssh::{Connector, Settings, Target};
pub use trust::require_trusted;

//! Requests to the shell of a machine that does attempts one after the other. To start a shell costs a machine more than a
//! short hook.
//!
//! ```text
//! → the functions of attempt.sh, and the first request
//! ← marker, outcome, output, marker
//! → the next request, …
//! ```

use std::sync::LazyLock;

use bytes::Bytes;
use futures::FutureExt as _;

use crate::channel::{Events, Input};
use crate::machine::Shell;
use crate::shell::{NulByte, Program, quote};
use crate::{Machine, RunError};

/// Defines the function `attempt`, as one word: without comments, which machines would have to read.
static ATTEMPT: LazyLock<String> = LazyLock::new(|| {
    let lines = include_str!("../attempt.sh").lines();
    let lines = lines.filter(|line| !line.trim_start().starts_with('#'));
    quote(&lines.collect::<Vec<_>>().join("\n"))
});

/// Defines `serve`, which runs the text of a request: in this shell if it leads a session, as most do that SSH servers start,
/// otherwise in one that does. So nothing that ends the connection, or sudo, ends the processes that it
/// leaves behind.
const SERVE: &str = r#"IFS= read -r s </proc/$$/stat; s=${s##*) }; set -- $s
if [ "$4" = $$ ]; then eval "$p"; serve() { eval "$1" </dev/null; }
else serve() { printf '%s\n%s\n' "$p" "$1" | setsid /bin/sh; }; fi"#;

/// What each line of an answer begins with, and what follows an answer. Output cannot contain it, because nobody else knows
/// it.
#[derive(Debug, Clone)]
pub(super) struct Marker(String);

impl Marker {
    fn random() -> Self {
        let [a, b] = [(); 2].map(|()| fastrand::u64(..));
        Self(format!("\n{a:016x}{b:016x}\n"))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// Without the newlines around it.
    pub(super) fn text(&self) -> &str {
        self.0.trim()
    }
}

/// Shell text that prints an answer and its marker.
#[derive(Debug)]
pub(super) struct Request {
    text: String,
    pub(super) marker: Marker,
}

impl Request {
    pub(super) fn new(attempt: &str) -> Result<Self, NulByte> {
        let marker = Marker::random();
        let word = marker.0.trim();
        let attempt = quote(&format!("m={word}; {attempt}"));
        let text = format!("serve {attempt}; printf '\\n%s\\n' {word}");
        Program::KeptOpen(&text).encode()?;
        Ok(Self { text, marker })
    }

    /// What a new shell runs.
    fn with_functions(&self) -> String {
        format!("p={}\n{SERVE}\n{}", *ATTEMPT, self.text)
    }
}

/// A shell that waits for the next request.
#[derive(Debug)]
pub(crate) struct IdleShell {
    input: Input,
    events: Events,
}

impl IdleShell {
    /// Sends a request, unless the shell has ended.
    async fn send(mut self, request: &Request) -> Option<(Input, Events)> {
        if self.events.next().now_or_never().is_some() {
            return None;
        }
        let program = Program::KeptOpen(&request.text).encode().ok()?;
        self.input.send(Bytes::from(program)).await.ok()?;
        Some((self.input, self.events))
    }
}

impl Machine {
    /// Sends a request to the idle shell, or to a new one.
    pub(super) async fn send(&self, request: &Request) -> Result<Shell<'_>, RunError> {
        let channel = self.channel().await?;
        let idle = self.idle_shell().take();
        let sent = match idle {
            Some(shell) => shell.send(request).await,
            None => None,
        };
        if let Some((input, events)) = sent {
            return Ok(Shell {
                input,
                events,
                channel,
            });
        }
        let program = request.with_functions();
        self.start_in(channel, Program::KeptOpen(&program)).await
    }

    /// Sends a request to a new shell, although all channels may be taken.
    pub(super) async fn send_in_extra(&self, request: &Request) -> Result<Shell<'_>, RunError> {
        let program = request.with_functions();
        self.start_extra(Program::KeptOpen(&program)).await
    }

    /// Keeps a shell for the next request. Not without a place of its own, not on a connection of its own, and not on a server
    /// that supports one channel at a time.
    pub(super) fn keep(&self, shell: Shell<'_>) {
        let places = shell
            .channel
            .as_ref()
            .map(tokio::sync::SemaphorePermit::num_permits);
        if places == Some(1) && !shell.events.has_spare() {
            let Shell { input, events, .. } = shell;
            self.idle_shell().replace(IdleShell { input, events });
        }
    }
}

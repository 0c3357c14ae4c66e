//! How commands become root.

use bytes::Bytes;

use crate::answer::{Answer, unexpected};
use crate::channel::{Event, Events, Input};
use crate::preamble::Preamble;
use crate::shell::READY;
use crate::{ConnectError, RunError, Secret};

/// Sudo's answer to a wrong password.
const REFUSAL: &[u8] = b"Sorry";
/// The longest message of sudo, with its lecture.
const MAX_ANSWER: usize = 16 * 1024;

/// How a command line runs as the wanted user.
#[derive(Debug, Clone)]
pub(crate) enum Privilege {
    /// As the user who logged in.
    Direct { is_root: bool },
    /// By sudo, which asks for no password.
    Sudo,
    /// By sudo, which reads the password from its input.
    SudoWithPassword(Secret),
}

/// Prints the user id, and whether sudo works without a password, with one, or not at all. `-k` ignores what sudo
/// remembers of earlier commands, so that the answer holds for later ones.
pub(crate) const PROBE: &str = r#"
while read -r k r u l; do [ "$k" != Uid: ] || break; done </proc/self/status
if [ "$u" = 0 ]; then echo root
elif ! command -v sudo >/dev/null 2>&1; then echo none
elif sudo -k -n true 2>/dev/null; then echo free
else echo password
fi"#;

/// Sudo reads no password if its rules ask for none for a shell, though they do for other programs. Then the shell must
/// not take the password for a command, which it would print: it reads up to [`READY`], after which the program follows.
/// Valid between single quotes in all login shells, like a loader.
const SKIP_PASSWORD: &str = r#"while IFS= read -r l; do [ "$l" = outrigger-ready ] && break; done"#;

impl Privilege {
    /// Decides by what the probe printed.
    pub(crate) fn from_probe(
        answer: &str,
        machine: &str,
        password: Option<&Secret>,
    ) -> Result<Self, RunError> {
        let machine = machine.to_owned();
        let error = match (answer.trim(), password) {
            ("root", _) => return Ok(Self::Direct { is_root: true }),
            ("free", _) => return Ok(Self::Sudo),
            ("password", Some(password)) => return Ok(Self::SudoWithPassword(password.clone())),
            ("password", None) => ConnectError::SudoPasswordRequired(machine),
            ("none", _) => ConnectError::NoSudo(machine),
            (answer, _) => {
                let answer = answer.chars().take(200).collect();
                return Err(RunError::UnexpectedAnswer { machine, answer });
            }
        };
        Err(error.into())
    }

    pub(crate) fn is_root(&self) -> bool {
        !matches!(self, Self::Direct { is_root: false })
    }

    /// The command line of a shell that runs the text of a loader.
    pub(crate) fn command_line(&self, loader: &str) -> String {
        match self {
            // The shell that the loader would start.
            Self::Direct { .. } if loader.starts_with("exec ") => loader.to_owned(),
            Self::Direct { .. } => format!("exec /bin/sh -c '{loader}'"),
            Self::Sudo => format!("exec sudo -n /bin/sh -c '{loader}'"),
            Self::SudoWithPassword(_) => {
                format!(
                    "exec sudo -k -S -p '' /bin/sh -c 'echo {READY}; {SKIP_PASSWORD}; {loader}'"
                )
            }
        }
    }

    /// What sudo reads from its input first.
    pub(crate) fn password_line(&self) -> Option<Bytes> {
        match self {
            Self::Direct { .. } | Self::Sudo => None,
            Self::SudoWithPassword(password) => {
                Some(Bytes::from(format!("{}\n", password.expose())))
            }
        }
    }
}

/// Waits until sudo has accepted the password and the shell runs. Otherwise sudo would take the program for the next try
/// of a password.
pub(crate) async fn unlocked(
    machine: &str,
    input: &mut Input,
    events: &mut Events,
) -> Result<(), RunError> {
    let mut preamble = Preamble::until(format!("{READY}\n"));
    let mut message = Answer::new(MAX_ANSWER);
    loop {
        match events.next().await {
            Event::Stdout(data) => {
                let skipped = preamble.skip(&data);
                let skipped = skipped.map_err(|_| unexpected(machine, &preamble.text()))?;
                if skipped.is_some() {
                    return Ok(());
                }
            }
            Event::Stderr(data) => {
                // The text may be split.
                let seen = message.bytes().len().saturating_sub(REFUSAL.len());
                let pushed = message.push(&data);
                pushed.map_err(|_| message.unexpected(machine))?;
                let new = message.bytes().get(seen..).unwrap_or_default();
                if new.windows(REFUSAL.len()).any(|part| part == REFUSAL) {
                    input.end().await;
                }
            }
            Event::Closed | Event::Refused => break,
            Event::Ended(_) => input.end().await,
        }
    }
    let message = message.text().trim().to_owned();
    let machine = machine.to_owned();
    Err(ConnectError::SudoRefused { machine, message }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_behind_sudo_skips_what_sudo_did_not_read() {
        assert!(SKIP_PASSWORD.contains(&format!(" = {READY} ]")));
        assert!(!SKIP_PASSWORD.contains(['\'', '!', '\n', '\\']));
    }
}

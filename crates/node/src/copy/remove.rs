//! Removes files that were copied.

use tokio::time::timeout;

use super::CopyError;
use super::answers::Answers;
use super::plan::{function, parent};
use super::transfer::{FILE_TIME, STALL};
use crate::Machine;
use crate::machine::Shell;
use crate::shell::Program;
use crate::trust::{TRUST, ancestors};

/// The longest message.
const MAX_MESSAGE: usize = 64 * 1024;

/// Somebody who can replace a folder by a link could make root remove files elsewhere. `rm -f` is silent unless it fails.
const REMOVE: &str = "
found=$(folders foreign)
[ -z \"$found\" ] || { echo \"$found\"; exit 0; }
files rm -f -- 2>&1
echo done
";

impl Machine {
    /// Removes files, in any number. Missing ones are not an error; folders are left.
    pub async fn remove(&self, paths: &[String]) -> Result<(), CopyError> {
        let mut folders: Vec<&str> = paths.iter().flat_map(|path| ancestors(path)).collect();
        folders.sort_unstable();
        folders.dedup();
        let files: Vec<&str> = paths.iter().map(String::as_str).collect();
        let program = [
            TRUST,
            &function("folders", &folders),
            &function("files", &files),
            REMOVE,
        ];
        let program = program.concat();
        let shell = timeout(STALL, self.start(Program::BeforeInput(&program))).await;
        let mut shell = shell.map_err(|_| self.not_started(STALL))??;
        let limit = STALL + FILE_TIME * u32::try_from(paths.len()).unwrap_or(u32::MAX);
        let message = {
            let mut answers = Answers::new(self, &mut shell.events, MAX_MESSAGE);
            timeout(limit, answers.rest()).await
        };
        let Shell {
            mut input, events, ..
        } = shell;
        input.close(events).await;
        let message = message.map_err(|_| CopyError::InstallTimeout {
            machine: self.name().to_owned(),
            files: paths.len(),
            timeout: limit,
        })??;
        self.removed(&message, files.first().copied().unwrap_or_default())
    }

    fn removed(&self, message: &str, first: &str) -> Result<(), CopyError> {
        let machine = self.name().to_owned();
        if message == "done\n" {
            return Ok(());
        }
        if let Some(reason) = message.strip_prefix("untrusted ") {
            let reason = reason.lines().next().unwrap_or_default().to_owned();
            return Err(CopyError::Untrusted { machine, reason });
        }
        Err(CopyError::Remove {
            machine,
            folder: parent(first).to_owned(),
            message: message.lines().next().unwrap_or_default().to_owned(),
        })
    }
}

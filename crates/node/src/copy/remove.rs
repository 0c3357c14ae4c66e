//! Removes files that were copied, and the folders that were made for them.

use tokio::time::timeout;

use super::answers::Answers;
use super::plan::{folders, function, parent};
use super::transfer::{FILE_TIME, STALL};
use super::{CopyError, Tree};
use crate::Machine;
use crate::machine::Shell;
use crate::trust::TRUST;

/// The longest message.
const MAX_MESSAGE: usize = 64 * 1024;

const REMOVE: &str = include_str!("remove.sh");

impl Machine {
    /// Removes the files of a tree. Missing ones are not an error. Folders that copies made are removed too, if they are
    /// empty then; all others are left.
    pub async fn remove(&self, tree: &Tree) -> Result<(), CopyError> {
        let folders: Vec<&str> = folders(tree).into_keys().rev().collect();
        let files: Vec<&str> = tree.destinations().collect();
        let program = [
            TRUST,
            &function("folders", &folders),
            &function("files", &files),
            REMOVE,
        ];
        let (mut shell, preamble) = self.start_with_state(&program.concat()).await?;
        let count = u32::try_from(folders.len() + files.len()).unwrap_or(u32::MAX);
        let limit = STALL + FILE_TIME * count;
        let message = {
            let mut answers = Answers::new(self, &mut shell.events, preamble, MAX_MESSAGE);
            timeout(limit, answers.rest()).await
        };
        let Shell {
            mut input, events, ..
        } = shell;
        input.close(events).await;
        let message = message.map_err(|_| CopyError::InstallTimeout {
            machine: self.name().to_owned(),
            files: files.len(),
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

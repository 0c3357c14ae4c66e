//! Removes files that were copied, and the folders that were made for them.

use bytes::Bytes;
use tokio::time::timeout;

use super::answers::Answers;
use super::plan::{folders, function, links, parent, require_outside_of_system};
use super::transfer::{FILE_TIME, STALL, max_answer};
use super::{CopyError, Tree};
use crate::Machine;
use crate::machine::Shell;
use crate::preamble::Preamble;
use crate::trust::TRUST;

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
        let removing = self.check_and_remove(tree, &mut shell, preamble);
        let result = timeout(limit, removing).await;
        let Shell {
            mut input, events, ..
        } = shell;
        input.close(events).await;
        result.unwrap_or_else(|_| {
            Err(CopyError::InstallTimeout {
                machine: self.name().to_owned(),
                files: files.len(),
                timeout: limit,
            })
        })
    }

    async fn check_and_remove(
        &self,
        tree: &Tree,
        shell: &mut Shell<'_>,
        preamble: Preamble,
    ) -> Result<(), CopyError> {
        let limit = max_answer(tree);
        let mut answers = Answers::new(self, &mut shell.events, preamble, limit);
        let found = answers.until_line("end").await?;
        if let Some((_, reason)) = found.split_once("untrusted ") {
            let machine = self.name().to_owned();
            let reason = reason.lines().next().unwrap_or_default().to_owned();
            return Err(CopyError::Untrusted { machine, reason });
        }
        let mut lines = found.trim_start().lines().peekable();
        let links = links(&mut lines);
        if !links.is_empty() {
            require_outside_of_system(tree, &links, self.name())?;
            // Whether it arrives, the answer says.
            let _ = shell.input.send(Bytes::from_static(b"go\n")).await;
        }
        let message = answers.rest().await?;
        self.removed(&message, tree.destinations().next().unwrap_or_default())
    }

    fn removed(&self, message: &str, first: &str) -> Result<(), CopyError> {
        let machine = self.name().to_owned();
        if message == "done\n" {
            return Ok(());
        }
        Err(CopyError::Remove {
            machine,
            folder: parent(first).to_owned(),
            message: message.lines().next().unwrap_or_default().to_owned(),
        })
    }
}

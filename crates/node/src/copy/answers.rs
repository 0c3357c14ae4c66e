//! What a machine prints during a copy.

use crate::answer::{Answer, TooLong, unexpected};
use crate::channel::{Event, Events};
use crate::output::Captured;
use crate::preamble::Preamble;
use crate::{Machine, RunError};

pub(super) struct Answers<'a> {
    machine: &'a Machine,
    events: &'a mut Events,
    /// Until the marker is read.
    preamble: Option<Preamble>,
    unread: Answer,
    errors: Captured,
}

impl<'a> Answers<'a> {
    /// Answers that are longer than `limit` are errors.
    pub(super) fn new(
        machine: &'a Machine,
        events: &'a mut Events,
        preamble: Preamble,
        limit: usize,
    ) -> Self {
        Self {
            machine,
            events,
            preamble: Some(preamble),
            unread: Answer::new(limit),
            errors: Captured::default(),
        }
    }

    /// All lines before this one.
    pub(super) async fn until_line(&mut self, line: &str) -> Result<String, RunError> {
        let end = format!("\n{line}\n");
        let mut searched = 0;
        loop {
            let unread = self.unread.bytes().get(searched..).unwrap_or_default();
            if let Some(at) = find(unread, end.as_bytes()) {
                return Ok(self.unread.take_until(searched + at + end.len()));
            }
            searched = self.unread.bytes().len().saturating_sub(end.len());
            if !self.read().await? {
                return Err(self.unexpected());
            }
        }
    }

    /// Everything until the shell ends. Cancel safe.
    pub(super) async fn rest(&mut self) -> Result<String, RunError> {
        while self.read().await? {}
        if self.unread.bytes().is_empty() {
            return Err(self.unexpected());
        }
        Ok(self.unread.text())
    }

    /// Whether something was read.
    async fn read(&mut self) -> Result<bool, RunError> {
        match self.events.next().await {
            Event::Stdout(data) => {
                let start = match &mut self.preamble {
                    Some(preamble) => {
                        let skipped = preamble.skip(&data);
                        let text = || unexpected(self.machine.name(), &preamble.text());
                        skipped.map_err(|TooLong| text())?
                    }
                    None => Some(0),
                };
                let Some(start) = start else {
                    return Ok(true);
                };
                self.preamble = None;
                let answered = data.get(start..).unwrap_or_default();
                let pushed = self.unread.push(answered);
                pushed.map_err(|TooLong| self.unread.unexpected(self.machine.name()))?;
            }
            Event::Stderr(data) => self.errors.push(&data, 2000),
            Event::Ended(_) => {}
            Event::Refused | Event::Closed => return Ok(false),
        }
        Ok(true)
    }

    fn unexpected(&self) -> RunError {
        let printed = self.preamble.as_ref().map(Preamble::text);
        let answer = format!("{}{}", printed.unwrap_or_default(), self.errors.text());
        if answer.is_empty() {
            return self.machine.lost();
        }
        unexpected(self.machine.name(), &answer)
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

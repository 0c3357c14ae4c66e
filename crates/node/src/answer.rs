//! What the shell of a machine answers, in bounded memory: a hostile server may answer without end.

use crate::RunError;

/// How much of an unexpected answer is part of the error.
const SHOWN: usize = 200;

/// An answer so far.
#[derive(Debug)]
pub(crate) struct Answer {
    bytes: Vec<u8>,
    limit: usize,
}

/// An answer is longer than any that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Answer {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            limit,
        }
    }

    pub(crate) fn push(&mut self, data: &[u8]) -> Result<(), TooLong> {
        let room = self.limit - self.bytes.len();
        self.bytes.extend(data.iter().take(room));
        if data.len() > room {
            return Err(TooLong);
        }
        Ok(())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Everything up to an offset; the rest stays.
    pub(crate) fn take_until(&mut self, end: usize) -> String {
        let rest = self.bytes.split_off(end.min(self.bytes.len()));
        let taken = std::mem::replace(&mut self.bytes, rest);
        String::from_utf8_lossy(&taken).into_owned()
    }

    /// The error about this answer.
    pub(crate) fn unexpected(&self, machine: &str) -> RunError {
        unexpected(machine, &self.text())
    }
}

/// The error about an answer.
pub(crate) fn unexpected(machine: &str, answer: &str) -> RunError {
    RunError::UnexpectedAnswer {
        machine: machine.to_owned(),
        answer: answer.trim().chars().take(SHOWN).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_fits() {
        let mut answer = Answer::new(4);
        assert_eq!(answer.push(b"abc"), Ok(()));
        assert_eq!(answer.push(b"d"), Ok(()));
        assert_eq!(answer.push(b"ef"), Err(TooLong));
        assert_eq!(answer.bytes(), b"abcd");
        assert_eq!(answer.take_until(2), "ab");
        assert_eq!(answer.bytes(), b"cd");
    }
}

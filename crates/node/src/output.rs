//! Captured output, bounded: the beginning and the end are kept.

use std::collections::VecDeque;

use crate::Status;

/// The beginning and the end of an output. Any bytes, not necessarily lines or text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// All of it, unless something was dropped.
    pub head: Vec<u8>,
    /// Empty unless the head is full.
    pub tail: VecDeque<u8>,
    /// How many bytes between head and tail were dropped.
    pub dropped: u64,
}

impl Captured {
    /// Adds data. Head and tail are at most `limit` bytes each.
    pub(crate) fn push(&mut self, data: &[u8], limit: usize) {
        let room = limit.saturating_sub(self.head.len()).min(data.len());
        let (head, rest) = data.split_at(room);
        self.head.extend_from_slice(head);
        let keep = rest.len().min(limit);
        let excess = (self.tail.len() + keep).saturating_sub(limit);
        self.tail.drain(..excess);
        self.tail.extend(rest.iter().skip(rest.len() - keep));
        self.dropped += (excess + rest.len() - keep) as u64;
    }

    pub fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    /// Printable text, which says how much is missing. Invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        let mut bytes = self.head.clone();
        if self.dropped > 0 {
            bytes.extend(format!("\n[… {} bytes dropped …]\n", self.dropped).bytes());
        }
        bytes.extend(&self.tail);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub status: Status,
    pub stdout: Captured,
    pub stderr: Captured,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(chunks: &[&str], limit: usize) -> Captured {
        let mut captured = Captured::default();
        for chunk in chunks {
            captured.push(chunk.as_bytes(), limit);
        }
        captured
    }

    #[test]
    fn keeps_short_output_whole() {
        assert_eq!(captured(&["ab", "c"], 4).text(), "abc");
        assert_eq!(captured(&["abcd", "efgh"], 4).text(), "abcdefgh");
    }

    #[test]
    fn keeps_beginning_and_end_of_long_output() {
        for chunks in [
            &["abcdefghij"][..],
            &["abcde", "fghij"],
            &["a", "bcdefghi", "j"],
        ] {
            let captured = captured(chunks, 3);
            assert_eq!(captured.head, b"abc");
            assert_eq!(captured.tail, b"hij");
            assert_eq!(captured.dropped, 4);
        }
    }

    #[test]
    fn output_that_is_not_text_can_be_shown() {
        let mut captured = Captured::default();
        captured.push(b"\xff\0", 10);
        assert_eq!(captured.text(), "\u{fffd}\0");
    }
}

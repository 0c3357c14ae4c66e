//! The exit code that a command reports by itself, at the end of stderr.

use std::hash::{BuildHasher as _, Hasher as _};

/// Removes the report from stderr, wherever the pieces are cut.
#[derive(Debug)]
pub(crate) struct ExitReport {
    /// A NUL byte and the marker. A code and a newline follow.
    start: Vec<u8>,
    /// What may be the beginning of the report.
    held: Vec<u8>,
}

/// A word that no other output contains.
pub(crate) fn marker() -> String {
    let random = || std::hash::RandomState::new().build_hasher().finish();
    format!("outrigger-exit-{:016x}{:016x}", random(), random())
}

impl ExitReport {
    pub(crate) fn new(marker: &str) -> Self {
        Self {
            start: format!("\0{marker} ").into_bytes(),
            held: Vec::new(),
        }
    }

    /// The output in a piece of stderr, and in pieces that were held back.
    pub(crate) fn without_report(&mut self, data: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(data);
        let mut from = 0;
        let end = loop {
            let rest = self.held.get(from..).unwrap_or_default();
            let Some(at) = rest.iter().position(|byte| *byte == 0) else {
                break self.held.len();
            };
            let rest = rest.get(at..).unwrap_or_default();
            if self.start.starts_with(rest) || rest.starts_with(&self.start) {
                break from + at;
            }
            from += at + 1;
        };
        self.held.drain(..end).collect()
    }

    /// The exit code, if it was reported.
    pub(crate) fn code(&self) -> Option<u32> {
        let code = self.held.strip_prefix(self.start.as_slice())?;
        let code = code.split(|byte| *byte == b'\n').next()?;
        std::str::from_utf8(code).ok()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered(text: &str, size: usize) -> (String, Option<u32>) {
        let mut report = ExitReport::new("m");
        let pieces = text.as_bytes().chunks(size);
        let output: Vec<u8> = pieces
            .flat_map(|piece| report.without_report(piece))
            .collect();
        (String::from_utf8_lossy(&output).into_owned(), report.code())
    }

    #[test]
    fn the_report_is_removed_wherever_pieces_are_cut() {
        for size in 1..20 {
            assert_eq!(
                filtered("a\0b\0m 17\n", size),
                ("a\0b".to_owned(), Some(17))
            );
            assert_eq!(filtered("no report", size), ("no report".to_owned(), None));
            assert_eq!(filtered("a\0m 1", size), ("a".to_owned(), Some(1)));
        }
    }
}

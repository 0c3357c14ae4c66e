//! What a machine prints before it answers: files that login shells read at their start may print anything. Everything up to
//! a marker is skipped, in bounded memory.

use crate::answer::TooLong;

/// How much may be skipped.
const LIMIT: usize = 1024 * 1024;
/// How much of it is kept for errors.
const KEPT: usize = 400;

/// Waits for a marker.
#[derive(Debug)]
pub(crate) struct Preamble {
    marker: String,
    /// The end of what was read, which may be the beginning of the marker.
    end: Vec<u8>,
    skipped: usize,
    kept: Vec<u8>,
}

impl Preamble {
    pub(crate) fn until(marker: impl Into<String>) -> Self {
        Self {
            marker: marker.into(),
            end: Vec::new(),
            skipped: 0,
            kept: Vec::new(),
        }
    }

    /// Until a marker that nobody else knows.
    pub(crate) fn until_random() -> Self {
        let [a, b] = [(); 2].map(|()| fastrand::u64(..));
        Self::until(format!("{a:016x}{b:016x}"))
    }

    pub(crate) fn marker(&self) -> &str {
        &self.marker
    }

    /// Where in the data the answer begins, if the marker is complete.
    pub(crate) fn skip(&mut self, data: &[u8]) -> Result<Option<usize>, TooLong> {
        let before = self.end.len();
        self.end.extend_from_slice(data);
        let marker = self.marker.as_bytes();
        let found = self.end.windows(marker.len());
        if let Some(at) = found.into_iter().position(|part| part == marker) {
            let start = (at + marker.len()).saturating_sub(before);
            self.end.truncate(at);
            return Ok(Some(start));
        }
        self.skipped += data.len();
        if self.skipped > LIMIT {
            return Err(TooLong);
        }
        let excess = self.end.len().saturating_sub(marker.len() - 1);
        let room = KEPT.saturating_sub(self.kept.len());
        self.kept.extend(self.end.drain(..excess).take(room));
        Ok(None)
    }

    /// The beginning of what was skipped.
    pub(crate) fn text(&self) -> String {
        let room = KEPT.saturating_sub(self.kept.len());
        let end = self.end.iter().take(room);
        let text: Vec<u8> = self.kept.iter().chain(end).copied().collect();
        String::from_utf8_lossy(&text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_marker_wherever_data_is_split() {
        let data = b"Welcome!\nabc abcd1234\n";
        for size in 1..=data.len() {
            let mut preamble = Preamble::until("abcd");
            let mut answer = Vec::new();
            let mut is_found = false;
            for part in data.chunks(size) {
                let start = if is_found {
                    Some(0)
                } else {
                    preamble.skip(part).unwrap()
                };
                is_found |= start.is_some();
                answer.extend_from_slice(start.map_or(&[][..], |start| &part[start..]));
            }
            assert_eq!(answer, b"1234\n", "{size}");
        }
    }

    #[test]
    fn endless_text_is_an_error_and_takes_little_memory() {
        let mut preamble = Preamble::until_random();
        let noise = vec![b'x'; 64 * 1024];
        for _ in 0..16 {
            assert_eq!(preamble.skip(&noise), Ok(None));
        }
        assert!(preamble.end.len() < 64 && preamble.text().len() == KEPT);
        assert_eq!(preamble.skip(b"x"), Err(TooLong));
    }
}

//! Tracks how much of the input go-yaml has read, for inputs with irregular characters.

use crate::error::Error;
use crate::source::Source;

#[derive(Debug)]
pub(super) struct Reader<'a> {
    /// The ends of the remaining chunks.
    ends: &'a [usize],
    fault: Option<&'static str>,
    /// The end of the text read so far.
    read: usize,
    /// The number of end marks read after the text.
    end_marks: usize,
    /// The position at the last read.
    pub(super) base: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(source: &'a Source<'_>) -> Self {
        Self {
            ends: source.chunks.as_ref().map_or(&[], |chunks| &chunks.ends),
            fault: source.chunks.as_ref().and_then(|chunks| chunks.fault),
            read: 0,
            end_marks: 0,
            base: 0,
        }
    }

    /// Reads until `count` characters from `position` on are available, or the input ends.
    pub(super) fn need(&mut self, text: &str, position: usize, count: usize) -> Result<(), Error> {
        if self.has(text, position, count) {
            return Ok(());
        }
        self.base = position;
        while let Some((&end, rest)) = self.ends.split_first() {
            self.read = end;
            self.ends = rest;
            if self.has(text, position, count) {
                return Ok(());
            }
        }
        if let Some(problem) = self.fault {
            return Err(Error::Encoding(problem));
        }
        self.end_marks += 1;
        Ok(())
    }

    fn has(&self, text: &str, position: usize, count: usize) -> bool {
        // No character is longer than four bytes.
        if position + 4 * count <= self.read {
            return true;
        }
        let start = position.min(self.read);
        let missing = count.saturating_sub(self.end_marks);
        missing == 0 || text[start..self.read].chars().nth(missing - 1).is_some()
    }
}

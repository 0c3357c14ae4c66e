//! How much of the text go-yaml has read at a given moment; matters only for texts with odd characters.

use crate::error::Error;
use crate::source::Source;

#[derive(Debug)]
pub(super) struct Reader<'a> {
    /// Where the pieces end that are still to come.
    ends: &'a [usize],
    fault: Option<&'static str>,
    /// How far the text was read.
    read: usize,
    /// How many end marks were read after the text.
    end_marks: usize,
    /// Where the reader stood when it last fetched something.
    pub(super) base: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(source: &'a Source<'_>) -> Self {
        Self {
            ends: source.pieces.as_ref().map_or(&[], |pieces| &pieces.ends),
            fault: source.pieces.as_ref().and_then(|pieces| pieces.fault),
            read: 0,
            end_marks: 0,
            base: 0,
        }
    }

    /// Makes sure that `count` characters from `position` on were read, as far as there are so many.
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

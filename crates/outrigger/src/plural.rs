//! Counts with their nouns: `1 file`, `2 files`.

use std::fmt::Display;

/// A number of things whose noun has a regular plural.
pub(crate) fn counted(count: impl TryInto<u64> + Copy + Display, noun: &str) -> String {
    match count.try_into() {
        Ok(1) => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_no_plural() {
        assert_eq!(counted(0_usize, "file"), "0 files");
        assert_eq!(counted(1_u64, "file"), "1 file");
        assert_eq!(counted(2_usize, "file"), "2 files");
    }
}

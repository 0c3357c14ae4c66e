//! Do two programs refuse a chart for the same reason?

/// Whether two texts give one reason: all words of the second half of Helm's are in ours. The order is no matter: the
/// server itself tells several troubles of one object in any order.
pub(super) fn is_same(theirs: &str, ours: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let is_edge = |c: char| !c.is_alphanumeric();
        let words = text.split_whitespace();
        let plain = words.map(|word| word.trim_matches(is_edge).to_owned());
        plain.filter(|word| !word.is_empty()).collect()
    };
    // A status cuts what is too long.
    let is_cut = ours.ends_with('…');
    let (theirs, ours) = (words(theirs), words(ours));
    let (told, known) = if is_cut {
        (ours, theirs)
    } else {
        (theirs, ours)
    };
    let cause = &told[told.len() / 2..];
    // The last word may be cut, too.
    let cause = &cause[..cause.len() - usize::from(is_cut && !cause.is_empty())];
    !cause.is_empty() && cause.iter().all(|word| known.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_known_again_in_other_words_around_it_and_another_one_is_not() {
        let theirs = "Error: INSTALLATION FAILED: server-side apply failed for object x: [a.b: must be set, c.d: is unknown]";
        let ours = "failed to apply x: [c.d: is unknown, a.b: must be set]";
        assert!(is_same(theirs, ours));
        assert!(!is_same(theirs, "failed to apply x: [c.d: is unknown]"));
        assert!(!is_same(theirs, ""));
    }
}

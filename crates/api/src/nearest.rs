//! Which known word did somebody mean?

use strsim::levenshtein;

/// The known word that is nearest to `word`, if one is near enough to be worth naming.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    let scored = known
        .iter()
        .map(|candidate| (levenshtein(&word, &candidate.to_lowercase()), *candidate));
    let (score, candidate) = scored.min_by_key(|(score, _)| *score)?;
    (score <= 1 + word.chars().count() / 3).then_some(candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_understood_and_a_strange_word_is_not() {
        let known = ["version", "values", "installNamespace"];
        assert_eq!(nearest("verison", &known), Some("version"));
        assert_eq!(
            nearest("installnamespace", &known),
            Some("installNamespace")
        );
        assert_eq!(nearest("replicas", &known), None);
    }
}

//! Suggestions for misspelled names.

use strsim::levenshtein;

/// The known word with the smallest edit distance to `word`, if it is similar enough for a suggestion.
pub fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    let candidates = known
        .iter()
        .map(|candidate| (levenshtein(&word, &candidate.to_lowercase()), *candidate));
    let (distance, candidate) = candidates.min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + word.chars().count() / 3).then_some(candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_similar_words_only() {
        let known = ["version", "values", "installNamespace"];
        assert_eq!(nearest("verison", &known), Some("version"));
        assert_eq!(
            nearest("installnamespace", &known),
            Some("installNamespace")
        );
        assert_eq!(nearest("replicas", &known), None);
    }
}

//! Which known word did somebody mean?

/// The known word that is nearest to `word`, if one is near enough to be worth naming.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    let scored = known
        .iter()
        .map(|candidate| (distance(&word, &candidate.to_lowercase()), *candidate));
    let (score, candidate) = scored.min_by_key(|(score, _)| *score)?;
    (score <= 1 + word.chars().count() / 3).then_some(candidate)
}

/// How many letters must be put in, taken out or exchanged to make one word of the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for column in 1..=to.len() {
            let exchanged = diagonal + usize::from(letter != to[column - 1]);
            diagonal = row[column];
            row[column] = exchanged.min(row[column] + 1).min(row[column - 1] + 1);
        }
    }
    row[to.len()]
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

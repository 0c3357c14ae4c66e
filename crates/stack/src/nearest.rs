//! Suggestions for misspelled names.

use outrigger_apimachinery::nearest::nearest;

/// `", did you mean X?"` for the most similar of the known names, or nothing.
pub(crate) fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(word, &known) {
        Some(candidate) => format!(", did you mean {candidate:?}?"),
        None => String::new(),
    }
}

/// Adds a suggestion to serde's message about an unknown field.
pub(crate) fn with_suggestion(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    match quoted.next() {
        Some(unknown) if message.starts_with("unknown ") => {
            format!("{message}{}", suggestion(unknown, quoted))
        }
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_get_a_suggestion() {
        let message = "unknown field `flag`, expected `flags` or `volumes`";
        assert_eq!(
            with_suggestion(message),
            format!("{message}, did you mean \"flags\"?")
        );
        assert_eq!(
            with_suggestion("missing field `name`"),
            "missing field `name`"
        );
    }
}

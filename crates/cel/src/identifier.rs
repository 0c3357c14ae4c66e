//! Which names can be identifiers of expressions.

/// Identifiers that expressions must not use.
pub(crate) const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Whether a name is a keyword or reserved.
pub(crate) fn is_reserved(name: &str) -> bool {
    matches!(name, "true" | "false" | "null" | "in") || RESERVED.contains(&name)
}

/// Whether a name can be an identifier.
pub fn is_identifier(name: &str) -> bool {
    let is_word = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    let starts_with_digit = name.starts_with(|first: char| first.is_ascii_digit());
    name.bytes().all(is_word) && !name.is_empty() && !starts_with_digit && !is_reserved(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_not_reserved_are_identifiers() {
        for name in ["a", "_", "a1", "namespaces"] {
            assert!(is_identifier(name), "{name}");
        }
        for name in ["", "1a", "a-b", "a.b", "in", "true", "namespace", "ä"] {
            assert!(!is_identifier(name), "{name}");
        }
    }
}

//! Names and identities that the server makes up.

/// No vowels, so that no words come about.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX: usize = 5;
/// Longest name that is generated.
const MAX_NAME: usize = 63;

/// Five random letters.
pub(crate) fn random_suffix() -> String {
    random_bytes::<SUFFIX>()
        .iter()
        .map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]))
        .collect()
}

/// A name that begins with a prefix.
pub(super) fn generate(prefix: &str) -> String {
    let mut end = prefix.len().min(MAX_NAME - SUFFIX);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{}", &prefix[..end], random_suffix())
}

/// A random identity, as RFC 9562 writes it.
pub(crate) fn random_uid() -> String {
    let mut bytes = random_bytes::<16>();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-")
}

fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // Where the system has no randomness left nothing works.
    let _ = getrandom::fill(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_are_short_enough() {
        assert_eq!(generate("web-").len(), 9);
        assert_eq!(generate(&"x".repeat(100)).len(), MAX_NAME);
        assert_eq!(random_uid().len(), 36);
        assert_ne!(random_uid(), random_uid());
    }
}

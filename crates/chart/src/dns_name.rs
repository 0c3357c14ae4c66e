//! Names by RFC 1123 and RFC 1035, as apimachinery validates them. Lengths are checked by the callers.

/// A lowercase RFC 1123 label.
pub(crate) fn is_label(label: &str) -> bool {
    let is_alphanumeric = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = label.as_bytes();
    bytes.first().is_some_and(is_alphanumeric)
        && bytes.last().is_some_and(is_alphanumeric)
        && bytes.iter().all(|b| is_alphanumeric(b) || *b == b'-')
}

/// A DNS-1035 label.
pub(crate) fn is_label_1035(label: &str) -> bool {
    is_label(label) && label.starts_with(|c: char| c.is_ascii_lowercase())
}

/// A lowercase RFC 1123 subdomain.
pub(crate) fn is_subdomain(name: &str) -> bool {
    name.split('.').all(is_label)
}

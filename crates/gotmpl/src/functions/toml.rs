//! TOML as the library BurntSushi/toml writes and reads it.

mod decode;
mod encode;
mod number;
mod scan;
mod strings;
mod tables;

pub(super) use decode::decode;
pub(super) use encode::encode;

/// Which release of the library is imitated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edition {
    /// Helm 3.17
    V1_4,
    /// Helm 4.2: TOML 1.1, floats with exponents, other line numbers in errors.
    V1_6,
}

/// A key as it stands in a document: quoted unless it is plain.
fn shown_key(key: &[u8]) -> Vec<u8> {
    let is_plain = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'-';
    if !key.is_empty() && key.iter().all(is_plain) {
        return key.to_vec();
    }
    encode::quoted(key)
}

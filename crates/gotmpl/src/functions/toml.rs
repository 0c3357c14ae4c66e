//! `github.com/BurntSushi/toml`

mod decode;
mod encode;
mod number;
mod scan;
mod strings;
mod tables;

use std::fmt;

use outrigger_gostd::strconv::quote;

pub(super) use decode::decode;
pub(super) use encode::{EncodeError, encode};

/// The release of the library whose behaviour applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edition {
    /// Helm 3.17
    V1_4,
    /// Helm 4.2: TOML 1.1, floats with exponents, different line numbers in errors.
    V1_6,
}

/// `toml.ParseError`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ParseError {
    line: usize,
    /// Empty if no key has been parsed.
    last_key: String,
    message: String,
}

impl std::error::Error for ParseError {}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "toml: line {}", self.line)?;
        if !self.last_key.is_empty() {
            write!(f, " (last key {})", quote(&self.last_key))?;
        }
        write!(f, ": {}", self.message)
    }
}

/// `Key.maybeQuoted`: a key, quoted unless it is bare.
fn maybe_quoted(key: &[u8]) -> Vec<u8> {
    let is_bare = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'-';
    if !key.is_empty() && key.iter().all(is_bare) {
        return key.to_vec();
    }
    encode::quoted(key)
}

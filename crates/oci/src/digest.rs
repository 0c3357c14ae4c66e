//! Digests of content: `sha256:…` and `sha512:…`.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::digest;
use serde::{Deserialize, Serialize};

/// A hash algorithm of the image specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    Sha256,
    Sha512,
}

impl Algorithm {
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }

    fn hex_length(self) -> usize {
        match self {
            Self::Sha256 => 64,
            Self::Sha512 => 128,
        }
    }

    pub fn hasher(self) -> Hasher {
        let algorithm = match self {
            Self::Sha256 => &digest::SHA256,
            Self::Sha512 => &digest::SHA512,
        };
        Hasher {
            algorithm: self,
            context: digest::Context::new(algorithm),
        }
    }
}

/// Content is named by its digest. The encoded form is canonical: lowercase hexadecimal digits of the exact length.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest {
    algorithm: Algorithm,
    hex: Box<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDigest {
    #[error("{0:?} is not a digest: it has no algorithm")]
    NoAlgorithm(String),
    #[error("{0:?} has an unsupported digest algorithm; use sha256 or sha512")]
    UnsupportedAlgorithm(String),
    #[error(
        "{text:?} is not a digest: {expected} lowercase hexadecimal digits must follow the algorithm"
    )]
    Encoding { text: String, expected: usize },
}

impl Digest {
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The hexadecimal digits.
    pub fn hex(&self) -> &str {
        &self.hex
    }

    /// The SHA-256 digest of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::with(Algorithm::Sha256, bytes)
    }

    pub fn with(algorithm: Algorithm, bytes: &[u8]) -> Self {
        let mut hasher = algorithm.hasher();
        hasher.update(bytes);
        hasher.finish()
    }

    /// The tag that clients derive from the digest of an image, for what refers to it.
    pub(crate) fn tag(&self) -> String {
        format!("{}-{}", self.algorithm.name(), self.hex)
    }

    /// The first digits, for tables and progress.
    pub fn short(&self) -> &str {
        self.hex.get(..12).unwrap_or(&self.hex)
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        let shown = || text.chars().take(200).collect::<String>();
        let Some((algorithm, hex)) = text.split_once(':') else {
            return Err(InvalidDigest::NoAlgorithm(shown()));
        };
        let algorithm = match algorithm {
            "sha256" => Algorithm::Sha256,
            "sha512" => Algorithm::Sha512,
            _ => return Err(InvalidDigest::UnsupportedAlgorithm(shown())),
        };
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if hex.len() != algorithm.hex_length() || !hex.bytes().all(is_hex) {
            return Err(InvalidDigest::Encoding {
                text: shown(),
                expected: algorithm.hex_length(),
            });
        }
        Ok(Self {
            algorithm,
            hex: hex.into(),
        })
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm.name(), self.hex)
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Computes a digest chunk by chunk.
#[derive(Clone)]
pub struct Hasher {
    algorithm: Algorithm,
    context: digest::Context,
}

impl Hasher {
    pub fn update(&mut self, bytes: &[u8]) {
        self.context.update(bytes);
    }

    pub fn finish(self) -> Digest {
        let sum = self.context.finish();
        let hex: String = sum
            .as_ref()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Digest {
            algorithm: self.algorithm,
            hex: hex.into(),
        }
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hasher")
            .field("algorithm", &self.algorithm)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn parses_only_canonical_digests() {
        assert_eq!(EMPTY.parse::<Digest>().unwrap(), Digest::of(b""));
        assert_eq!(Digest::of(b"").to_string(), EMPTY);
        let long = Digest::with(Algorithm::Sha512, b"a").to_string();
        assert_eq!(long.parse::<Digest>().unwrap().to_string(), long);
        let upper = EMPTY.to_uppercase().replace("SHA256", "sha256");
        for text in [
            "",
            "sha256",
            "sha256:",
            "sha256:00",
            "md5:00",
            &upper,
            "sha256:../../etc/passwd",
            &format!("{EMPTY}0"),
        ] {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
    }
}

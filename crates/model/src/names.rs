//! Names of owners and node pools: DNS labels, so that they can be part of paths, stack names and object names.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The maximum length of a name, as of a DNS label.
const MAX_LENGTH: usize = 63;

/// Why a text is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid name {0:?}: use 1 to 63 lowercase letters, digits and hyphens, starting with a letter or digit"
)]
pub struct InvalidName(String);

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, InvalidName> {
                Self::try_from(text.to_owned())
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;

            fn try_from(text: String) -> Result<Self, InvalidName> {
                if is_valid(&text) { Ok(Self(text)) } else { Err(InvalidName(text)) }
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// The plugin that contributed something.
    Owner
}
name! {
    /// The name of a node pool.
    PoolName
}

fn is_valid(text: &str) -> bool {
    let is_allowed = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    !text.is_empty()
        && text.len() <= MAX_LENGTH
        && !text.starts_with('-')
        && !text.ends_with('-')
        && text.as_bytes().iter().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_dns_labels() {
        for valid in ["a", "kube2iam", "aws-iam-authenticator", "0"] {
            assert_eq!(valid.parse::<Owner>().unwrap().as_str(), valid);
        }
        let long = "a".repeat(64);
        for invalid in ["", "-a", "a-", "A", "a/b", "..", "a b", long.as_str()] {
            assert!(invalid.parse::<PoolName>().is_err(), "{invalid}");
        }
    }
}

//! Credentials and certificates. `Debug` and `Display` redact them.

use std::fmt;

/// A string that `Debug` and `Display` redact.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The plain text, for use in requests only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Credentials {
    Basic { username: String, password: Secret },
    Bearer(Secret),
}

/// PEM-encoded certificates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Tls {
    /// Certificate authorities to trust in addition to those of the system
    pub ca: Option<Vec<u8>>,
    /// Client certificate and its key
    pub client: Option<(Vec<u8>, Secret)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_and_display_redact_secrets() {
        let credentials = Credentials::Basic {
            username: "ann".to_owned(),
            password: Secret::new("hunter2"),
        };
        let printed = format!("{credentials:?} {}", Secret::new("hunter2"));
        assert!(!printed.contains("hunter2"), "{printed}");
    }
}

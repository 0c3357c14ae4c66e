//! A certificate and its private key. The model has the specification; delivery generates the keys.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Construct, Sharing, cluster_only};
use crate::scope::Scope;

/// A certificate and its private key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyPair {
    /// The name.
    pub name: String,
    /// The common name of the subject.
    pub common_name: String,
    /// The organization of the subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    /// How long the certificate is valid, in seconds.
    pub duration_seconds: u64,
    /// DNS names.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub dns_names: BTreeSet<String>,
    /// IP addresses.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub ip_addresses: BTreeSet<std::net::IpAddr>,
    /// What it is for.
    pub usages: BTreeSet<KeyUsage>,
    /// The key pair that signs it; without one it is self-signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
}

/// What a certificate is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyUsage {
    /// Signs other certificates.
    Ca,
    /// Identifies a server.
    Server,
    /// Identifies a client.
    Client,
}

impl Construct for KeyPair {
    const KIND: &'static str = "key pair";
    const SHARING: Sharing = Sharing::Exclusive;

    fn key(&self) -> String {
        self.name.clone()
    }

    fn check(&self, scope: &Scope) -> Result<(), String> {
        cluster_only(scope)?;
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if self.name.is_empty() || self.name.starts_with('.') || !self.name.bytes().all(is_allowed)
        {
            return Err("names of key pairs are file names of letters, digits and -_.".to_owned());
        }
        if self.common_name.is_empty() || self.usages.is_empty() || self.duration_seconds == 0 {
            return Err("needs a common name, usages and a duration above zero".to_owned());
        }
        if self.signer.as_deref() == Some(self.name.as_str()) {
            return Err("signs itself; omit the signer for a self-signed certificate".to_owned());
        }
        Ok(())
    }
}

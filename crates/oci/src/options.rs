//! How registries are accessed: addresses, certificates, credentials, mirrors and limits.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use outrigger_transport::{Backoff, Credentials, Tls};

use crate::docker_config::DockerConfig;
use crate::mirrors::Mirrors;

#[derive(Debug, Clone)]
pub struct Options {
    /// Registries that are reached over plain HTTP, as `HOST[:PORT]`
    pub plain_http: BTreeSet<String>,
    /// Certificates by registry; the empty name is the default
    pub tls: BTreeMap<String, Tls>,
    /// Credentials by registry, which take precedence over those of Docker
    pub credentials: BTreeMap<String, Credentials>,
    pub docker: DockerConfig,
    pub mirrors: Mirrors,
    /// Hosts of token services that may receive the credentials of any registry
    pub token_realms: BTreeSet<String>,
    /// Whether a registry may redirect to loopback and link-local addresses
    pub allow_local_redirects: bool,
    /// Whether registries at loopback and link-local addresses are refused, too
    pub refuse_local_addresses: bool,
    pub backoff: Backoff,
    /// How long a request that fails is repeated
    pub patience: Duration,
    pub connect_timeout: Duration,
    /// From the request to the header of the response
    pub first_byte_timeout: Duration,
    /// Between two reads of a body
    pub read_timeout: Duration,
    /// How long a body may take without progress: a manifest as a whole, a blob for each 64 KiB
    pub stall_timeout: Duration,
    /// Bytes that all uploads together keep in memory
    pub buffered_bytes: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            plain_http: BTreeSet::new(),
            tls: BTreeMap::new(),
            credentials: BTreeMap::new(),
            docker: DockerConfig::default(),
            mirrors: Mirrors::default(),
            token_realms: BTreeSet::new(),
            allow_local_redirects: false,
            refuse_local_addresses: false,
            backoff: Backoff {
                max_attempts: 6,
                initial: Duration::from_millis(200),
                max: Duration::from_secs(10),
            },
            patience: Duration::from_mins(1),
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(30),
            read_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_mins(5),
            buffered_bytes: 16 << 20,
        }
    }
}

impl Options {
    pub(crate) fn tls_of(&self, registry: &str) -> Tls {
        let found = self.tls.get(registry).or_else(|| self.tls.get(""));
        found.cloned().unwrap_or_default()
    }
}

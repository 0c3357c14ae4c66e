//! Builds HTTP clients. Redirects and retries are left to the callers, which know where credentials may be sent.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Certificate, Client, Identity, redirect};

use crate::{PublicResolver, Tls};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientOptions {
    pub connect_timeout: Duration,
    /// Between two reads of a body
    pub read_timeout: Duration,
    /// For a whole request; `None` for transfers of any size
    pub timeout: Option<Duration>,
    /// Whether names that resolve to loopback and link-local addresses are rejected
    pub refuse_local_addresses: bool,
    /// Whether HTTP/2 is not negotiated, because several connections transfer large bodies faster than one
    pub http1_only: bool,
}

impl ClientOptions {
    pub fn build(&self, tls: &Tls) -> reqwest::Result<Client> {
        let mut builder = Client::builder()
            .user_agent(concat!("outrigger/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(self.connect_timeout)
            .read_timeout(self.read_timeout);
        if let Some(timeout) = self.timeout {
            builder = builder.timeout(timeout);
        }
        if self.http1_only {
            builder = builder.http1_only();
        }
        if self.refuse_local_addresses {
            builder = builder.dns_resolver(Arc::new(PublicResolver));
        }
        if let Some(ca) = &tls.ca {
            builder = builder.tls_certs_merge(Certificate::from_pem_bundle(ca)?);
        }
        if let Some((certificate, key)) = &tls.client {
            let pem = [certificate, b"\n".as_slice(), key.reveal().as_bytes()].concat();
            builder = builder.identity(Identity::from_pem(&pem)?);
        }
        builder.build()
    }
}

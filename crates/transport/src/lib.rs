//! What all HTTP clients of charts and images share: secrets that redact themselves, which redirects and addresses are
//! allowed, when a request is retried, and how a `reqwest` client is built. It sends no requests.

mod access;
mod address;
mod client;
mod error;
mod redirect;
mod retry;

pub use access::{Credentials, Secret, Tls};
pub use address::{PublicResolver, is_local_address, is_local_url};
pub use client::ClientOptions;
pub use error::{RequestError, TransportError, redact};
pub use redirect::{MAX_REDIRECTS, RedirectError, follow, is_same_origin};
pub use retry::{Backoff, Retry, is_transient, retry_after};

//! Fetches charts from folders, archives and Helm repositories.
//!
//! ```text
//! Request ─Source::parse→ folder or archive ─read, digest→ ─┐
//!                       → Helm repository ─index→ entry ─────┤ by digest: memory, cache on disk, download
//!                                                            └→ Fetched { chart, digest, version }
//! ```
//!
//! Downloads are verified against the digest in the index while they stream. Credentials are sent only to the origin of
//! the repository. TLS is always verified.

mod access;
mod cache;
mod chart_cache;
mod digest;
mod download;
mod error;
mod fetcher;
mod http;
mod index;

mod local;
mod redirect;
mod request;
mod retry;
mod source;
mod unpack;

pub use access::{Access, Credentials, Secret, Tls};
pub use error::{Error, Limit, TransportError};
pub use fetcher::Fetcher;
pub use index::{Entry, Index};
pub use request::{Fetched, Manifests, Options, Request};
pub use source::Source;

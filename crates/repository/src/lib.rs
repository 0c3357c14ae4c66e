//! Fetches charts from directories, archives, Helm repositories and OCI registries.
//!
//! ```text
//! Request ─Source::parse→ directory or archive ─read, digest→ ─┐
//!                       → Helm repository ─index→ entry ─────┤ by digest: memory, cache on disk, download
//!                       → OCI registry ─tags→ manifest ──────┤
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
mod limits;
mod local;
mod logins;
mod mirrors;
mod oci;
mod request;
mod rules;
mod source;
mod unpack;
mod wait;

pub use access::Access;
pub use error::{Error, Limit, Origin};
pub use fetcher::Fetcher;
pub use index::{Entry, Index};
pub use logins::server_of;
pub use mirrors::{ChartMirrors, InvalidChartMirror};
pub use oci::OciSource;
pub use outrigger_transport::{
    Credentials, RequestError, Secret, Tls, TransportError, is_local_address,
};
pub use request::{Archive, Fetched, Manifests, Options, Request};
pub use rules::Rules;
pub use source::{Source, redacted};
pub use wait::{Turn, Wait, WaitObserver};

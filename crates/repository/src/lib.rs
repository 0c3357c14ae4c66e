//! Where does a chart come from? Folders, archives and Helm repositories, each verified.
//!
//! ```text
//! Request ─Source::parse→ folder or archive ─read, digest→ ─┐
//!                       → Helm repository ─index→ entry ─────┤ by digest: memory, cache on disk, download
//!                                                            └→ Fetched { chart, digest, version }
//! ```
//!
//! Whatever comes over the network is checked against the digest that the index names, while it streams. Credentials
//! go to the host that they were given for and to no other. TLS is always verified.

mod access;
mod cache;
mod digest;
mod download;
mod error;
mod fetcher;
mod http;
mod index;
mod loaded;
mod local;
mod redirect;
mod request;
mod retry;
mod source;
mod unpack;

pub use access::{Access, Credentials, Secret, Tls};
pub use error::{Error, Transport};
pub use fetcher::Fetcher;
pub use index::{Entry, Index};
pub use request::{Fetched, Manifests, Options, Request};
pub use source::Source;

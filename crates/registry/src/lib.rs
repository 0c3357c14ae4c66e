//! An OCI registry (distribution specification 1.1) and chart repository on a content-addressed folder.
//!
//! ```text
//! connection ─server→ request ─route→ Route ─access→ handlers/<what>.rs ─→ store (blobs, repositories, uploads)
//! ```
//!
//! All writes are atomic: content is written to a temporary file, verified, and renamed. So a crash leaves at most
//! unfinished uploads, which clients resume and garbage collection removes.

mod access;
mod answer;
mod body;
mod handlers;
mod route;
mod server;
mod store;
mod tokens;

pub use access::{Access, AccessError};
pub use server::{Server, ServerError, ServerOptions};
pub use store::{
    BlobImport, ChartImport, Collected, Content, GcOptions, Kept, Problem, Store, StoreError,
    StoreOptions,
};

//! Images and other artifacts of OCI registries: references, a registry client, streaming copies, archives.
//!
//! ```text
//! Reference ─Client::resolve→ RawManifest ─copy::plan→ blobs, manifests
//!                                              │ per blob: HEAD, mount, or GET ─verify→ PUT
//!                                              └ then manifests, children first
//! ```
//!
//! Blobs are streamed with back-pressure and are never whole in memory. Each is verified against its digest and size
//! before its last byte is passed on.

mod answer;
mod archive;
mod auth;
mod authorize;
mod blob;
mod bounded;
mod buffers;
mod client;
mod copy;
mod digest;
mod docker_config;
mod error;
mod helm;
mod limited_file;
mod lists;
mod lock;
mod manifest;
mod mirrors;
mod options;
mod platform;
mod reference;
mod registry;
mod upload;

pub use archive::{
    Archive, ArchivedImage, Compression, InvalidTarget, Layout, LayoutFile, SaveTarget, SavedImage,
    save,
};
pub use blob::{Blob, MemoryBlob, RemoteBlob};
pub use client::Client;
pub use copy::{Attached, Copied, Copier, Copy, CopyOptions, Progress, Source, Totals, Tree};
pub use digest::{Algorithm, Digest, Hasher, InvalidDigest};
pub use docker_config::{DockerConfig, IDENTITY_TOKEN};
pub use error::{Error, LOG_IN};
pub use helm::{
    HELM_CHART, HELM_CONFIG, HELM_PROVENANCE, chart_layer, chart_manifest, tag_of_version,
    version_of_tag,
};
pub use lock::{InvalidLock, Lock};
pub use manifest::{
    DOCKER_CONFIG, DOCKER_LIST, DOCKER_MANIFEST, Descriptor, InvalidManifest, MAX_ENTRIES,
    MAX_MANIFEST, Manifest, OCI_CONFIG, OCI_INDEX, OCI_MANIFEST, RawManifest,
};
pub use mirrors::{InvalidMirror, Mirrors, path_of_host};
pub use options::Options;
pub use outrigger_transport::{Backoff, Credentials, Secret, Tls};
pub use platform::{InvalidPlatform, Platform};
pub use reference::{
    DOCKER_HUB, InvalidReference, Reference, Repository, is_host, is_registry, is_repository_path,
    is_tag,
};
pub use registry::Resolved;
pub use upload::{Mount, Transfer};

//! Decoding and encoding YAML through the public API.

#![expect(clippy::unwrap_used, reason = "test helpers")]

mod bytes;
mod decoding;
mod depth;
mod encoding;
mod errors;
mod heads;
mod ordering;
mod properties;
mod splitting;
mod strict;
mod tree;

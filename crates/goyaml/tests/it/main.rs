//! Reading and writing YAML through the public interface.

#![expect(clippy::unwrap_used, reason = "test helpers")]

mod bytes;
mod depth;
mod heads;
mod ordering;
mod properties;
mod reading;
mod refusing;
mod splitting;
mod strict;
mod tree;
mod writing;

//! Packages as folders and built: broken ones with all their findings, and good ones without.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test helpers")]

mod broken_built;
mod building;
mod chunks;
mod corpus;
mod deltas;
mod flips;
mod forge;
mod made;
mod registry;
mod sample;
mod signing;

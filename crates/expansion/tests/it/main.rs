//! Packages in folders: broken ones with all their findings, and good ones without.

#![expect(clippy::unwrap_used, reason = "test helpers")]

mod corpus;
mod made;

//! Staged plugins: how long initialise and render take.

pub(crate) mod bench;

//! Tests against peers. `make e2e` installs them first.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail the test"
)]

mod clusters;
mod crds;
mod custom_resources;
mod deploy;
mod embedded_api;
mod example_charts;
mod images;
mod install;
mod lab;
mod machines;
mod plugins;
mod real_kubernetes;
mod releases;

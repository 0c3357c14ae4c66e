//! Tests against peers. `make e2e` installs them first.

mod crds;
mod custom_resources;
mod embedded_api;
mod example_charts;
mod plugins;
mod real_kubernetes;
mod releases;

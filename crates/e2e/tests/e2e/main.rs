//! Tests against real peers. `make e2e` installs them first.

mod boats;
mod e2e_definitions;
mod e2e_embedded;
mod e2e_examples;
mod e2e_kubernetes;
mod e2e_plugins;
mod releases;

//! `cargo xtask gen`: committed files that a program writes.

mod advisories;
mod crds;
mod deploy;
mod kubernetes;

/// Generate committed files
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Generate {
    /// The advisories about our dependencies, from a checkout of the `RustSec` database
    Advisories(advisories::Args),
    /// The custom resource definitions of our kinds, from their Rust types
    Crds(crds::Args),
    /// The generated parts of `deploy/`: roles, custom resource definitions, the plain manifest
    Deploy(deploy::Args),
    /// Facts about the pinned Kubernetes: Go types, protobuf messages, recorded answers (needs Go and real peers)
    Kubernetes(kubernetes::Args),
}

pub(crate) fn run(generate: &Generate) -> anyhow::Result<()> {
    match generate {
        Generate::Advisories(args) => advisories::run(args),
        Generate::Crds(args) => crds::run(args),
        Generate::Deploy(args) => deploy::run(args),
        Generate::Kubernetes(args) => kubernetes::run(args),
    }
}

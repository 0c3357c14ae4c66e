//! `cargo xtask gen`: committed files that are made by a program.

mod crds;
mod protobuf;

/// Make committed files anew
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Generate {
    /// The definitions of our kinds, from their Rust types
    Crds(crds::Args),
    /// The table of Kubernetes' protobuf messages and its test data, from Kubernetes' Go types (needs Go)
    Protobuf(protobuf::Args),
}

pub(crate) fn run(generate: &Generate) -> anyhow::Result<()> {
    match generate {
        Generate::Crds(args) => crds::run(args),
        Generate::Protobuf(args) => protobuf::run(args),
    }
}

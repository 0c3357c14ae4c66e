//! `cargo xtask gen`: committed files that are made by a program.

mod protobuf;

/// Make committed files anew
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Generate {
    /// The table of Kubernetes' protobuf messages and its test data, from Kubernetes' Go types (needs Go)
    Protobuf(protobuf::Args),
}

pub(crate) fn run(generate: &Generate) -> anyhow::Result<()> {
    match generate {
        Generate::Protobuf(args) => protobuf::run(args),
    }
}

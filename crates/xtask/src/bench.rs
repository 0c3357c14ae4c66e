//! `cargo xtask bench`: Outrigger beside its peers, in one run, on the same machine.

mod chart;
mod measure;

use crate::proof::Rest;
use crate::{conformance, trials};

/// Measure Outrigger beside its peers
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Bench {
    /// `chart template` against `helm template` of both majors: time and memory
    Chart(chart::Args),
    /// `apiserver` against kube-apiserver and etcd: start, memory, reads, writes, watches
    Apiserver(Rest),
    /// Plugins against `helm install` of both majors: time, memory, chains, nothing to do
    Plugins(Rest),
}

pub(crate) fn run(bench: &Bench) -> anyhow::Result<()> {
    match bench {
        Bench::Chart(args) => chart::run(args),
        Bench::Apiserver(rest) => conformance::bench(rest),
        Bench::Plugins(rest) => trials::bench(rest),
    }
}

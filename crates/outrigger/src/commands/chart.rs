//! `outrigger chart`: works on Helm charts without Helm and without a cluster.

use std::process::ExitCode;

use crate::arguments::Deferred;
use crate::printer::Printer;

mod dependency;
mod heap;
pub(super) mod host;
mod images;
mod lint;
mod package;
mod pull;
pub(super) mod push;
pub(super) mod remote;
pub(super) mod render_flags;
mod show;
pub(super) mod source;
mod template;
pub(crate) mod values;

const EXAMPLES: &str = "\
Examples:
  outrigger chart template web ./chart -f site.yaml
  outrigger chart lint ./chart
  outrigger chart show values ./chart
  outrigger chart pull oci://registry.local:5000/charts/web --version ^1.2
  outrigger chart push web-1.2.3.tgz oci://registry.local:5000/charts
  outrigger chart images ./chart -o json";

/// Render, lint, package and inspect Helm charts
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Chart {
    /// Render the templates of a chart
    Template(Deferred<template::Args>),
    /// Examine a chart for possible issues
    Lint(Deferred<lint::Args>),
    /// Print the contents of a chart
    #[command(subcommand)]
    Show(Deferred<show::Verb>),
    /// Package a chart folder into an archive
    Package(Deferred<package::Args>),
    /// List, build or update the dependencies of a chart
    #[command(subcommand, visible_alias = "dep")]
    Dependency(Deferred<dependency::Verb>),
    /// Download a chart archive from a repository or a registry
    Pull(Deferred<pull::Args>),
    /// Push a chart archive to a registry
    Push(Deferred<push::Args>),
    /// List the images of a chart, and the fields that reference them
    Images(Deferred<images::Args>),
}

/// The stack size of a chart command: templates may include each other 1000 levels deep, as in Helm. Unused pages are
/// never committed. The main thread gets this stack, not a new thread: its heap grows in larger steps.
const STACK: usize = 256 << 20;

/// The share of the stack that templates may use.
pub(super) const TEMPLATE_STACK: usize = STACK / 2;

/// Renders with the stack that templates need.
pub(super) fn on_large_stack<T>(render: impl FnOnce() -> T) -> T {
    stacker::grow(STACK, render)
}

pub(crate) fn run(chart: &Chart, printer: &Printer) -> anyhow::Result<ExitCode> {
    heap::grow_in_huge_pages();
    on_large_stack(|| match chart {
        Chart::Template(args) => template::run(args, printer),
        Chart::Lint(args) => lint::run(args, printer),
        Chart::Show(verb) => show::run(verb, printer),
        Chart::Package(args) => package::run(args, printer),
        Chart::Dependency(verb) => dependency::run(verb, printer),
        Chart::Pull(args) => pull::run(args, printer),
        Chart::Push(args) => push::run(args, printer),
        Chart::Images(args) => images::run(args, printer),
    })
}

//! Where a chart comes from, which Helm it believes to run under, and how its troubles are told.

use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;

use clap::ValueEnum;
use outrigger_chart::{Chart, Profile, open_path, parse_ahead, template_bytes};
use outrigger_gotmpl::ParseCache;

/// The Helm whose results ours are identical to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Compat {
    /// Helm 3.17
    Helm3,
    /// Helm 4.2
    #[default]
    Helm4,
}

/// The `--compat` flag.
#[derive(Debug, clap::Args)]
pub(crate) struct CompatFlag {
    /// The Helm to be identical to
    #[arg(long, value_name = "HELM", value_enum, default_value_t)]
    compat: Compat,
}

impl CompatFlag {
    pub(crate) fn profile(&self) -> Profile {
        match self.compat {
            Compat::Helm3 => Profile::Helm3,
            Compat::Helm4 => Profile::Helm4,
        }
    }
}

/// Loads a folder or an archive.
pub(crate) fn load(path: &Path, profile: Profile) -> anyhow::Result<Chart> {
    open_path(path, profile, &mut warn).map_err(plainly)
}

/// So much text is worth a second thread.
const MUCH_TEXT: usize = 128 << 10;

/// Parses the templates of a large chart on all cores.
pub(crate) fn parse_templates(chart: &Chart, profile: Profile) -> ParseCache {
    let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut parsed = ParseCache::default();
    if cores == NonZeroUsize::MIN || template_bytes(chart) < MUCH_TEXT {
        return parsed;
    }
    thread::scope(|scope| {
        let parse = |share| parse_ahead(chart, profile, share, cores);
        let others: Vec<_> = (1..cores.get())
            .map(|share| scope.spawn(move || parse(share)))
            .collect();
        parsed = parse(0);
        for other in others {
            parsed.merge(other.join().expect("a panic ends the process"));
        }
    });
    parsed
}

/// Tells a warning on stderr.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that the chart crate calls"
)]
pub(crate) fn warn(text: String) {
    tracing::warn!("{text}");
}

/// Errors of charts print as Helm prints them, causes and all in one text. Causes that Helm keeps to itself follow.
pub(crate) fn plainly(error: impl std::error::Error) -> anyhow::Error {
    let text = error.to_string();
    let mut hidden: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let told = error.to_string();
        if !text.contains(&told) && !hidden.contains(&told) {
            hidden.push(told);
        }
        cause = error.source();
    }
    let told = std::iter::once(text).chain(hidden);
    let mut told = told.collect::<Vec<_>>().into_iter().rev();
    let innermost = anyhow::Error::msg(told.next().unwrap_or_default());
    told.fold(innermost, anyhow::Error::context)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(error: &anyhow::Error) -> Vec<String> {
        error.chain().map(ToString::to_string).collect()
    }

    #[test]
    fn a_cause_that_the_text_hides_is_told_after_it() {
        let hidden = anyhow::anyhow!("a link at x").context("unable to load");
        assert_eq!(chain(&plainly(&*hidden)), ["unable to load", "a link at x"]);
        let told = anyhow::anyhow!("no such file").context("open x: no such file");
        assert_eq!(chain(&plainly(&*told)), ["open x: no such file"]);
    }
}

//! Loads charts, selects the Helm version to be compatible with, and converts errors of charts.

use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;

use clap::ValueEnum;
use outrigger_chart::{
    Chart, Error, Profile, load_path, load_path_lazily, preparse, template_bytes,
};
use outrigger_gotmpl::ParseCache;

use crate::report::{self, HintExt as _};

/// The Helm version to be compatible with.
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
    /// Helm version to be compatible with
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

/// Fails for the URL of a chart, which must be downloaded first.
fn check_local(path: &Path) -> anyhow::Result<()> {
    match path.to_str() {
        Some(url) if url.contains("://") => {
            let error =
                anyhow::anyhow!("{url} is a URL; charts are read from folders and archives");
            Err(error).hint(format!("run `outrigger chart pull {url}` first"))
        }
        _ => Ok(()),
    }
}

/// Loads a folder or an archive.
pub(crate) fn load(path: &Path, profile: Profile) -> anyhow::Result<Chart> {
    check_local(path)?;
    load_path(path, profile, &mut warn).map_err(helm_error)
}

/// As [`load`], but reads files when a template uses them. Before anything is printed, `Chart::check_reads` must be
/// called.
pub(crate) fn load_lazily(path: &Path, profile: Profile) -> anyhow::Result<Chart> {
    check_local(path)?;
    load_path_lazily(path, profile, &mut warn).map_err(helm_error)
}

/// The size of templates from which parsing on several threads is faster.
const PARALLEL_PARSE_BYTES: usize = 128 << 10;

/// Parses the templates of a large chart on all cores.
pub(crate) fn parse_templates(chart: &Chart, profile: Profile) -> ParseCache {
    let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut parsed = ParseCache::default();
    if cores == NonZeroUsize::MIN || template_bytes(chart) < PARALLEL_PARSE_BYTES {
        return parsed;
    }
    thread::scope(|scope| {
        let parse = |share| preparse(chart, profile, share, cores);
        let threads: Vec<_> = (1..cores.get())
            .map(|share| scope.spawn(move || parse(share)))
            .collect();
        parsed = parse(0);
        for thread in threads {
            parsed.merge(thread.join().expect("a panic ends the process"));
        }
    });
    parsed
}

/// Logs a warning of the chart crate.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the signature that the chart crate requires"
)]
pub(crate) fn warn(text: String) {
    tracing::warn!("{text}");
}

/// Converts an error of the chart crate. Its text is Helm's and already includes most causes; only causes that the text
/// does not contain are kept as causes.
pub(crate) fn helm_error(error: impl std::error::Error) -> anyhow::Error {
    let text = error.to_string();
    let mut hidden: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        let is_missing_file = error
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::NotFound);
        let is_told = text.contains(&message)
            || is_missing_file && text.contains("no such file or directory");
        if !is_told && !hidden.contains(&message) {
            hidden.push(message);
        }
        cause = error.source();
    }
    let messages = std::iter::once(text).chain(hidden);
    let mut messages = messages.collect::<Vec<_>>().into_iter().rev();
    let innermost = anyhow::Error::msg(messages.next().unwrap_or_default());
    messages.fold(innermost, anyhow::Error::context)
}

/// Converts an error of rendering. Helm's advice names Helm, which the user may not have.
pub(crate) fn render_error(error: &Error) -> anyhow::Error {
    let hint = match error {
        Error::Missing { .. } => "outrigger chart dependency build CHART fetches them too",
        _ => return helm_error(error),
    };
    report::hinted(helm_error(error), Some(hint.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(error: &anyhow::Error) -> Vec<String> {
        error.chain().map(ToString::to_string).collect()
    }

    #[test]
    fn keeps_only_causes_that_the_text_does_not_contain() {
        let hidden = anyhow::anyhow!("a link at x").context("unable to load");
        assert_eq!(
            chain(&helm_error(&*hidden)),
            ["unable to load", "a link at x"]
        );
        // Helm spells the errors of the operating system like Go.
        let missing = io::Error::new(io::ErrorKind::NotFound, "No such file (os error 2)");
        let missing = anyhow::Error::new(missing).context("open x: no such file or directory");
        assert_eq!(
            chain(&helm_error(&*missing)),
            ["open x: no such file or directory"]
        );
        let contained = anyhow::anyhow!("no such file").context("open x: no such file");
        assert_eq!(chain(&helm_error(&*contained)), ["open x: no such file"]);
    }
}

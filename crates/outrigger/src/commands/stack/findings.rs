//! Prints findings to stderr, and turns fatal ones into an error.

use anyhow::bail;
use outrigger_stack::Finding;
use outrigger_stack::pipeline::Outcome;

use crate::report;

/// The output of a stage, after its findings were printed.
pub(super) fn require<T>(outcome: Outcome<T>) -> anyhow::Result<T> {
    print(&outcome.findings);
    let fatal = outcome.findings.iter().filter(|it| it.is_fatal()).count();
    match outcome.output {
        Some(output) => Ok(output),
        None if fatal == 1 => bail!("a finding is fatal"),
        None => bail!("{fatal} findings are fatal"),
    }
}

fn print(findings: &[Finding]) {
    for finding in findings {
        report::note(&finding.to_string());
    }
}

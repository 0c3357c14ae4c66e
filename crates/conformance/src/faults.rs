//! Fault injection: each fault must lead to the documented error or to recovery.
#![expect(
    clippy::print_stdout,
    reason = "the outcome is the output of this command"
)]

use std::path::Path;

use anyhow::bail;

#[derive(Debug, clap::Args)]
#[group(skip)] // Its name would be that of the arguments that include these.
pub(crate) struct Args {
    /// Only faults whose name contains this text
    #[arg(long, default_value = "")]
    fault: String,
}

/// Injects the selected faults one after the other, each in an empty directory, and prints how the process handled it.
pub(crate) async fn run<F: Copy>(
    args: &Args,
    faults: &[(&str, F)],
    inject: impl AsyncFn(F, &Path) -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    let mut failed = 0;
    for (name, fault) in faults.iter().filter(|(name, _)| name.contains(&args.fault)) {
        let directory = tempfile::tempdir()?;
        match inject(*fault, directory.path()).await {
            Ok(outcome) => println!("ok      {name}: {outcome}"),
            Err(error) => {
                failed += 1;
                println!("FAILED  {name}: {error:#}");
            }
        }
    }
    if failed > 0 {
        bail!("{failed} faults are not handled");
    }
    Ok(())
}

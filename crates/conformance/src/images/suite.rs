//! The conformance suite of the OCI distribution specification, a Go program, on `outrigger registry serve`.
#![expect(
    clippy::print_stdout,
    reason = "the results are the output of this command"
)]

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::registries::Registry;
use crate::process::command;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Folder with the source of the suite: `conformance` of opencontainers/distribution-spec
    suite: PathBuf,
    /// Also push manifests whose blobs do not exist, which this registry rejects
    #[arg(long)]
    sparse: bool,
}

/// What is tested in addition to the defaults of the suite.
const FURTHER: &[&str] = &[
    "OCI_API_BLOBS_UPLOAD_CANCEL",
    "OCI_API_BLOBS_DIGEST_HEADER",
    "OCI_API_MANIFESTS_DIGEST_HEADER",
    "OCI_API_MANIFESTS_TAG_PARAM",
];

pub(crate) async fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let program = directory.path().join("suite");
    let suite = fs_err::canonicalize(&args.suite)?;
    let built = command("go")
        .args(["build", "-o"])
        .arg(&program)
        .arg(".")
        .current_dir(&suite)
        .env("CGO_ENABLED", "0")
        .status()
        .await
        .context("failed to start go")?;
    ensure!(built.success(), "the suite does not build");
    let registry = Registry::outrigger(binary, &directory.path().join("registry")).await?;
    let mut run = command(&program);
    run.current_dir(directory.path())
        .env("OCI_REGISTRY", &registry.address)
        .env("OCI_TLS", "disabled")
        .env("OCI_RESULTS_DIR", directory.path().join("results"))
        .env("OCI_DATA_SPARSE", args.sparse.to_string());
    for name in FURTHER {
        run.env(name, "true");
    }
    let output = run.output().await?;
    let text = String::from_utf8_lossy(&output.stdout);
    let summary = text
        .rfind("Summary")
        .or_else(|| text.rfind("API conformance"))
        .unwrap_or(0);
    println!("{}", &text[summary..]);
    ensure!(output.status.success(), "the conformance suite failed");
    Ok(())
}

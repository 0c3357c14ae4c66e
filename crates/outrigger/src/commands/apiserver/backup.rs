//! Copies all objects to one file, for `apiserver restore`.
//!
//! If a server uses the data folder, the copy comes from that server.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use fs_err::os::unix::fs::OpenOptionsExt as _;
use futures::StreamExt as _;
use http_body_util::BodyExt as _;
use kube::config::KubeConfigOptions;
use outrigger_apiserver::server::backup;
use outrigger_apiserver::transport::KUBECONFIG_NAME;
use outrigger_store::{Backup, OpenError, Options, Store};

use crate::commands::plugin::connect::read_kubeconfig;
use crate::commands::runtime;
use crate::plural::counted;
use crate::printer::Printer;
use crate::report::HintExt as _;

pub(super) const EXAMPLES: &str = "\
A backup has all objects, also Secrets. It does not have the credentials of the server.

Examples:
  outrigger apiserver backup --data ./data --to ./backup.redb
  outrigger apiserver restore ./backup.redb --data ./new";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Data folder of the server, which may be running
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// File to write, which must not exist
    #[arg(long = "to", value_name = "FILE")]
    file: PathBuf,
}

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    check_target(&args.file)?;
    let folder = &args.data;
    let backup = match Store::open(Options::in_existing_folder(folder)) {
        Ok(store) => store
            .backup(&args.file)
            .context("failed to write the backup")?,
        Err(OpenError::InUse { .. }) => runtime::run(download(folder, &args.file))
            .context("failed to get a backup from the running server")?,
        Err(error) => return Err(error).context("failed to open the data folder"),
    };
    printer.line(&sentence("backed up", backup, &args.file))?;
    Ok(ExitCode::SUCCESS)
}

/// Fails early if the file cannot be created.
fn check_target(path: &Path) -> anyhow::Result<()> {
    if path.try_exists().unwrap_or(true) {
        return Err(anyhow::anyhow!("{} already exists", path.display())).hint("choose a new file");
    }
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
            bail!("{} is not a folder", folder.display())
        }
        _ => Ok(()),
    }
}

/// Says what was copied, and to where.
pub(super) fn sentence(verb: &str, backup: Backup, to: &Path) -> String {
    let to = std::path::absolute(to).unwrap_or_else(|_| to.to_owned());
    let objects = counted(backup.objects, "object");
    let (revision, to) = (backup.revision, to.display());
    format!("{verb} {objects} at resourceVersion {revision} to {to}")
}

/// Gets a backup from the server that uses the folder, and wrote its kubeconfig there.
async fn download(folder: &Path, path: &Path) -> anyhow::Result<Backup> {
    let kubeconfig = read_kubeconfig(&folder.join("kubeconfig"))
        .context("failed to read the kubeconfig in the data folder")
        .hint("a server of an older version has to be stopped")?;
    let options = KubeConfigOptions {
        context: Some(KUBECONFIG_NAME.to_owned()),
        ..KubeConfigOptions::default()
    };
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    let client = kube::Client::try_from(config)?;
    let request = http::Request::get(backup::PATH).body(kube::client::Body::empty())?;
    let response = client.send(request).await?;
    if !response.status().is_success() {
        bail!("the server returned {}", response.status());
    }
    let number = |name: http::HeaderName| -> anyhow::Result<u64> {
        let value = response.headers().get(&name);
        let value = value.with_context(|| format!("the response has no header {name}"))?;
        Ok(value.to_str()?.parse()?)
    };
    let backup = Backup {
        revision: number(backup::REVISION)?,
        objects: usize::try_from(number(backup::OBJECTS)?)?,
    };
    let size = number(backup::SIZE)?;
    write(path, response.into_body(), size).await?;
    Ok(backup)
}

/// Writes the file under another name first, and renames it when it is complete.
async fn write(path: &Path, body: kube::client::Body, size: u64) -> anyhow::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{:016x}", getrandom::u64()?));
    let temporary = PathBuf::from(temporary);
    let written = download_to(&temporary, body, size).await;
    if written.is_err() {
        // The error matters more than what is left.
        let _ = fs_err::remove_file(&temporary);
        return written;
    }
    fs_err::rename(&temporary, path)?;
    Ok(())
}

async fn download_to(path: &Path, body: kube::client::Body, size: u64) -> anyhow::Result<()> {
    let mut options = fs_err::OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        file.write_all(&chunk?)?;
    }
    file.sync_all()?;
    let length = file.metadata()?.len();
    anyhow::ensure!(length == size, "the server sent {length} of {size} bytes");
    Ok(())
}

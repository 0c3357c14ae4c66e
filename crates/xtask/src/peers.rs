//! Installs peers: once for a user, however many clones and tasks ask at the same time.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, bail};
use fs_err as fs;
use outrigger_testing::peers::{self, Peer, Source};

mod build;
mod download;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Peers to install [default: all]
    names: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let wanted: Vec<Peer> = args
        .names
        .iter()
        .map(|name| Peer::named(name))
        .collect::<Result<_, _>>()?;
    install(if wanted.is_empty() {
        peers::ALL
    } else {
        &wanted
    })
}

/// Installs those that are missing. Others that ask at the same time wait here.
pub(crate) fn install(wanted: &[Peer]) -> anyhow::Result<()> {
    let cache = peers::cache()?;
    fs::create_dir_all(cache.join("peers"))?;
    let lock = fs::File::create(cache.join("peers.lock"))?;
    lock.file()
        .lock()
        .context("failed to lock the cache folder")?;
    for peer in wanted {
        if peer.installed().is_err() {
            install_one(*peer)?;
        }
        say(&format!("{}: {}", peer.name, verified_version(*peer)?));
    }
    Ok(())
}

/// Makes the binary in a scratch folder, then moves it into place in one step.
fn install_one(peer: Peer) -> anyhow::Result<()> {
    say(&format!("{peer}: installing"));
    let start = Instant::now();
    let path = peer.path()?;
    let folder = path.parent().context("a peer's path has a folder")?;
    let scratch = tempfile::tempdir_in(peers::cache()?)?;
    make(peer, scratch.path()).with_context(|| format!("failed to install {peer}"))?;
    fs::create_dir_all(folder)?;
    fs::rename(scratch.path().join(peer.name), &path)?;
    say(&format!(
        "{peer}: installed in {:.0} s",
        start.elapsed().as_secs_f64()
    ));
    Ok(())
}

/// What the binary calls itself, which must have the pinned version in it. One that lies is removed.
fn verified_version(peer: Peer) -> anyhow::Result<String> {
    let reported = peer.reported_version()?;
    if !reported.contains(peer.version) {
        fs::remove_file(peer.path()?)?;
        bail!(
            "{} calls itself {reported:?}, not {}; it is removed, try again",
            peer.name,
            peer.version
        );
    }
    Ok(reported)
}

/// Leaves the binary in the scratch folder under the peer's name.
fn make(peer: Peer, scratch: &Path) -> anyhow::Result<()> {
    match peer.source {
        Source::Python { package, release } => download::python(peer, package, release, scratch),
        Source::Go {
            package,
            modules,
            version_variable,
        } => build::go(peer, package, modules, version_variable, scratch),
        Source::Kubernetes => build::kubernetes(peer, scratch),
        Source::Cargo => build::cargo(peer, scratch),
    }
}

#[expect(clippy::print_stderr, reason = "tasks talk to the developer on stderr")]
fn say(text: &str) {
    eprintln!("{text}");
}

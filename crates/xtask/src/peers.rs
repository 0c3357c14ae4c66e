//! Installs peers once per user, even if several tasks and clones need them at the same time.

use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, bail};
use fs_err as fs;
use outrigger_peers::lab::{NEXT, RELEASES};
use outrigger_peers::{self as peers, Peer, Source};

mod build;
mod download;
mod lab;

pub(crate) use lab::install as install_release;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Peers to install, or `lab` or `lab-next`: what real clusters are made of [default: those that tests need]
    names: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let release = |name: &str| RELEASES.into_iter().find(|release| release.name == name);
    let is_peer = |name: &&String| release(name).is_none();
    let peers = args
        .names
        .iter()
        .filter(is_peer)
        .map(|name| Peer::named(name));
    let peers: Vec<Peer> = peers.collect::<Result<_, _>>()?;
    if args.names.is_empty() {
        return install(peers::ALL);
    }
    install(&peers)?;
    let mut releases = args.names.iter().filter_map(|name| release(name));
    releases.try_for_each(install_release)
}

/// Installs missing peers, two batches at a time, since each batch has single-threaded phases.
pub(crate) fn install(peers: &[Peer]) -> anyhow::Result<()> {
    fs::create_dir_all(outrigger_peers::cache()?.join("peers"))?;
    let missing = peers.iter().filter(|peer| peer.installed().is_err());
    let batches = Mutex::new(batches(missing.copied()).into_iter());
    let next = || batches.lock().ok().and_then(|mut batches| batches.next());
    let work = || std::iter::from_fn(next).try_for_each(|batch| install_batch(&batch));
    thread::scope(|scope| {
        let other = scope.spawn(work);
        let mine = work();
        let other = other.join();
        mine.and_then(|()| other.unwrap_or_else(|_| bail!("an installer thread panicked")))
    })?;
    for peer in peers {
        log(&format!("{}: {}", peer.name, verified_version(*peer)?));
    }
    Ok(())
}

/// Peers that are built together, the slowest batch first. Go programs share most of their packages.
fn batches(missing: impl Iterator<Item = Peer>) -> Vec<Vec<Peer>> {
    let (go, others): (Vec<_>, Vec<_>) = missing.partition(is_go);
    let (next, go) = go.into_iter().partition(|peer| build::is_of(NEXT, peer));
    let mut batches = vec![go, next];
    batches.extend(others.into_iter().rev().map(|peer| vec![peer]));
    batches.retain(|batch| !batch.is_empty());
    batches
}

fn is_go(peer: &Peer) -> bool {
    matches!(peer.source, Source::Go { .. } | Source::Kubernetes { .. })
}

/// Builds the binaries in a scratch directory and renames them into the cache. A lock makes other processes wait.
fn install_batch(batch: &[Peer]) -> anyhow::Result<()> {
    let first = batch.first().context("the batch is empty")?;
    let cache = peers::cache()?;
    let lock = if is_go(first) { "go" } else { first.name };
    let lock = fs::File::create(cache.join("peers").join(format!("{lock}.lock")))?;
    lock.file()
        .lock()
        .context("failed to lock the cache directory")?;
    let missing = batch.iter().filter(|peer| peer.installed().is_err());
    let batch: Vec<Peer> = missing.copied().collect();
    if batch.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = batch.iter().map(ToString::to_string).collect();
    let names = names.join(", ");
    log(&format!("{names}: installing"));
    let start = Instant::now();
    let scratch = tempfile::tempdir_in(cache)?;
    build(&batch, scratch.path()).with_context(|| format!("failed to install {names}"))?;
    for peer in &batch {
        place(*peer, scratch.path())?;
    }
    log(&format!(
        "{names}: installed in {:.0} s",
        start.elapsed().as_secs_f64()
    ));
    Ok(())
}

/// Moves what was built from the scratch directory: a binary, or the folder of a peer.
fn place(peer: Peer, scratch: &Path) -> anyhow::Result<()> {
    let built = scratch.join(peer.name);
    if matches!(peer.source, Source::Debian { .. }) {
        let folder = peer.folder()?;
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        return Ok(fs::rename(built, folder)?);
    }
    // A virtual environment contains its path, and is made in place.
    if matches!(peer.source, Source::PythonEnvironment { .. }) {
        return Ok(());
    }
    let path = peer.path()?;
    fs::create_dir_all(path.parent().context("the path of a peer has a parent")?)?;
    Ok(fs::rename(built, &path)?)
}

/// The version that the binary prints, which must contain the pinned version. Otherwise the binary is removed.
fn verified_version(peer: Peer) -> anyhow::Result<String> {
    let reported = peer.reported_version()?;
    if !reported.contains(peer.version) {
        fs::remove_file(peer.path()?)?;
        bail!(
            "{} reports version {reported:?}, not {}; it was removed, try again",
            peer.name,
            peer.version
        );
    }
    Ok(reported)
}

/// Writes the binaries to the scratch directory, named after their peers.
fn build(batch: &[Peer], scratch: &Path) -> anyhow::Result<()> {
    batch.iter().try_for_each(|peer| match peer.source {
        Source::Python { package, release } => download::python(*peer, package, release, scratch),
        Source::Cargo => build::cargo(*peer, scratch),
        Source::Debian { packages, .. } => download::debian(*peer, packages, scratch),
        Source::PythonEnvironment { package } => download::python_environment(*peer, package),
        Source::KubernetesTest { package } => build::kubernetes_test(*peer, package, scratch),
        Source::GoModule {
            package,
            version_variable,
        } => build::go_module(*peer, package, version_variable, scratch),
        Source::GoMain { source, module } => build::go_source(*peer, source, module, scratch),
        Source::Go { .. } | Source::Kubernetes { .. } => Ok(()),
    })?;
    let go: Vec<Peer> = batch.iter().filter(|peer| is_go(peer)).copied().collect();
    if go.is_empty() {
        return Ok(());
    }
    build::go(&go, scratch)
}

#[expect(clippy::print_stderr, reason = "the output of tasks goes to stderr")]
fn log(text: &str) {
    eprintln!("{text}");
}

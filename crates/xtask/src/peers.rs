//! Installs peers: once for a user, however many clones and tasks ask at the same time.

use std::path::Path;
use std::sync::Mutex;
use std::thread;
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

/// Installs those that are missing, two lots at a time: each has stretches that keep one core busy.
pub(crate) fn install(wanted: &[Peer]) -> anyhow::Result<()> {
    fs::create_dir_all(peers::cache()?.join("peers"))?;
    let missing = wanted.iter().filter(|peer| peer.installed().is_err());
    let lots = Mutex::new(lots(missing.copied()).into_iter());
    let next = || lots.lock().ok().and_then(|mut lots| lots.next());
    let work = || std::iter::from_fn(next).try_for_each(|lot| install_lot(&lot));
    thread::scope(|scope| {
        let other = scope.spawn(work);
        let mine = work();
        let others = other.join();
        mine.and_then(|()| others.unwrap_or_else(|_| bail!("an installer died")))
    })?;
    for peer in wanted {
        say(&format!("{}: {}", peer.name, verified_version(*peer)?));
    }
    Ok(())
}

/// What is made together, the longest work first: programs in Go share most of their packages.
fn lots(missing: impl Iterator<Item = Peer>) -> Vec<Vec<Peer>> {
    let (go, others): (Vec<_>, Vec<_>) = missing.partition(is_go);
    let mut lots = vec![go];
    lots.extend(others.into_iter().rev().map(|peer| vec![peer]));
    lots.retain(|lot| !lot.is_empty());
    lots
}

fn is_go(peer: &Peer) -> bool {
    matches!(peer.source, Source::Go { .. } | Source::Kubernetes { .. })
}

/// Makes the binaries in a scratch folder, then moves each into place in one step. Others who want one of them at the
/// same time wait here.
fn install_lot(lot: &[Peer]) -> anyhow::Result<()> {
    let first = lot.first().context("a lot is never empty")?;
    let cache = peers::cache()?;
    let lock = if is_go(first) { "go" } else { first.name };
    let lock = fs::File::create(cache.join("peers").join(format!("{lock}.lock")))?;
    lock.file()
        .lock()
        .context("failed to lock the cache folder")?;
    let missing = lot.iter().filter(|peer| peer.installed().is_err());
    let lot: Vec<Peer> = missing.copied().collect();
    if lot.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = lot.iter().map(ToString::to_string).collect();
    let names = names.join(", ");
    say(&format!("{names}: installing"));
    let start = Instant::now();
    let scratch = tempfile::tempdir_in(cache)?;
    make(&lot, scratch.path()).with_context(|| format!("failed to install {names}"))?;
    for peer in &lot {
        let path = peer.path()?;
        fs::create_dir_all(path.parent().context("a peer's path has a folder")?)?;
        fs::rename(scratch.path().join(peer.name), &path)?;
    }
    say(&format!(
        "{names}: installed in {:.0} s",
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

/// Leaves the binaries in the scratch folder under the peers' names.
fn make(lot: &[Peer], scratch: &Path) -> anyhow::Result<()> {
    lot.iter().try_for_each(|peer| match peer.source {
        Source::Python { package, release } => download::python(*peer, package, release, scratch),
        Source::Cargo => build::cargo(*peer, scratch),
        Source::Go { .. } | Source::Kubernetes { .. } => Ok(()),
    })?;
    let go: Vec<Peer> = lot.iter().filter(|peer| is_go(peer)).copied().collect();
    if go.is_empty() {
        return Ok(());
    }
    build::go(&go, scratch)
}

#[expect(clippy::print_stderr, reason = "tasks talk to the developer on stderr")]
fn say(text: &str) {
    eprintln!("{text}");
}

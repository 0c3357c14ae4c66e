//! Writes the advisories about our dependencies to one file, for machines that cannot reach the database.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use fs_err as fs;

use crate::advisories::{SNAPSHOT, Snapshot};
use crate::tidy;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A checkout of the `RustSec` advisory database
    database: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let root = tidy::root();
    let lock = fs::read_to_string(root.join("Cargo.lock"))?;
    let mut snapshot = Snapshot::default();
    for package in packages(&lock) {
        let folder = args.database.join("crates").join(package);
        let Ok(files) = fs::read_dir(&folder) else {
            continue; // No advisories.
        };
        for file in files {
            let path = file?.path();
            let name = path.strip_prefix(&args.database)?.display().to_string();
            let text = fs::read_to_string(&path)?;
            let text = facts(&text).with_context(|| format!("{name} has no facts"))?;
            snapshot.insert(name, text.to_owned());
        }
    }
    ensure!(!snapshot.is_empty(), "the database has no advisories");
    Ok(fs::write(root.join(SNAPSHOT), snapshot.to_string())?)
}

fn packages(lock: &str) -> BTreeSet<&str> {
    lock.lines()
        .filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))
        .collect()
}

/// The TOML block at the beginning of an advisory, without the description.
fn facts(text: &str) -> Option<&str> {
    let (facts, _) = text.strip_prefix("```toml\n")?.split_once("\n```")?;
    Some(facts)
}

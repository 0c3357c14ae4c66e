//! Checks the dependencies against the `RustSec` advisory database, or against a committed snapshot of it if it cannot be
//! reached. `cargo xtask gen advisories` writes the snapshot.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use anyhow::{Context as _, bail};
use fs_err as fs;
use outrigger_peers as peers;

use crate::process::{command, output, run};

/// The advisories about our dependencies.
pub(crate) const SNAPSHOT: &str = "crates/xtask/advisories.txt";

/// The folder that cargo-deny derives from the URL of the database.
const DATABASE: &str = "advisory-db-3157b0e258782691";

/// Before the path of each advisory in the snapshot.
const SEPARATOR: &str = "=== ";

/// The facts about each advisory by its path in the database.
#[derive(Debug, Default)]
pub(crate) struct Snapshot(BTreeMap<String, String>);

impl Snapshot {
    pub(crate) fn insert(&mut self, path: String, facts: String) {
        self.0.insert(path, facts);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let entries = text.split(SEPARATOR).skip(1).map(|entry| {
            let (path, facts) = entry.split_once('\n').context("an entry has no facts")?;
            Ok((path.to_owned(), facts.trim_end().to_owned()))
        });
        entries.collect::<anyhow::Result<_>>().map(Self)
    }

    /// Writes a database that cargo-deny can open.
    fn write(&self, database: &Path) -> anyhow::Result<()> {
        for (path, facts) in &self.0 {
            let path = database.join(path);
            fs::create_dir_all(path.parent().context("an advisory has a folder")?)?;
            fs::write(path, format!("```toml\n{facts}\n```\n\n# Advisory\n"))?;
        }
        let git = |args: &[&str]| output(command("git", database).args(args)).map(drop);
        git(&["init", "--quiet", "--initial-branch", "main"])?;
        git(&["add", "."])?;
        let name = ["-c", "user.name=snapshot", "-c", "user.email=snapshot"];
        git(&[&name[..], &["commit", "--quiet", "--message", "snapshot"]].concat())
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Advisories of https://github.com/RustSec/advisory-db (CC0-1.0) about packages in Cargo.lock.\n"
        )?;
        for (path, facts) in &self.0 {
            writeln!(f, "{SEPARATOR}{path}\n{facts}\n")?;
        }
        Ok(())
    }
}

pub(crate) fn check(root: &Path) -> anyhow::Result<()> {
    let deny = || -> anyhow::Result<_> {
        let mut deny = command(peers::CARGO_DENY.installed()?, root);
        deny.args(["--log-level", "error"]);
        Ok(deny)
    };
    let checked = output(deny()?.args(["check", "advisories"]));
    let Err(error) = checked else {
        return Ok(());
    };
    if !error
        .to_string()
        .contains("failed to fetch advisory database")
    {
        return Err(error);
    }
    let folder = tempfile::tempdir()?;
    let database = folder.path().join("databases");
    let snapshot = Snapshot::parse(&fs::read_to_string(root.join(SNAPSHOT))?)?;
    if snapshot.is_empty() {
        bail!("{SNAPSHOT} has no advisories");
    }
    fs::create_dir_all(database.join(DATABASE))?;
    snapshot.write(&database.join(DATABASE))?;
    let config = folder.path().join("deny.toml");
    fs::write(
        &config,
        format!(
            "[advisories]\ndb-path = {:?}\n",
            database.display().to_string()
        ),
    )?;
    run(deny()?
        .args(["--offline", "--config"])
        .arg(&config)
        .args(["check", "advisories"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_read_as_it_was_written() {
        let mut snapshot = Snapshot::default();
        snapshot.insert(
            "crates/a/1.md".to_owned(),
            "[advisory]\nid = \"1\"".to_owned(),
        );
        snapshot.insert(
            "crates/b/2.md".to_owned(),
            "[advisory]\nid = \"2\"".to_owned(),
        );
        let text = snapshot.to_string();
        assert_eq!(Snapshot::parse(&text).unwrap().to_string(), text);
    }
}

//! The house rules as a test: layers, file headers, file names, file sizes, README's commands.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use fs_err as fs;

mod layers;

const MAX_LINES: usize = 800;

/// Files that may be longer, and why.
const LONG_FILES: &[(&str, &str)] = &[];

/// Names that say nothing about what is in a file.
const DRAWERS: &[&str] = &[
    "common", "helper", "helpers", "manager", "misc", "util", "utils",
];

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("this crate is two folders below the root")
        .to_owned()
}

pub(crate) fn run() -> anyhow::Result<()> {
    let root = root();
    let mut findings = layers::findings(&root)?;
    findings.extend(readme_findings(&root)?);
    for path in rust_files(&root.join("crates"))? {
        let text = fs::read_to_string(&path)?;
        let name = path.strip_prefix(&root)?.display().to_string();
        findings.extend(file_findings(&name, &text));
    }
    if findings.is_empty() {
        return Ok(());
    }
    bail!("the house rules are broken:\n  {}", findings.join("\n  "));
}

fn file_findings(name: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let stem = Path::new(name)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    if DRAWERS.contains(&&*stem) {
        findings.push(format!("{name}: the name says nothing about what is in it"));
    }
    if !text.starts_with("//!") {
        findings.push(format!(
            "{name}: the first line does not say what the file is for (//!)"
        ));
    }
    let lines = text.lines().count();
    if lines > MAX_LINES && !LONG_FILES.iter().any(|(long, _)| *long == name) {
        findings.push(format!(
            "{name}: {lines} lines; split it, or give a reason in LONG_FILES"
        ));
    }
    if name.ends_with("outrigger/src/main.rs") && lines > 30 {
        findings.push(format!(
            "{name}: {lines} lines; main only starts the program"
        ));
    }
    findings
}

/// Each `make` target that the README tells must be in the Makefile.
fn readme_findings(root: &Path) -> anyhow::Result<Vec<String>> {
    let readme = fs::read_to_string(root.join("README.md"))?;
    let makefile = fs::read_to_string(root.join("Makefile"))?;
    let told = readme
        .lines()
        .filter_map(|line| line.trim().strip_prefix("make ")?.split_whitespace().next());
    let missing = told.filter(|target| {
        !makefile
            .lines()
            .any(|line| line.starts_with(&format!("{target}:")))
    });
    Ok(missing
        .map(|target| format!("README.md: `make {target}` is not in the Makefile"))
        .collect())
}

fn rust_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).context("failed to walk the sources")? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_house_rules_hold() {
        run().unwrap();
    }

    #[test]
    fn a_file_is_found_fault_with_for_its_name_header_and_length() {
        let long = format!("//! Long.\n{}", "\n".repeat(MAX_LINES));
        assert_eq!(
            file_findings("crates/a/src/utils.rs", "//! Words.\n").len(),
            1
        );
        assert_eq!(
            file_findings("crates/a/src/a.rs", "fn main() {}\n").len(),
            1
        );
        assert_eq!(file_findings("crates/a/src/a.rs", &long).len(), 1);
        assert_eq!(
            file_findings("crates/a/src/a.rs", "//! Words.\n"),
            Vec::<String>::new()
        );
    }
}

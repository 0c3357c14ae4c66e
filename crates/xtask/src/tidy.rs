//! The house rules as a test: layers, file headers, file names, file sizes, the README's commands, shared builds.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use fs_err as fs;

#[cfg(test)]
mod builds;
mod layers;

const MAX_LINES: usize = 800;

/// Files that may be longer, with reasons.
const LONG_FILES: &[(&str, &str)] = &[];

/// File names that do not describe the contents.
const VAGUE_NAMES: &[&str] = &[
    "common", "helper", "helpers", "manager", "misc", "util", "utils",
];

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("this crate is two directories below the root")
        .to_owned()
}

pub(crate) fn run() -> anyhow::Result<()> {
    let root = root();
    let mut violations = layers::violations(&root)?;
    violations.extend(readme_violations(&root)?);
    for path in rust_files(&root.join("crates"))? {
        let text = fs::read_to_string(&path)?;
        let name = path.strip_prefix(&root)?.display().to_string();
        violations.extend(file_violations(&name, &text));
    }
    if violations.is_empty() {
        return Ok(());
    }
    bail!("violated house rules:\n  {}", violations.join("\n  "));
}

fn file_violations(name: &str, text: &str) -> Vec<String> {
    let mut violations = Vec::new();
    let stem = Path::new(name)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    if VAGUE_NAMES.contains(&&*stem) {
        violations.push(format!("{name}: the name does not describe the contents"));
    }
    if !text.starts_with("//!") {
        violations.push(format!(
            "{name}: the file does not start with a //! comment"
        ));
    }
    let lines = text.lines().count();
    if lines > MAX_LINES && !LONG_FILES.iter().any(|(long, _)| *long == name) {
        violations.push(format!(
            "{name}: {lines} lines; split it, or add it to LONG_FILES with a reason"
        ));
    }
    if name.ends_with("outrigger/src/main.rs") && lines > 30 {
        violations.push(format!("{name}: {lines} lines; move code to the library"));
    }
    violations
}

/// The Makefile must have all `make` targets that the README mentions.
fn readme_violations(root: &Path) -> anyhow::Result<Vec<String>> {
    let readme = fs::read_to_string(root.join("README.md"))?;
    let makefile = fs::read_to_string(root.join("Makefile"))?;
    let targets = readme
        .lines()
        .filter_map(|line| line.trim().strip_prefix("make ")?.split_whitespace().next());
    let missing = targets.filter(|target| {
        !makefile
            .lines()
            .any(|line| line.starts_with(&format!("{target}:")))
    });
    Ok(missing
        .map(|target| format!("README.md: `make {target}` is not in the Makefile"))
        .collect())
}

fn rust_files(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).context("failed to list the sources")? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
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
    fn no_house_rule_is_violated() {
        run().unwrap();
    }

    #[test]
    fn reports_vague_names_missing_headers_and_long_files() {
        let long = format!("//! Long.\n{}", "\n".repeat(MAX_LINES));
        assert_eq!(
            file_violations("crates/a/src/utils.rs", "//! Words.\n").len(),
            1
        );
        assert_eq!(
            file_violations("crates/a/src/a.rs", "fn main() {}\n").len(),
            1
        );
        assert_eq!(file_violations("crates/a/src/a.rs", &long).len(), 1);
        assert_eq!(
            file_violations("crates/a/src/a.rs", "//! Words.\n"),
            Vec::<String>::new()
        );
    }
}

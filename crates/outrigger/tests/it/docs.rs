//! The commands in README.md and `docs/` print what the pages say.
//!
//! A fenced block ```console holds commands, which begin with `$ `, and their output. The blocks of a page run in order, in
//! one directory with the examples, on one cluster (`outrigger up`). Blocks ```yaml file=NAME are written to that directory. In
//! the output, ages, times and ports are placeholders, and a line `...` stands for any lines. Other blocks are not run.
//! Pages that use kubectl or Helm are skipped where `make e2e` has not installed them.
//! `UPDATE=1 cargo test -p outrigger docs` writes what the commands print to the pages.

use std::fmt::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use outrigger_testing::TestContext;
use outrigger_testing::peers::{HELM4, KUBECTL};

use crate::local_cluster::LocalCluster;

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

/// The cluster of a page.
struct Session(LocalCluster);

impl Session {
    fn start() -> Self {
        let cluster = LocalCluster::start();
        let directory = cluster.context.directory();
        symlink(root().join("examples"), directory.join("examples")).unwrap();
        symlink(root().join("deploy"), directory.join("deploy")).unwrap();
        fs_err::create_dir(directory.join("bin")).unwrap();
        for (peer, name) in [(KUBECTL, "kubectl"), (HELM4, "helm")] {
            if let Ok(path) = peer.installed() {
                symlink(path, directory.join("bin").join(name)).unwrap();
            }
        }
        Self(cluster)
    }

    fn run(&self, command: &str) -> String {
        let directory = self.0.context.directory();
        let binaries = Path::new(env!("CARGO_BIN_EXE_outrigger")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{}/bin:{path}", binaries.display(), directory.display());
        let shell = TestContext::new("/bin/sh").unwrap();
        let mut shell = shell.command(["-c", command]);
        self.0
            .output(shell.current_dir(directory).env("PATH", path))
    }
}

/// Whether the lines are as expected, where a line `...` stands for any lines.
fn matches(expected: &[&str], lines: &[&str]) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((&"...", rest)) => (0..=lines.len()).any(|skip| matches(rest, &lines[skip..])),
        Some((expected, rest)) => lines
            .split_first()
            .is_some_and(|(line, lines)| expected == line && matches(rest, lines)),
    }
}

/// A fenced block of a page.
struct Block<'a> {
    info: &'a str,
    lines: Vec<&'a str>,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let content = lines.by_ref().take_while(|line| *line != "```");
            blocks.push(Block {
                info,
                lines: content.collect(),
            });
        }
    }
    blocks
}

/// The commands of a block, each with the lines of its output.
fn commands<'a>(block: &Block<'a>) -> Vec<(String, Vec<&'a str>)> {
    let mut commands: Vec<(String, Vec<&str>)> = Vec::new();
    for line in &block.lines {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.to_owned(), Vec::new())),
            (None, Some((command, output))) if command.ends_with('\\') && output.is_empty() => {
                command.push('\n');
                command.push_str(line);
            }
            (None, Some((_, output))) => output.push(line),
            (None, None) => panic!("a block begins with output: {line}"),
        }
    }
    commands
}

/// Whether a page runs kubectl or Helm, which only `make e2e` installs.
fn needs_missing_peer(blocks: &[Block<'_>]) -> bool {
    let lines = || blocks.iter().flat_map(|block| &block.lines);
    [("$ kubectl ", KUBECTL), ("$ helm ", HELM4)]
        .into_iter()
        .any(|(start, peer)| {
            peer.installed().is_err() && lines().any(|line| line.starts_with(start))
        })
}

/// The differences between a page and what its commands print.
fn differences(path: &Path) -> String {
    let page = fs_err::read_to_string(path).unwrap();
    let blocks = blocks(&page);
    if !blocks.iter().any(|block| block.info == "console") || needs_missing_peer(&blocks) {
        return String::new();
    }
    let session = Session::start();
    let mut updated = page.clone();
    let mut differences = format!("{}:\n", path.display());
    let heading = differences.len();
    for block in &blocks {
        if let Some((_, file)) = block.info.split_once("file=") {
            let text = format!("{}\n", block.lines.join("\n"));
            session.0.context.write(file, text).unwrap();
        }
        if block.info != "console" {
            continue;
        }
        for (command, expected) in commands(block) {
            let output = session.run(&command);
            let lines: Vec<&str> = output.lines().collect();
            if !matches(&expected, &lines) {
                let expected = expected.join("\n");
                let shown =
                    |output: &str| format!("{}\n", format!("$ {command}\n{output}").trim_end());
                updated = updated.replacen(&shown(&expected), &shown(output.trim_end()), 1);
                writeln!(
                    differences,
                    "$ {command}\n--- page\n{expected}\n--- printed\n{output}"
                )
                .unwrap();
            }
        }
    }
    if differences.len() == heading {
        return String::new();
    }
    if std::env::var_os("UPDATE").is_some() {
        fs_err::write(path, updated).unwrap();
    }
    differences
}

#[test]
fn an_ellipsis_stands_for_any_lines() {
    assert!(matches(&["a", "...", "z"], &["a", "b", "c", "z"]));
    assert!(!matches(&["a", "z"], &["a", "b", "z"]));
}

#[test]
fn the_readme_prints_what_it_says() {
    let differences = differences(&root().join("README.md"));
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn the_pages_of_docs_print_what_they_say() {
    let entries = fs_err::read_dir(root().join("docs")).unwrap();
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|end| end == "md"));
    pages.sort();
    assert!(pages.len() >= 10, "{pages:?}");
    // Each page has its own cluster.
    let check =
        |pages: &[PathBuf]| -> String { pages.iter().map(|page| differences(page)).collect() };
    let (first, second) = pages.split_at(pages.len() / 2);
    let differences = std::thread::scope(|scope| {
        let second = scope.spawn(|| check(second));
        check(first) + &second.join().unwrap()
    });
    assert!(differences.is_empty(), "{differences}");
}

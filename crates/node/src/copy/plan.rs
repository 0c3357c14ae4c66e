//! What a machine has, and what must be done about it: pure functions.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;

use super::tree::{File, Misled, Tree};
use super::{CopyError, CopyReport};
use crate::RunError;
use crate::shell::quote_all;
use crate::trust::{TRUST, ancestors};

/// Paths in one command of the machine: below the limit of an argument list.
const PATHS_PER_COMMAND: usize = 500;

const COMPARE: &str = include_str!("compare.sh");

/// What is to be done.
#[derive(Debug, Default)]
pub(super) struct Plan<'a> {
    /// The process that waits for the archive.
    process: u32,
    /// Part of the names of staging folders, so that nobody can create them before.
    token: &'a str,
    /// Folders to which all users may add files.
    shared: BTreeSet<&'a str>,
    /// Missing folders of the tree and those that lead to it, parents first.
    pub(super) new_folders: Vec<(&'a str, u32)>,
    pub(super) send: Vec<(&'a str, &'a File)>,
    pub(super) modes: Vec<(&'a str, u32)>,
    pub(super) unchanged: usize,
}

/// The program that compares and then installs.
pub(super) fn program(tree: &Tree) -> String {
    let folders = folders(tree).into_keys().collect();
    let files: Vec<&str> = tree.files().keys().map(String::as_str).collect();
    let mut parents: Vec<&str> = files.iter().map(|file| parent(file)).collect();
    parents.extend(tree.folders().keys().next().map(|folder| parent(folder)));
    parents.sort_unstable();
    parents.dedup();
    let lists = [("folders", folders), ("files", files), ("parents", parents)];
    let lists: String = lists
        .iter()
        .map(|(name, paths)| function(name, paths))
        .collect();
    format!("{TRUST}{lists}{COMPARE}")
}

/// The folders of the tree with their modes, and those that lead to them.
pub(super) fn folders(tree: &Tree) -> BTreeMap<&str, u32> {
    let paths = tree.folders().keys().chain(tree.files().keys());
    let mut folders: BTreeMap<&str, u32> = paths
        .flat_map(|path| ancestors(path))
        .map(|folder| (folder, 0o755))
        .collect();
    folders.extend(
        tree.folders()
            .iter()
            .map(|(path, mode)| (path.as_str(), *mode)),
    );
    folders
}

/// A function that runs its arguments as a command with the paths.
pub(super) fn function(name: &str, paths: &[&str]) -> String {
    let mut text = format!("{name}() {{\n:\n");
    for chunk in paths.chunks(PATHS_PER_COMMAND) {
        let paths = quote_all(chunk.iter().copied());
        text.push_str(&format!("\"$@\" {paths}\n"));
    }
    text.push_str("}\n");
    text
}

/// The folder of a destination.
pub(super) fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((parent, _)) => parent,
    }
}

/// Compares the tree with the answer of the machine.
pub(super) fn plan<'a>(
    tree: &'a Tree,
    answer: &'a str,
    machine: &str,
) -> Result<Plan<'a>, CopyError> {
    let unexpected = || RunError::UnexpectedAnswer {
        machine: machine.to_owned(),
        answer: answer.chars().take(200).collect(),
    };
    let mut lines = answer.lines();
    let (process, user, token) = lines.next().and_then(header).ok_or_else(unexpected)?;
    let mut plan = Plan {
        process,
        token,
        ..Plan::default()
    };
    let mut lines = lines.peekable();
    if let Some(reason) = lines
        .peek()
        .and_then(|line| line.strip_prefix("untrusted "))
    {
        return Err(CopyError::Untrusted {
            machine: machine.to_owned(),
            reason: reason.to_owned(),
        });
    }
    require_outside_of_system(tree, &links(&mut lines), machine)?;
    let folders = folders(tree);
    let count = folders.len() + tree.files().len();
    let kinds: Vec<&str> = lines.by_ref().take(count).collect();
    if kinds.len() != count {
        return Err(unexpected().into());
    }
    let (folder_kinds, file_kinds) = kinds.split_at(folders.len());
    for ((path, mode), kind) in folders.into_iter().zip(folder_kinds) {
        match *kind {
            "d" => {}
            "s" => drop(plan.shared.insert(path)),
            "n" => plan.new_folders.push((path, mode)),
            kind => return Err(occupied(machine, path, kind, "a folder")),
        }
    }
    let present = present(lines, file_kinds, user);
    compare_files(tree, file_kinds, &present, machine, &mut plan)?;
    Ok(plan)
}

/// The links among the folders of a machine, with their real paths.
pub(super) fn links<'a>(
    lines: &mut Peekable<impl Iterator<Item = &'a str>>,
) -> BTreeMap<&'a str, &'a str> {
    let mut links = BTreeMap::new();
    while let Some(link) = lines.peek().and_then(|line| line.strip_prefix("link ")) {
        lines.next();
        if let Some(target) = lines.peek().and_then(|line| line.strip_prefix("to ")) {
            lines.next();
            links.insert(link, target);
        }
    }
    links
}

/// Fails if the links of the machine lead to where the files must not go.
pub(super) fn require_outside_of_system(
    tree: &Tree,
    links: &BTreeMap<&str, &str>,
    machine: &str,
) -> Result<(), CopyError> {
    let misled = tree.misled(links);
    misled.map_or(Ok(()), |Misled { destination, real }| {
        Err(CopyError::SystemPath {
            machine: machine.to_owned(),
            path: destination,
            real,
        })
    })
}

/// The process, its user, and a random text.
fn header(line: &str) -> Option<(u32, &str, &str)> {
    let mut words = line.split(' ');
    let process = words.next()?.parse().ok()?;
    let (user, token) = (words.next()?, words.next()?);
    let is_name = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    (is_name(user) && is_name(token)).then_some((process, user, token))
}

/// A regular file of the machine.
struct Present<'a> {
    digest: &'a str,
    mode: u32,
    /// Whether it belongs to the user who copies. Others could change it later.
    is_own: bool,
}

/// The regular files, in order. Empty if files changed in between: then all are sent.
fn present<'a>(
    lines: impl Iterator<Item = &'a str>,
    kinds: &[&str],
    user: &str,
) -> Vec<Present<'a>> {
    let (mut digests, mut modes) = (Vec::new(), Vec::new());
    for line in lines {
        if let Some(mode) = line.strip_prefix("mode ") {
            let (mode, owner) = mode.split_once(' ').unwrap_or((mode, ""));
            let mode = u32::from_str_radix(mode, 8).unwrap_or(u32::MAX);
            modes.push((mode, owner == user));
        } else if let Some((digest, _)) = line.split_once(' ') {
            digests.push(digest);
        }
    }
    let count = kinds.iter().filter(|kind| **kind == "f").count();
    if digests.len() != count || modes.len() != count {
        return Vec::new();
    }
    let files = digests.into_iter().zip(modes);
    files
        .map(|(digest, (mode, is_own))| Present {
            digest,
            mode,
            is_own,
        })
        .collect()
}

fn compare_files<'a>(
    tree: &'a Tree,
    kinds: &[&str],
    present: &[Present<'_>],
    machine: &str,
    plan: &mut Plan<'a>,
) -> Result<(), CopyError> {
    let mut present = present.iter();
    for ((path, file), kind) in tree.files().iter().zip(kinds) {
        let found = match *kind {
            "f" => present.next(),
            "n" | "l" => None,
            kind => return Err(occupied(machine, path, kind, "a file")),
        };
        match found.filter(|found| found.is_own && found.digest == file.digest) {
            Some(found) if found.mode == file.mode => plan.unchanged += 1,
            Some(_) => plan.modes.push((path, file.mode)),
            None => plan.send.push((path, file)),
        }
    }
    Ok(())
}

fn occupied(machine: &str, path: &str, kind: &str, wanted: &'static str) -> CopyError {
    let found = match kind {
        "d" | "s" => "a folder",
        "f" => "a file",
        "l" => "a link that leads to no folder",
        _ => "neither a file nor a folder",
    };
    CopyError::Occupied {
        machine: machine.to_owned(),
        path: path.to_owned(),
        found,
        wanted,
    }
}

impl Plan<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.new_folders.is_empty() && self.send.is_empty() && self.modes.is_empty()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.send.iter().map(|(_, file)| file.size).sum()
    }

    pub(super) fn report(&self) -> CopyReport {
        CopyReport {
            transferred: self.send.len(),
            bytes: self.bytes(),
            modes_changed: self.modes.len(),
            unchanged: self.unchanged,
        }
    }

    /// The name of the staging folder next to a destination.
    pub(super) fn stage(&self) -> String {
        format!(".outrigger-copy.{}.{}", self.token, self.process)
    }

    /// The staging folder next to a destination.
    fn stage_folder(&self, destination: &str) -> String {
        let parent = parent(destination).trim_end_matches('/');
        format!("{parent}/{}", self.stage())
    }

    /// Where a file waits until all files have arrived.
    pub(super) fn staged(&self, destination: &str) -> String {
        let name = destination.rsplit('/').next().unwrap_or_default();
        format!("{}/{name}", self.stage_folder(destination))
    }

    /// All staging folders.
    pub(super) fn stage_folders(&self) -> BTreeSet<String> {
        let staged = self.send.iter().map(|(path, _)| self.stage_folder(path));
        staged.chain([self.control_folder()]).collect()
    }

    /// The folders that are created where all users may do so. They must not exist.
    pub(super) fn created_in_shared(&self) -> Vec<String> {
        let new = self.new_folders.iter().map(|(path, _)| (*path).to_owned());
        let mut folders: Vec<String> = new.chain(self.stage_folders()).collect();
        folders.retain(|folder| self.shared.contains(parent(folder)));
        folders
    }

    /// The missing folders whose parents exist. All others are below them.
    pub(super) fn topmost_new_folders(&self) -> Vec<&str> {
        let new: BTreeSet<&str> = self.new_folders.iter().map(|(path, _)| *path).collect();
        let topmost = new.iter().filter(|path| !new.contains(parent(path)));
        topmost.copied().collect()
    }

    /// The folder of everything that is written.
    pub(super) fn common_folder(&self) -> &str {
        let mut paths = self.send.iter().map(|(path, _)| parent(path));
        let Some(first) = paths.next() else {
            return "/";
        };
        paths.fold(first, |mut folder, path| {
            while path != folder && !path.starts_with(&format!("{folder}/")) && folder != "/" {
                folder = parent(folder);
            }
            folder
        })
    }

    /// A folder for what is not a file of the tree.
    pub(super) fn control_folder(&self) -> String {
        let folders = self.new_folders.iter().map(|(path, _)| *path);
        let modes = self.modes.iter().map(|(path, _)| *path);
        let mut paths = self
            .send
            .iter()
            .map(|(path, _)| *path)
            .chain(modes)
            .chain(folders);
        let parent = paths.next().map_or("/", parent).trim_end_matches('/');
        format!(
            "{parent}/.outrigger-copy.{}.control.{}",
            self.token, self.process
        )
    }

    /// The script that checks the staged files and moves them. `list` has their digests.
    pub(super) fn install_script(&self, list: &str) -> String {
        let mut script = String::new();
        if !self.send.is_empty() {
            script.push_str(&format!("try sha256sum -c {}\n", quote_all([list])));
        }
        let mut rest = self.send.as_slice();
        while let Some((first, _)) = rest.first() {
            let folder = parent(first);
            let end = rest
                .iter()
                .take(PATHS_PER_COMMAND)
                .take_while(|(path, _)| parent(path) == folder);
            let (group, others) = rest.split_at(end.count());
            let staged: Vec<String> = group.iter().map(|(path, _)| self.staged(path)).collect();
            let staged = quote_all(staged.iter().map(String::as_str));
            script.push_str(&format!("try mv -f -- {staged} {}\n", quote_all([folder])));
            rest = others;
        }
        for (path, mode) in &self.modes {
            script.push_str(&format!("try chmod {mode:o} {}\n", quote_all([*path])));
        }
        script
    }

    /// The input of `sha256sum -c`.
    pub(super) fn digest_list(&self) -> String {
        let lines = self.send.iter();
        lines
            .map(|(path, file)| format!("{}  {}\n", file.digest, self.staged(path)))
            .collect()
    }
}

#[cfg(test)]
mod tests;

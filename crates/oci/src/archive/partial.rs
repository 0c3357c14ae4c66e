//! Files that are being written: beside their targets, which they become when they are complete.
//!
//! A file is locked as long as it is written. What a process that was killed left behind is not, and the next one that writes
//! the same target removes it.

use std::fs::TryLockError;
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// The end of the names of such files, after `.NAME.` and random letters.
const SUFFIX: &str = ".partial";

/// The longest part of the name of a target that is used. A name has 255 bytes.
const MAX_NAME: usize = 200;

/// The random letters of a name.
const RANDOM: usize = 6;

/// The shortest digest in hexadecimal.
const MIN_DIGEST: usize = 64;

/// How often a file is created that another process removes before it is locked.
const ATTEMPTS: usize = 16;

/// A file beside a target. Unlike other temporary files, others may read it if the user's umask allows it.
pub(super) fn create(target: &Path) -> io::Result<NamedTempFile> {
    use std::os::unix::fs::PermissionsExt as _;
    let prefix = prefix_of(target);
    for _ in 0..ATTEMPTS {
        let permissions = std::fs::Permissions::from_mode(0o666);
        let created = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(SUFFIX)
            .rand_bytes(RANDOM)
            .permissions(permissions)
            .tempfile_in(folder_of(target))?;
        // Not every file system has locks. Without, nothing is removed.
        let is_taken = matches!(created.as_file().try_lock(), Err(TryLockError::WouldBlock));
        if !is_taken && created.path().exists() {
            return Ok(created);
        }
    }
    Err(io::Error::other(
        "other processes remove its temporary files",
    ))
}

/// Removes what processes that were killed left of a target.
pub(super) fn remove_leftovers(target: &Path) -> io::Result<()> {
    let prefix = prefix_of(target);
    remove_all(folder_of(target), &|name| {
        name.strip_prefix(&prefix).is_some_and(is_random)
    })
}

/// Removes what processes that were killed left of the blobs in a folder, whose names are digests.
pub(super) fn remove_leftover_blobs(folder: &Path) -> io::Result<()> {
    remove_all(folder, &|name| {
        let parts = name.strip_prefix('.').and_then(|name| name.split_once('.'));
        let is_digest =
            |hex: &str| hex.len() >= MIN_DIGEST && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        parts.is_some_and(|(digest, rest)| is_digest(digest) && is_random(rest))
    })
}

/// Whether this is what follows the name of the target: random letters.
fn is_random(rest: &str) -> bool {
    rest.len() == RANDOM && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Removes the files that no process writes, of those whose names are ours without the suffix.
fn remove_all(folder: &Path, is_ours: &dyn Fn(&str) -> bool) -> io::Result<()> {
    let entries = match fs_err::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let is_partial = |name: &str| name.strip_suffix(SUFFIX).is_some_and(is_ours);
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !is_file || !name.to_str().is_some_and(is_partial) {
            continue;
        }
        // It may be gone, or belong to somebody else: it stays then.
        let Ok(file) = fs_err::File::open(entry.path()) else {
            continue;
        };
        if file.file().try_lock().is_ok() {
            let _ = fs_err::remove_file(entry.path());
        }
    }
    Ok(())
}

fn prefix_of(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name
        .char_indices()
        .take_while(|(at, character)| at + character.len_utf8() <= MAX_NAME)
        .map(|(_, character)| character)
        .collect();
    format!(".{name}.")
}

pub(super) fn folder_of(target: &Path) -> &Path {
    let folder = target.parent();
    folder
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or_else(|| Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs_err::read_dir(folder).unwrap();
        let name = |entry: io::Result<fs_err::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> = entries
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.tar");
        let written = create(&target).unwrap();
        for (name, is_removed) in [
            (".a.tar.Ab1234.partial", true),
            (".b.tar.Ab1234.partial", false),
            (".a.tar.mine.partial", false),
            ("a.tar.partial", false),
            (".a.tar.swp", false),
        ] {
            let path = folder.path().join(name);
            fs_err::write(&path, "x").unwrap();
            remove_leftovers(&target).unwrap();
            assert_eq!(!path.exists(), is_removed, "{name}");
        }
        assert!(written.path().exists(), "it is locked");
        let blob = format!(".{}.Ab1234.partial", "0".repeat(64));
        fs_err::write(folder.path().join(blob), "x").unwrap();
        remove_leftover_blobs(folder.path()).unwrap();
        written.persist(&target).unwrap();
        let kept = [
            ".a.tar.mine.partial",
            ".a.tar.swp",
            ".b.tar.Ab1234.partial",
            "a.tar",
            "a.tar.partial",
        ];
        assert_eq!(names(folder.path()), kept);
        remove_leftovers(&folder.path().join("gone/a.tar")).unwrap();
    }

    #[test]
    fn a_file_that_is_dropped_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let long = folder.path().join("ä".repeat(120));
        drop(create(&long).unwrap());
        assert!(names(folder.path()).is_empty());
    }
}

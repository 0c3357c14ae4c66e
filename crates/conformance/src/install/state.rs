//! What an installation leaves: files, content of the registry, what hooks wrote.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use outrigger_oci::Digest;

/// Folders of the data folder that are the same after each installation.
const FOLDERS: &[&str] = &["files", "hooks", "registry/repositories", "registry/blobs"];

/// Digests of all files by their paths, and what hooks wrote.
pub(super) fn end_state(data: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let mut state = BTreeMap::new();
    for folder in FOLDERS {
        for path in files(&data.join(folder))? {
            let name = path.strip_prefix(data)?.display().to_string();
            let digest = Digest::of(&fs_err::read(&path)?);
            state.insert(name, digest.to_string());
        }
    }
    let log = fs_err::read_to_string(data.join("hooks.log"))?;
    state.insert("hooks.log".to_owned(), log);
    let machine = data.join("machines/machine-127-0-81-1");
    let config = fs_err::read_to_string(machine.join("etc/site.conf"))?;
    state.insert("site.conf".to_owned(), config);
    let mode = fs_err::metadata(data.join("share/admin.kubeconfig"))?.mode();
    state.insert("kubeconfig".to_owned(), format!("{:o}", mode & 0o777));
    Ok(state)
}

/// The inodes of complete blobs: one that is written again has another one.
pub(super) fn blobs(data: &Path) -> anyhow::Result<BTreeMap<PathBuf, u64>> {
    let paths = files(&data.join("registry/blobs"))?;
    let inodes = paths.into_iter().map(|path| {
        let inode = fs_err::metadata(&path)?.ino();
        Ok((path, inode))
    });
    inodes.collect()
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        if !folder.exists() {
            continue;
        }
        for entry in fs_err::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                left.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

//! The folder of a plugin: all that it can read. Paths that lead elsewhere are refused, also through links.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

/// Files larger than this are not read.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The files of a plugin, on disk or in the binary.
#[derive(Debug, Clone)]
pub enum Folder {
    Disk(PathBuf),
    Embedded(BTreeMap<&'static str, &'static str>),
}

/// Why a file of a plugin cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("{0:?} is outside of the plugin's folder")]
    Outside(String),
    #[error("{0:?} does not exist in the plugin's folder")]
    Missing(String),
    #[error("{0:?} is larger than 64 MiB or not a regular file")]
    Unsuitable(String),
    #[error("failed to read {path:?} of the plugin")]
    Read { path: String, source: io::Error },
}

impl Folder {
    /// Reads a file, by its path relative to the folder.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, FolderError> {
        if !is_inside(path) {
            return Err(FolderError::Outside(path.to_owned()));
        }
        match self {
            Self::Embedded(files) => {
                let file = files
                    .get(path)
                    .ok_or_else(|| FolderError::Missing(path.to_owned()));
                file.map(|text| text.as_bytes().to_vec())
            }
            Self::Disk(root) => read_from_disk(root, path),
        }
    }
}

/// Whether a path has only plain components.
fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && Path::new(path)
            .components()
            .all(|component| matches!(component, Component::Normal(_)))
}

fn read_from_disk(root: &Path, path: &str) -> Result<Vec<u8>, FolderError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => FolderError::Missing(path.to_owned()),
        _ => FolderError::Read {
            path: path.to_owned(),
            source,
        },
    };
    let root = fs_err::canonicalize(root).map_err(failed)?;
    let file = fs_err::canonicalize(root.join(path)).map_err(failed)?;
    if !file.starts_with(&root) {
        return Err(FolderError::Outside(path.to_owned()));
    }
    // The metadata is checked first, because opening a pipe would block.
    let metadata = fs_err::metadata(&file).map_err(failed)?;
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return Err(FolderError::Unsuitable(path.to_owned()));
    }
    let mut bytes = Vec::new();
    let file = fs_err::File::open(&file).map_err(failed)?;
    file.take(MAX_FILE_BYTES)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_reads_only_its_own_folder() {
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("plugin");
        fs_err::create_dir_all(root.join("files")).unwrap();
        fs_err::write(parent.path().join("secret"), "s").unwrap();
        fs_err::write(root.join("files/a"), "a").unwrap();
        fs_err::os::unix::fs::symlink("../secret", root.join("link")).unwrap();
        let folder = Folder::Disk(root);
        assert_eq!(folder.read("files/a").unwrap(), b"a");
        for path in ["../secret", "files/../../secret", "/etc/passwd", "link", ""] {
            assert!(
                matches!(folder.read(path), Err(FolderError::Outside(_))),
                "{path}"
            );
        }
        assert!(matches!(folder.read("gone"), Err(FolderError::Missing(_))));
        assert!(matches!(
            folder.read("files"),
            Err(FolderError::Unsuitable(_))
        ));
    }
}

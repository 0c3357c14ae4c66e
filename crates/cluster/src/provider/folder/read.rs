//! Reads provider folders.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::{Content, Folder, INDEX, IndexError};

/// Why a folder cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("failed to read {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{} is neither a regular file nor a folder", .0.display())]
    Special(PathBuf),
    #[error("the name of {} is not UTF-8", .0.display())]
    Name(PathBuf),
    #[error("invalid provider folder {}", path.display())]
    Index {
        path: PathBuf,
        #[source]
        source: IndexError,
    },
}

/// The index of a folder.
pub fn read_index(root: &Path) -> Result<Folder, ReadError> {
    let path = root.join(INDEX);
    let text = fs_err::read(&path).map_err(|source| ReadError::Io {
        path: path.clone(),
        source,
    })?;
    Folder::parse(&text).map_err(|source| ReadError::Index {
        path: root.to_owned(),
        source,
    })
}

/// All files of a folder, by their paths in it.
pub fn read_files(root: &Path) -> Result<BTreeMap<String, Content>, ReadError> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |source| ReadError::Io {
            path: folder.clone(),
            source,
        };
        for entry in fs_err::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                let (name, content) = read_file(root, &entry.path())?;
                files.insert(name, content);
            } else {
                return Err(ReadError::Special(entry.path()));
            }
        }
    }
    Ok(files)
}

fn read_file(root: &Path, path: &Path) -> Result<(String, Content), ReadError> {
    let failed = |source| ReadError::Io {
        path: path.to_owned(),
        source,
    };
    let name = path.strip_prefix(root).unwrap_or(path).to_str();
    let name = name.ok_or_else(|| ReadError::Name(path.to_owned()))?;
    let mut file = fs_err::File::open(path).map_err(failed)?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    let mut size = 0;
    loop {
        let read = file.read(&mut buffer).map_err(failed)?;
        if read == 0 {
            break;
        }
        digest.update(&buffer[..read]);
        size += read as u64;
    }
    let digest = digest.finalize();
    let content = Content {
        size,
        sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    Ok((name.to_owned(), content))
}

//! The files of a package, with their digests, and where their content is.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use outrigger_oci::{Algorithm, Digest};

use super::{Error, is_image_archive};
use crate::archive::PIECE;
use crate::lock::LockedFile;
use crate::scan::{self, Entry, Scanned};

/// A file of a package that is built.
#[derive(Debug, Clone)]
pub(crate) struct PlannedFile {
    pub(crate) locked: LockedFile,
    pub(crate) content: FileContent,
}

/// Where the content of a file is.
#[derive(Debug, Clone)]
pub(crate) enum FileContent {
    Bytes(Vec<u8>),
    /// A file whose content has the digest of the lock.
    Path(PathBuf),
}

/// The files of a folder without the archive of its images.
pub(crate) fn of_folder(folder: &Path, scanned: Scanned) -> Result<Vec<PlannedFile>, Error> {
    let mut files = Vec::new();
    let paths: Vec<String> = scanned.entries.keys().cloned().collect();
    let is_archive = |path: &str| is_image_archive(&scanned, path);
    let kept: Vec<bool> = paths.iter().map(|path| !is_archive(path)).collect();
    for ((path, entry), is_kept) in scanned.entries.into_iter().zip(kept) {
        if let Entry::File(file) = entry
            && is_kept
        {
            files.push(plan_file(folder, path, file)?);
        }
    }
    Ok(files)
}

fn plan_file(folder: &Path, path: String, file: scan::File) -> Result<PlannedFile, Error> {
    let mode = mode_of(&path, file.mode);
    let (digest, size, content) = match file.content {
        scan::Content::Bytes(bytes) => {
            let size = bytes.len() as u64;
            (Digest::of(&bytes), size, FileContent::Bytes(bytes))
        }
        scan::Content::NotRead | scan::Content::TooLarge => {
            let on_disk = folder.join(&path);
            let described = digest_of(&on_disk);
            let (digest, size) = described.map_err(|source| Error::Io {
                path: on_disk.clone(),
                source,
            })?;
            (digest, size, FileContent::Path(on_disk))
        }
    };
    let locked = LockedFile {
        path,
        mode,
        size,
        digest,
        in_base: false,
    };
    Ok(PlannedFile { locked, content })
}

/// Files for machines keep their permissions, because machines get them. Others are executable or not, whatever the umask
/// was.
fn mode_of(path: &str, mode: u32) -> u32 {
    if path.starts_with("files/") {
        mode & 0o777
    } else if mode & 0o111 != 0 {
        0o755
    } else {
        0o644
    }
}

/// The digest and the size of a file.
pub(crate) fn digest_of(path: &Path) -> io::Result<(Digest, u64)> {
    let mut file = fs_err::File::open(path)?;
    let mut hasher = Algorithm::Sha256.hasher();
    let (mut buffer, mut size) = (vec![0; PIECE], 0);
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((hasher.finish(), size));
        }
        hasher.update(&buffer[..read]);
        size += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_for_machines_keep_their_permissions() {
        assert_eq!(mode_of("files/etc/secret", 0o600), 0o600);
        assert_eq!(mode_of("files/run", 0o2750), 0o750);
        assert_eq!(mode_of("hooks/pre-install", 0o700), 0o755);
        assert_eq!(mode_of("hooks/pre-install", 0o775), 0o755);
        assert_eq!(mode_of("expansion.yaml", 0o600), 0o644);
        assert_eq!(mode_of("charts/web/Chart.yaml", 0o664), 0o644);
    }
}

//! Where a package is written: temporary files beside the target, which get their names when everything is written and on disk.

use std::io::{self, Seek as _, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use outrigger_oci::{Algorithm, Digest, Hasher};
use tempfile::NamedTempFile;

use super::chunk::{ChunkHeader, HEADER, MAX_CHUNKS};
use super::outdated::remove_outdated_chunks;

/// The files that a package is written to.
#[derive(Debug)]
pub(super) struct Output {
    target: PathBuf,
    folder: PathBuf,
    /// The most bytes of a chunk after its header. `None` is one file.
    chunk_content: Option<u64>,
    files: Vec<OutputFile>,
}

#[derive(Debug)]
struct OutputFile {
    file: NamedTempFile,
    hasher: Hasher,
    size: u64,
}

impl Output {
    /// Begins a package. Nothing has the name of the target until `finish`.
    pub(super) fn create(target: &Path, chunk_size: Option<u64>) -> io::Result<Self> {
        let mut output = Self {
            target: target.to_owned(),
            folder: folder_of(target).to_owned(),
            chunk_content: chunk_size.map(|size| size.saturating_sub(HEADER as u64).max(1)),
            files: Vec::new(),
        };
        output.next_file()?;
        Ok(output)
    }

    fn next_file(&mut self) -> io::Result<()> {
        if self.files.len() >= MAX_CHUNKS as usize {
            let message = format!("the package would have more than {MAX_CHUNKS} chunks");
            return Err(io::Error::other(message));
        }
        let mut file = temporary_file(&self.folder)?;
        if self.chunk_content.is_some() {
            file.write_all(&[b' '; HEADER])?;
        }
        self.files.push(OutputFile {
            file,
            hasher: Algorithm::Sha256.hasher(),
            size: 0,
        });
        Ok(())
    }

    /// Completes the headers of chunks, and gives all files their names. Returns them.
    pub(super) fn finish(mut self, package: &Digest) -> io::Result<Vec<PathBuf>> {
        let is_chunked = self.chunk_content.is_some();
        let count = u32::try_from(self.files.len()).map_err(io::Error::other)?;
        let mut complete = Vec::new();
        for (number, file) in (1..).zip(std::mem::take(&mut self.files)) {
            let mut temporary = file.file;
            let mut path = self.target.clone();
            if is_chunked {
                let header = ChunkHeader {
                    package: package.clone(),
                    number,
                    count,
                    size: file.size,
                    digest: file.hasher.finish(),
                };
                temporary.seek(SeekFrom::Start(0))?;
                temporary.write_all(&header.to_bytes())?;
                path = chunk_path(&self.target, number);
            }
            temporary.as_file().sync_all()?;
            complete.push((temporary, path));
        }
        let mut paths = Vec::new();
        for (temporary, path) in complete {
            temporary.persist(&path).map_err(|error| error.error)?;
            paths.push(path);
        }
        remove_outdated_chunks(&self.target, &paths)?;
        // The names are on disk, too, before success is reported.
        fs_err::File::open(&self.folder)?.sync_all()?;
        Ok(paths)
    }
}

/// A temporary file that others may read if the user's umask allows it.
pub(crate) fn temporary_file(folder: &Path) -> io::Result<NamedTempFile> {
    let permissions = std::fs::Permissions::from_mode(0o666);
    tempfile::Builder::new()
        .prefix(".outrigger-expansion-")
        .permissions(permissions)
        .tempfile_in(folder)
}

/// The folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or_else(|| Path::new("."))
}

/// `demo.tar.zst.001`
pub(crate) fn chunk_path(target: &Path, number: u32) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(format!(".{number:03}"));
    PathBuf::from(name)
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_full = |file: &OutputFile| self.chunk_content.is_some_and(|most| file.size >= most);
        if self.files.last().is_some_and(is_full) {
            self.next_file()?;
        }
        let most = self.chunk_content.unwrap_or(u64::MAX);
        let file = self.files.last_mut();
        let file = file.ok_or_else(|| io::Error::other("no file is open"))?;
        let room = usize::try_from(most - file.size).unwrap_or(usize::MAX);
        let written = file.file.write(&bytes[..bytes.len().min(room)])?;
        if self.chunk_content.is_some() {
            file.hasher.update(&bytes[..written]);
        }
        file.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

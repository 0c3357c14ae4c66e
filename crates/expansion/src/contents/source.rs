//! Reads files of a package again that was verified, whatever its form is. A package that was changed since is refused.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use outrigger_oci::Digest;
use tempfile::NamedTempFile;

use crate::archive::{self, Reader, Sink, folder_of, temporary_file};
use crate::build::files::digest_of;
use crate::built::{Opened, find_built};
use crate::lock::{EntryKind, LockedEntry};
use crate::progress::Progress;
use crate::scan::Content;

/// Where a package was opened.
#[derive(Debug, Clone)]
pub struct Source {
    path: PathBuf,
    /// What a delta needs.
    base: Option<PathBuf>,
    /// That of the root document; `None` for a folder.
    digest: Option<Digest>,
}

/// A file to copy out of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub digest: Digest,
    pub to: PathBuf,
    /// Permission bits of the copy.
    pub mode: u32,
}

/// Why a package cannot be read again.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Archive(#[from] archive::Error),
    #[error("{} is another package than the one that was verified", .0.display())]
    Replaced(PathBuf),
    #[error("{file} of {} was changed since it was verified", path.display())]
    Changed { path: PathBuf, file: String },
    #[error("failed to read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("failed to write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

fn written(path: &Path) -> impl Fn(std::io::Error) -> Error {
    move |source| Error::Write {
        path: path.to_owned(),
        source,
    }
}

impl Source {
    pub fn new(path: &Path, base: Option<&Path>, opened: &Opened) -> Self {
        Self {
            path: path.to_owned(),
            base: base.map(Path::to_owned),
            digest: opened.built.as_ref().map(|built| built.digest.clone()),
        }
    }

    /// The path that the user gave.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The digest of the root document, unless it is a folder.
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// The digest of a file. That of a folder is read if the scan did not.
    pub fn digest_of(&self, opened: &Opened, file: &str) -> Result<Digest, Error> {
        if let Some(built) = &opened.built {
            let mut entries = built.lock.entries();
            let found = entries.find(|entry| entry.path == file);
            return found
                .map(|entry| entry.digest)
                .ok_or_else(|| Error::Changed {
                    path: self.path.clone(),
                    file: file.to_owned(),
                });
        }
        match opened.scanned.file(file).map(|file| &file.content) {
            Some(Content::Bytes(bytes)) => Ok(Digest::of(bytes)),
            _ => self.hash(file),
        }
    }

    fn hash(&self, file: &str) -> Result<Digest, Error> {
        let path = self.path.join(file);
        let described = digest_of(&path);
        let described = described.map_err(|source| Error::Read { path, source })?;
        Ok(described.0)
    }

    /// Opens the built package and its base again. `None` is a folder.
    pub fn readers(
        &self,
        progress: &Arc<Progress>,
    ) -> Result<Option<(Reader, Option<Reader>)>, Error> {
        let Some(digest) = &self.digest else {
            return Ok(None);
        };
        let reader = Reader::open(&find_built(&self.path)?, progress)?;
        if reader.digest() != *digest {
            return Err(Error::Replaced(self.path.clone()));
        }
        let base = self.base.as_deref().map(find_built).transpose()?;
        let base = base.map(|base| Reader::open(&base, progress)).transpose()?;
        Ok(Some((reader, base)))
    }

    /// Copies files. Each gets its name when it is complete and has its digest. Reads no images.
    pub fn copy(
        &self,
        wanted: &BTreeMap<String, Wanted>,
        progress: &Arc<Progress>,
    ) -> Result<(), Error> {
        if wanted.is_empty() {
            return Ok(());
        }
        let Some((reader, base)) = self.readers(progress)? else {
            return self.copy_from_folder(wanted);
        };
        let mut sink = CopySink {
            wanted,
            left: wanted.len(),
            current: Vec::new(),
            file: None,
            failure: None,
        };
        let read = reader.read(base, &mut sink);
        match (sink.failure, sink.left) {
            (Some(failure), _) => Err(failure),
            // All were read: the rest of the package is not.
            (None, 0) => Ok(()),
            (None, _) => {
                read?;
                Err(Error::Replaced(self.path.clone()))
            }
        }
    }

    fn copy_from_folder(&self, wanted: &BTreeMap<String, Wanted>) -> Result<(), Error> {
        for (file, wanted) in wanted {
            let path = self.path.join(file);
            let read = |source| Error::Read {
                path: path.clone(),
                source,
            };
            let mut source = fs_err::File::open(&path).map_err(read)?;
            let mut target = create(&wanted.to)?;
            let failed = written(&wanted.to);
            std::io::copy(&mut source, &mut target).map_err(&failed)?;
            let (found, _) = digest_of(target.path()).map_err(&failed)?;
            if found != wanted.digest {
                return Err(Error::Changed {
                    path: self.path.clone(),
                    file: file.clone(),
                });
            }
            persist(target, wanted)?;
        }
        Ok(())
    }
}

/// A temporary file beside the final one.
fn create(to: &Path) -> Result<NamedTempFile, Error> {
    let folder = folder_of(to);
    fs_err::create_dir_all(folder).map_err(written(folder))?;
    temporary_file(folder).map_err(written(to))
}

fn persist(file: NamedTempFile, wanted: &Wanted) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt as _;
    let failed = written(&wanted.to);
    let mode = std::fs::Permissions::from_mode(wanted.mode & 0o777);
    file.as_file().set_permissions(mode).map_err(&failed)?;
    file.as_file().sync_all().map_err(&failed)?;
    let persisted = file.persist(&wanted.to);
    persisted.map(drop).map_err(|error| failed(error.error))
}

/// Writes the wanted files, and ends the read after the last one.
struct CopySink<'w> {
    wanted: &'w BTreeMap<String, Wanted>,
    left: usize,
    current: Vec<&'w Wanted>,
    file: Option<NamedTempFile>,
    failure: Option<Error>,
}

impl CopySink<'_> {
    /// Keeps a failure, and ends the read.
    fn fail(&mut self, error: Error) -> archive::Error {
        self.failure.get_or_insert(error);
        archive::Error::canceled()
    }

    fn finish(&mut self) -> Result<(), Error> {
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        let current = std::mem::take(&mut self.current);
        let Some((first, others)) = current.split_first() else {
            return Ok(());
        };
        for other in others {
            let mut copy = create(&other.to)?;
            let mut content = fs_err::File::open(file.path()).map_err(written(&other.to))?;
            std::io::copy(&mut content, &mut copy).map_err(written(&other.to))?;
            persist(copy, other)?;
        }
        persist(file, first)?;
        self.left -= current.len();
        Ok(())
    }
}

impl Sink for CopySink<'_> {
    fn begin(&mut self, entries: &[LockedEntry]) -> Result<(), archive::Error> {
        if self.left == 0 {
            return Err(archive::Error::canceled());
        }
        let files = entries.iter().filter(|entry| entry.kind == EntryKind::File);
        self.current = files
            .filter_map(|entry| self.wanted.get(&entry.path))
            .collect();
        if let Some(first) = self.current.first() {
            let created = create(&first.to);
            self.file = Some(created.map_err(|error| self.fail(error))?);
        }
        Ok(())
    }

    fn data(&mut self, bytes: &[u8]) -> Result<(), archive::Error> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let result = file.write_all(bytes);
        let to = self.current.first().map(|first| first.to.clone());
        result.map_err(|error| self.fail(written(&to.unwrap_or_default())(error)))
    }

    fn end(&mut self) -> Result<(), archive::Error> {
        self.finish().map_err(|error| self.fail(error))
    }
}

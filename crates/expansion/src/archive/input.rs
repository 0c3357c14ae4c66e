//! Where a built package is: in one file, or in chunks.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::chunk::{Chunk, ChunkReader, HEADER, collect, find_damaged, read_header};
use super::error::Error;
use crate::definition::DEFINITION;

/// The most files of a folder that are looked at to find chunks.
const MAX_FILES: usize = 100_000;

/// The bytes of a built package.
#[derive(Debug, Clone)]
pub struct Input {
    path: PathBuf,
    kind: Kind,
    length: u64,
}

#[derive(Debug, Clone)]
enum Kind {
    File,
    Chunks(Vec<Chunk>),
}

impl Input {
    /// Finds a package: a file, any of its chunks, or the folder of its chunks. `None` is a folder without chunks.
    pub fn find(path: &Path) -> Result<Option<Self>, Error> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => Error::Missing(path.to_owned()),
            _ => Error::io(path, error),
        };
        let metadata = fs_err::metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            if path.join(DEFINITION).exists() {
                return Ok(None);
            }
            let found = chunks_of(path)?;
            if found.is_empty() {
                return Ok(None);
            }
            let chunks = collect(path, None, found)?;
            return Self::of_chunks(path, chunks).map(Some);
        }
        if !metadata.is_file() {
            let reason = "it is neither a file nor a folder".to_owned();
            let path = path.to_owned();
            return Err(Error::NotBuilt { path, reason });
        }
        let Some(header) = read_header(path).map_err(|error| Error::io(path, error))? else {
            return Ok(Some(Self {
                path: path.to_owned(),
                kind: Kind::File,
                length: metadata.len(),
            }));
        };
        let start = Chunk {
            path: path.to_owned(),
            header: header?,
        };
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or_else(|| Path::new("."));
        let chunks = collect(folder, Some(&start), chunks_of(folder)?)?;
        Self::of_chunks(path, chunks).map(Some)
    }

    fn of_chunks(path: &Path, chunks: Vec<Chunk>) -> Result<Self, Error> {
        let mut length = 0_u64;
        for chunk in &chunks {
            let metadata = fs_err::metadata(&chunk.path);
            let found = metadata
                .map_err(|error| Error::io(&chunk.path, error))?
                .len();
            let found = found.saturating_sub(HEADER as u64);
            let expected = chunk.header.size;
            if found != expected {
                let path = chunk.path.clone();
                let error = super::chunk::ChunkError::Size {
                    path,
                    expected,
                    found,
                };
                return Err(error.into());
            }
            length = length.saturating_add(found);
        }
        Ok(Self {
            path: path.to_owned(),
            kind: Kind::Chunks(chunks),
            length,
        })
    }

    /// The file as the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of bytes.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The file, or the chunks in order.
    pub fn files(&self) -> Vec<PathBuf> {
        match &self.kind {
            Kind::File => vec![self.path.clone()],
            Kind::Chunks(chunks) => chunks.iter().map(|chunk| chunk.path.clone()).collect(),
        }
    }

    /// Whether the package is in one file.
    pub(super) fn is_file(&self) -> bool {
        matches!(self.kind, Kind::File)
    }

    pub(super) fn open(&self) -> Result<Box<dyn Read + Send>, Error> {
        match &self.kind {
            Kind::File => {
                let file = fs_err::File::open(&self.path);
                let file = file.map_err(|error| Error::io(&self.path, error))?;
                Ok(Box::new(file))
            }
            Kind::Chunks(chunks) => Ok(Box::new(ChunkReader::new(chunks.clone()))),
        }
    }

    /// Checks that chunks belong to the package that they say.
    pub(super) fn check_package(&self, found: &outrigger_oci::Digest) -> Result<(), Error> {
        match &self.kind {
            Kind::Chunks(chunks) if chunks.iter().any(|chunk| chunk.header.package != *found) => {
                let package = chunks[0].header.package.clone();
                Err(super::chunk::ChunkError::Package { package }.into())
            }
            Kind::Chunks(_) | Kind::File => Ok(()),
        }
    }

    /// The chunk that is damaged, if one is: that is what must be copied again.
    pub(super) fn explain(&self, error: Error) -> Error {
        let is_damage = matches!(
            error,
            Error::Damaged { .. }
                | Error::Digest { .. }
                | Error::Refused { .. }
                | Error::Trailer { .. }
                | Error::NoTrailer { .. }
        );
        match &self.kind {
            Kind::Chunks(chunks) if is_damage => find_damaged(chunks).map_or(error, Error::from),
            Kind::Chunks(_) | Kind::File => error,
        }
    }
}

type FoundChunk = (
    PathBuf,
    Result<super::chunk::ChunkHeader, super::chunk::ChunkError>,
);

/// The files of a folder that begin like chunks, by name.
fn chunks_of(folder: &Path) -> Result<Vec<FoundChunk>, Error> {
    let failed = |error| Error::io(folder, error);
    let mut found = Vec::new();
    for entry in fs_err::read_dir(folder).map_err(failed)?.take(MAX_FILES) {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        // Links are followed to files; pipes and devices are not opened.
        if !fs_err::metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        // A file that cannot be read is missed, if it is a chunk of the package.
        if let Ok(Some(header)) = read_header(&path) {
            found.push((path, header));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

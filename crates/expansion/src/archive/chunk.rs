//! Chunks of a built package. Each says in its first line of which package it is, which number it has of how many, and what its
//! digest is, so that neither the names nor the order of the files matter.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use outrigger_oci::{Algorithm, Digest, Hasher};

use super::PIECE;

/// The smallest size of chunks.
pub const MIN_CHUNK: u64 = 4 << 10;

/// The most chunks of a package.
pub(super) const MAX_CHUNKS: u32 = 10_000;

/// The size of the line at the beginning of a chunk, with the spaces and the line end that follow it.
pub(super) const HEADER: usize = 512;

/// How the line begins.
const MAGIC: &str = "outrigger-expansion-chunk/1 ";

/// What a chunk says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChunkHeader {
    /// The digest at the end of the package.
    pub(super) package: Digest,
    /// Numbers begin at one.
    pub(super) number: u32,
    pub(super) count: u32,
    /// The bytes that follow the header.
    pub(super) size: u64,
    /// The digest of the bytes that follow the header.
    pub(super) digest: Digest,
}

/// A file with a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) path: PathBuf,
    pub(super) header: ChunkHeader,
}

/// Why chunks are not a package.
#[derive(Debug, thiserror::Error)]
pub enum ChunkError {
    #[error("{} begins like a chunk of a package, but its first line is damaged", .0.display())]
    Header(PathBuf),
    #[error("{}: chunks {numbers} of {count} are missing{}", folder.display(), others(.foreign.as_deref()))]
    Missing {
        folder: PathBuf,
        numbers: String,
        count: u32,
        /// A chunk of another package in the folder.
        foreign: Option<PathBuf>,
    },
    #[error("{} and {} are both chunk {number} of the package", first.display(), second.display())]
    Twice {
        number: u32,
        first: PathBuf,
        second: PathBuf,
    },
    #[error("{} is a chunk of another package than {}", path.display(), other.display())]
    Foreign { path: PathBuf, other: PathBuf },
    #[error("{} is one of {found} chunks, but {} is one of {expected}", path.display(), other.display())]
    Count {
        path: PathBuf,
        found: u32,
        other: PathBuf,
        expected: u32,
    },
    #[error("the chunk {} has {found} bytes after its first line, which says {expected}", path.display())]
    Size {
        path: PathBuf,
        expected: u64,
        found: u64,
    },
    #[error("the chunk {} is damaged: it has digest {found}, but {expected} was expected", path.display())]
    Digest {
        path: PathBuf,
        expected: Digest,
        found: Digest,
    },
    #[error("the chunks together have another digest than {package}, which they belong to")]
    Package { package: Digest },
}

fn others(foreign: Option<&Path>) -> String {
    match foreign {
        Some(path) => format!("; {} is a chunk of another package", path.display()),
        None => String::new(),
    }
}

impl ChunkError {
    pub(super) fn hint(&self) -> &'static str {
        match self {
            Self::Header(_) | Self::Size { .. } | Self::Digest { .. } => {
                "copy this chunk again; the others need not be copied"
            }
            Self::Missing { .. } => "copy the missing chunks into the same folder, under any names",
            Self::Twice { .. } => "remove one of them",
            Self::Foreign { .. } | Self::Count { .. } => {
                "keep the chunks of each package in a folder of their own"
            }
            Self::Package { .. } => "copy all chunks again",
        }
    }
}

impl ChunkHeader {
    /// The line, padded with spaces.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let Self {
            package,
            number,
            count,
            size,
            digest,
        } = self;
        let line = format!(
            "{MAGIC}package={package} number={number} count={count} size={size} digest={digest}"
        );
        format!("{line:<width$}\n", width = HEADER - 1).into_bytes()
    }

    /// Reads the line. What is not exactly as it is written is damaged.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(bytes).ok()?.strip_prefix(MAGIC)?;
        let fields: BTreeMap<&str, &str> = line
            .split_whitespace()
            .filter_map(|field| field.split_once('='))
            .collect();
        let header = Self {
            package: fields.get("package")?.parse().ok()?,
            number: fields.get("number")?.parse().ok()?,
            count: fields.get("count")?.parse().ok()?,
            size: fields.get("size")?.parse().ok()?,
            digest: fields.get("digest")?.parse().ok()?,
        };
        let is_valid = (1..=header.count).contains(&header.number) && header.count <= MAX_CHUNKS;
        (is_valid && header.to_bytes() == bytes).then_some(header)
    }
}

/// Whether a file begins like a chunk, and what it says.
pub(super) fn read_header(path: &Path) -> io::Result<Option<Result<ChunkHeader, ChunkError>>> {
    let mut bytes = Vec::new();
    let file = fs_err::File::open(path)?;
    file.take(HEADER as u64).read_to_end(&mut bytes)?;
    if !bytes.starts_with(MAGIC.trim_end().as_bytes()) {
        return Ok(None);
    }
    let header = ChunkHeader::parse(&bytes);
    Ok(Some(
        header.ok_or_else(|| ChunkError::Header(path.to_owned())),
    ))
}

/// The chunks of a package in order: those of `start`, or those of the folder, which must be of one package.
pub(super) fn collect(
    folder: &Path,
    start: Option<&Chunk>,
    found: Vec<(PathBuf, Result<ChunkHeader, ChunkError>)>,
) -> Result<Vec<Chunk>, ChunkError> {
    let mut chunks: BTreeMap<u32, Chunk> = BTreeMap::new();
    let mut of_package: Option<Chunk> = start.cloned();
    let (mut foreign, mut damaged) = (None, None);
    for (path, header) in found {
        let header = match header {
            Ok(header) => header,
            Err(error) if start.is_none() => return Err(error),
            Err(error) => {
                damaged = Some(error);
                continue;
            }
        };
        let chunk = Chunk { path, header };
        let first = of_package.get_or_insert_with(|| chunk.clone());
        if first.header.package != chunk.header.package {
            if start.is_none() {
                let (path, other) = (chunk.path, first.path.clone());
                return Err(ChunkError::Foreign { path, other });
            }
            foreign = Some(chunk.path);
            continue;
        }
        if first.header.count != chunk.header.count {
            return Err(ChunkError::Count {
                path: chunk.path,
                found: chunk.header.count,
                other: first.path.clone(),
                expected: first.header.count,
            });
        }
        let number = chunk.header.number;
        if let Some(first) = chunks.get(&number) {
            let (first, second) = (first.path.clone(), chunk.path);
            return Err(ChunkError::Twice {
                number,
                first,
                second,
            });
        }
        chunks.insert(number, chunk);
    }
    let count = of_package.map_or(0, |chunk| chunk.header.count);
    let missing: Vec<u32> = (1..=count)
        .filter(|number| !chunks.contains_key(number))
        .collect();
    if missing.is_empty() {
        return Ok(chunks.into_values().collect());
    }
    Err(damaged.unwrap_or_else(|| ChunkError::Missing {
        folder: folder.to_owned(),
        numbers: shown(&missing),
        count,
        foreign,
    }))
}

/// `2, 4`, and not more than ten.
fn shown(numbers: &[u32]) -> String {
    let texts: Vec<String> = numbers.iter().take(10).map(u32::to_string).collect();
    let more = if numbers.len() > 10 { ", …" } else { "" };
    format!("{}{more}", texts.join(", "))
}

/// Reads chunks one after the other. A chunk that is not what its first line says is an error.
#[derive(Debug)]
pub(super) struct ChunkReader {
    left: std::vec::IntoIter<Chunk>,
    current: Option<Current>,
}

#[derive(Debug)]
struct Current {
    chunk: Chunk,
    file: fs_err::File,
    left: u64,
    hasher: Hasher,
}

impl ChunkReader {
    pub(super) fn new(chunks: Vec<Chunk>) -> Self {
        Self {
            left: chunks.into_iter(),
            current: None,
        }
    }

    fn open(chunk: Chunk) -> io::Result<Current> {
        let mut file = fs_err::File::open(&chunk.path)?;
        io::copy(&mut (&mut file).take(HEADER as u64), &mut io::sink())?;
        Ok(Current {
            left: chunk.header.size,
            chunk,
            file,
            hasher: Algorithm::Sha256.hasher(),
        })
    }
}

impl Read for ChunkReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(current) = &mut self.current else {
                match self.left.next() {
                    Some(chunk) => self.current = Some(Self::open(chunk)?),
                    None => return Ok(0),
                }
                continue;
            };
            let length = usize::try_from(current.left)
                .unwrap_or(usize::MAX)
                .min(buffer.len());
            if length > 0 {
                let read = current.file.read(&mut buffer[..length])?;
                if read == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                current.hasher.update(&buffer[..read]);
                current.left -= read as u64;
                return Ok(read);
            }
            if buffer.is_empty() {
                return Ok(0);
            }
            if let Some(current) = self.current.take() {
                verify(&current.chunk, current.hasher.finish()).map_err(io::Error::other)?;
            }
        }
    }
}

fn verify(chunk: &Chunk, found: Digest) -> Result<(), ChunkError> {
    if chunk.header.digest == found {
        return Ok(());
    }
    Err(ChunkError::Digest {
        path: chunk.path.clone(),
        expected: chunk.header.digest.clone(),
        found,
    })
}

/// The first chunk whose content is not what its first line says.
pub(super) fn find_damaged(chunks: &[Chunk]) -> Option<ChunkError> {
    chunks.iter().find_map(|chunk| {
        let mut reader = ChunkReader::new(vec![chunk.clone()]);
        let mut buffer = vec![0; PIECE];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => return error.downcast::<ChunkError>().ok(),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> ChunkHeader {
        ChunkHeader {
            package: Digest::of(b"package"),
            number: 2,
            count: 3,
            size: 10,
            digest: Digest::of(b"content"),
        }
    }

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let bytes = header().to_bytes();
        assert_eq!(bytes.len(), HEADER);
        assert_eq!(ChunkHeader::parse(&bytes), Some(header()));
    }

    /// Digits that change are another header, which does not fit the others; everything else is damage.
    #[test]
    fn no_flipped_bit_of_a_header_is_ignored() {
        let bytes = header().to_bytes();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                assert_ne!(ChunkHeader::parse(&flipped), Some(header()), "{at}");
            }
        }
    }
}

//! Reads a file at any position, compressed or not. A compressed file is read forward; to go back, it is read again.

use std::io::{BufRead as _, BufReader, Read, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

/// The position that the last reader of a file reached. The next one continues there, if it can.
#[derive(Debug, Clone, Default)]
pub(crate) struct Position {
    kept: Arc<Mutex<Option<Reader>>>,
    /// Whether the content is that of the file as it is, even if it is compressed: a layer, not an archive.
    is_raw: bool,
}

/// An open file at a position of its uncompressed content.
pub(crate) struct Reader {
    input: Input,
    position: u64,
}

enum Input {
    Plain(std::fs::File),
    Gzip(Box<flate2::bufread::MultiGzDecoder<BufReader<std::fs::File>>>),
    Zstd(Box<zstd::stream::read::Decoder<'static, BufReader<std::fs::File>>>),
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

const BUFFER: usize = 128 << 10;

/// The largest window of a zstd stream, which is the memory that it needs.
const MAX_WINDOW_LOG: u32 = 27;

impl Reader {
    /// Opens a file, and finds out how it is compressed.
    pub(crate) fn open(path: &Path) -> std::io::Result<Self> {
        let mut file = fs_err::File::open(path)?.into_parts().0;
        let compression = detect(&mut file)?;
        Self::new(file, compression)
    }

    fn new(file: std::fs::File, compression: Compression) -> std::io::Result<Self> {
        let input = match compression {
            Compression::None => Input::Plain(file),
            Compression::Gzip => {
                let buffered = BufReader::with_capacity(BUFFER, file);
                Input::Gzip(Box::new(flate2::bufread::MultiGzDecoder::new(buffered)))
            }
            Compression::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(
                    BufReader::with_capacity(BUFFER, file),
                )?;
                decoder.window_log_max(MAX_WINDOW_LOG)?;
                Input::Zstd(Box::new(decoder))
            }
        };
        Ok(Self { input, position: 0 })
    }

    pub(crate) fn is_compressed(&self) -> bool {
        !matches!(self.input, Input::Plain(_))
    }

    /// Goes to a position. Fails if it is before the current one and the file is compressed.
    pub(crate) fn seek(&mut self, position: u64) -> std::io::Result<()> {
        match &mut self.input {
            Input::Plain(file) => {
                file.seek(SeekFrom::Start(position))?;
            }
            _ if position < self.position => return Err(std::io::ErrorKind::NotSeekable.into()),
            _ => {
                let skip = position - self.position;
                let skipped =
                    std::io::copy(&mut Read::by_ref(self).take(skip), &mut std::io::sink())?;
                if skipped < skip {
                    return Err(std::io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
        self.position = position;
        Ok(())
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = match &mut self.input {
            Input::Plain(file) => file.read(buffer)?,
            Input::Gzip(decoder) => decoder.read(buffer)?,
            Input::Zstd(decoder) => decoder.read(buffer)?,
        };
        self.position += read as u64;
        Ok(read)
    }
}

fn detect(file: &mut std::fs::File) -> std::io::Result<Compression> {
    let mut buffered = BufReader::with_capacity(8, &*file);
    let start = buffered.fill_buf()?;
    let compression = match start {
        [0x1f, 0x8b, ..] => Compression::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
        _ => Compression::None,
    };
    file.seek(SeekFrom::Start(0))?;
    Ok(compression)
}

impl Position {
    /// For a file that is read as it is.
    pub(crate) fn raw() -> Self {
        Self {
            kept: Arc::default(),
            is_raw: true,
        }
    }

    /// A reader of the file at a position.
    pub(crate) fn open(&self, path: &Path, position: u64) -> std::io::Result<Reader> {
        let kept = self.lock().take();
        let mut reader = match kept {
            Some(reader) if reader.position <= position => reader,
            _ if self.is_raw => {
                let file = fs_err::File::open(path)?.into_parts().0;
                Reader::new(file, Compression::None)?
            }
            _ => Reader::open(path)?,
        };
        reader.seek(position)?;
        Ok(reader)
    }

    /// Keeps a reader for the next blob.
    pub(crate) fn keep(&self, reader: Reader) {
        if reader.is_compressed() {
            *self.lock() = Some(reader);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Reader>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Writes images as an OCI layout: a tar (plain, `.gz` or `.zst`) or a folder. The same images yield the same bytes.

use std::io::Write;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::saved::{Layout, LayoutFile, SavedImage};
use super::target::{Compression, SaveTarget};
use super::{invalid, partial};
use crate::blob::Blob;
use crate::copy::{Progress, Source};
use crate::error::Error;
use crate::upload::Transfer;

/// Saves images to an archive or a folder. A folder is extended: the images and blobs that it has are kept, also by several
/// processes at a time. If the progress is canceled, no partial file is left.
pub async fn save(
    source: &Source,
    images: &[SavedImage],
    target: &SaveTarget,
    progress: &Progress,
) -> Result<(), Error> {
    let mut layout = Layout::default();
    for image in images {
        layout.add(source, image);
    }
    progress.expect(layout.blob_size());
    let (path, compression) = match target {
        SaveTarget::Folder(path) => return save_folder(layout, path, progress).await,
        SaveTarget::Archive(path, compression) => (replaced_file(path)?, *compression),
    };
    let mut files = layout.index_files();
    files.extend(layout.content.into_values());
    files.sort_by(|a, b| a.name.cmp(&b.name));
    let (sender, receiver) = mpsc::channel(4);
    let writing = tokio::task::spawn_blocking(move || write_tar(&path, compression, receiver));
    let reading = tokio::select! {
        biased;
        () = progress.canceled() => Err(Error::Canceled),
        reading = read(files, &sender, progress) => reading,
    };
    if reading.is_ok() {
        // Without this, the writer knows that the archive is incomplete.
        let _ = sender.send(Part::End).await;
    }
    drop(sender);
    // It has removed what it had written when it ends.
    let written = writing.await.unwrap_or(Err(Error::Canceled));
    match (reading, written) {
        // The reader failed because the writer did.
        (Err(Error::Canceled) | Ok(()), written) => written,
        (Err(error), _) => Err(error),
    }
}

/// The file that an archive replaces: that of a link, and nothing but a regular file.
fn replaced_file(path: &Path) -> Result<PathBuf, Error> {
    let path = fs_err::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs_err::symlink_metadata(&path) {
        Ok(found) if !found.is_file() => Err(invalid(&path, "it is not a regular file")),
        _ => Ok(path),
    }
}

enum Part {
    File { name: String, size: u64 },
    Data(Bytes),
    End,
}

async fn read(
    files: Vec<LayoutFile>,
    sender: &mpsc::Sender<Part>,
    progress: &Progress,
) -> Result<(), Error> {
    let send = |part| async { sender.send(part).await.map_err(|_| Error::Canceled) };
    for file in files {
        let mut content = file.open()?;
        let is_blob = file.is_blob();
        let (name, size) = (file.name, file.size);
        send(Part::File { name, size }).await?;
        while let Some(chunk) = content.next().await? {
            if is_blob {
                progress.transferred(chunk.len() as u64);
            }
            send(Part::Data(chunk)).await?;
        }
    }
    Ok(())
}

/// Writes the archive next to its target, and moves it there when it is complete.
fn write_tar(
    path: &Path,
    compression: Compression,
    mut parts: mpsc::Receiver<Part>,
) -> Result<(), Error> {
    let failed = |error| Error::io(path, error);
    partial::remove_leftovers(path).map_err(failed)?;
    let temporary = partial::create(path).map_err(failed)?;
    let mut output = Output::new(temporary, compression).map_err(failed)?;
    let mut padding = 0;
    loop {
        match parts.blocking_recv() {
            None => return Err(Error::Canceled),
            Some(Part::End) => break,
            Some(Part::File { name, size }) => {
                output.write_all(&vec![0; padding]).map_err(failed)?;
                output
                    .write_all(&header(&name, size).map_err(failed)?)
                    .map_err(failed)?;
                padding = usize::try_from((512 - size % 512) % 512).unwrap_or_default();
            }
            Some(Part::Data(bytes)) => output.write_all(&bytes).map_err(failed)?,
        }
    }
    output.write_all(&vec![0; padding + 1024]).map_err(failed)?;
    let temporary = output.finish().map_err(failed)?;
    temporary.as_file().sync_data().map_err(failed)?;
    temporary
        .persist(path)
        .map(drop)
        .map_err(|error| failed(error.error))
}

fn header(name: &str, size: u64) -> std::io::Result<Vec<u8>> {
    let mut header = tar::Header::new_ustar();
    header.set_path(name)?;
    header.set_size(size);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_entry_type(tar::EntryType::Regular);
    header.set_cksum();
    Ok(header.as_bytes().to_vec())
}

/// The file, and how it is compressed.
enum Output {
    Plain(tempfile::NamedTempFile),
    Gzip(flate2::write::GzEncoder<tempfile::NamedTempFile>),
    Zstd(zstd::stream::write::Encoder<'static, tempfile::NamedTempFile>),
}

impl Output {
    fn new(file: tempfile::NamedTempFile, compression: Compression) -> std::io::Result<Self> {
        Ok(match compression {
            Compression::Gzip => Self::Gzip(flate2::write::GzEncoder::new(
                file,
                flate2::Compression::new(1),
            )),
            Compression::Zstd => Self::Zstd(zstd::stream::write::Encoder::new(file, 1)?),
            Compression::None => Self::Plain(file),
        })
    }

    fn finish(self) -> std::io::Result<tempfile::NamedTempFile> {
        match self {
            Self::Plain(file) => Ok(file),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes the files of a layout. Blobs that exist with their size are kept; `index.json` comes last.
async fn save_folder(layout: Layout, folder: &Path, progress: &Progress) -> Result<(), Error> {
    remove_leftovers(folder)?;
    for (name, file) in layout.content {
        let path = folder.join(&name);
        let is_there = || fs_err::metadata(&path).is_ok_and(|found| found.len() == file.size);
        if file.is_blob() && is_there() {
            progress.blob_done(Transfer::Skipped, file.size, 0);
            continue;
        }
        let (is_counted, content) = (file.is_blob(), file.open()?);
        write_file(path, content, progress, is_counted).await?;
    }
    let (mut index, folder) = (layout.index, folder.to_owned());
    let written = tokio::task::spawn_blocking(move || {
        let failed = |error| Error::io(&folder, error);
        fs_err::create_dir_all(&folder).map_err(failed)?;
        // Another process may be adding its images: one after the other.
        let lock = fs_err::File::open(&folder).map_err(failed)?;
        lock.file().lock().map_err(failed)?;
        index.extend_from(&folder)?;
        for (name, bytes) in index.files() {
            let path = folder.join(name);
            let mut file = partial::create(&path).map_err(failed)?;
            file.write_all(&bytes).map_err(failed)?;
            file.persist(&path).map_err(|error| failed(error.error))?;
        }
        Ok(())
    });
    written.await.unwrap_or(Err(Error::Canceled))
}

/// Removes what processes that were killed left in a layout.
fn remove_leftovers(folder: &Path) -> Result<(), Error> {
    let failed = |error| Error::io(folder, error);
    for name in ["index.json", "manifest.json", "oci-layout"] {
        partial::remove_leftovers(&folder.join(name)).map_err(failed)?;
    }
    for algorithm in ["sha256", "sha512"] {
        let blobs = folder.join("blobs").join(algorithm);
        partial::remove_leftover_blobs(&blobs).map_err(failed)?;
    }
    Ok(())
}

async fn write_file(
    path: PathBuf,
    mut content: Blob,
    progress: &Progress,
    is_counted: bool,
) -> Result<(), Error> {
    let failed = |error| Error::io(&path, error);
    fs_err::create_dir_all(partial::folder_of(&path)).map_err(failed)?;
    let mut temporary = partial::create(&path).map_err(failed)?;
    loop {
        let chunk = tokio::select! {
            biased;
            () = progress.canceled() => return Err(Error::Canceled),
            chunk = content.next() => chunk?,
        };
        let Some(chunk) = chunk else {
            break;
        };
        if is_counted {
            progress.transferred(chunk.len() as u64);
        }
        temporary =
            tokio::task::spawn_blocking(move || temporary.write_all(&chunk).map(|()| temporary))
                .await
                .map_err(|_| Error::Canceled)?
                .map_err(failed)?;
    }
    // The disk may be unplugged when the command is done, and a blob with its size is not written again.
    let persist = move || {
        let failed = |error| Error::io(&path, error);
        temporary.as_file().sync_data().map_err(failed)?;
        let persisted = temporary.persist(&path).map(drop);
        persisted.map_err(|error| failed(error.error))
    };
    tokio::task::spawn_blocking(persist)
        .await
        .map_err(|_| Error::Canceled)?
}

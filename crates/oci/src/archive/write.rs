//! Writes images as an OCI layout: a tar (plain, `.gz` or `.zst`) or a folder. The same images yield the same bytes.

use std::io::Write;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use tokio::sync::mpsc;

use super::invalid;
use super::saved::{Layout, LayoutFile, SavedImage};
use crate::blob::Blob;
use crate::copy::{Progress, Source};
use crate::error::Error;
use crate::upload::Transfer;

/// Saves images to a file, or to a folder if `path` is one or ends with a slash. A folder is extended: the images and blobs
/// that it has are kept, also by several processes at a time.
pub async fn save(
    source: &Source,
    images: &[SavedImage],
    path: &Path,
    progress: &Progress,
) -> Result<(), Error> {
    let mut layout = Layout::default();
    for image in images {
        layout.add(source, image);
    }
    progress.expect(layout.blob_size());
    if path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return save_folder(layout, path, progress).await;
    }
    let path = &replaced_file(path)?;
    let mut files = layout.index_files();
    files.extend(layout.content.into_values());
    files.sort_by(|a, b| a.name.cmp(&b.name));
    let (sender, receiver) = mpsc::channel(4);
    let target = path.to_owned();
    let writing = tokio::task::spawn_blocking(move || write_tar(&target, receiver));
    let reading = read(files, &sender, progress).await;
    if reading.is_ok() {
        // Without this, the writer knows that the archive is incomplete.
        let _ = sender.send(Part::End).await;
    }
    drop(sender);
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
fn write_tar(path: &Path, mut parts: mpsc::Receiver<Part>) -> Result<(), Error> {
    let failed = |error| Error::io(path, error);
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or_else(|| Path::new("."));
    let temporary = temporary_file(folder).map_err(failed)?;
    let mut output = Output::new(temporary, path).map_err(failed)?;
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

/// The file, compressed as its name says.
enum Output {
    Plain(tempfile::NamedTempFile),
    Gzip(flate2::write::GzEncoder<tempfile::NamedTempFile>),
    Zstd(zstd::stream::write::Encoder<'static, tempfile::NamedTempFile>),
}

impl Output {
    fn new(file: tempfile::NamedTempFile, path: &Path) -> std::io::Result<Self> {
        let extension = path
            .extension()
            .and_then(|extension| extension.to_str())
            .unwrap_or_default();
        Ok(match extension {
            "gz" | "tgz" => Self::Gzip(flate2::write::GzEncoder::new(
                file,
                flate2::Compression::new(1),
            )),
            "zst" | "tzst" => Self::Zstd(zstd::stream::write::Encoder::new(file, 1)?),
            _ => Self::Plain(file),
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
    for (name, file) in layout.content {
        let path = folder.join(&name);
        let is_there = || fs_err::metadata(&path).is_ok_and(|found| found.len() == file.size);
        if file.is_blob() && is_there() {
            progress.blob_done(Transfer::Skipped, file.size, 0);
            continue;
        }
        let progress = file.is_blob().then_some(progress);
        write_file(path, file.open()?, progress).await?;
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
            let mut file = temporary_file(&folder).map_err(failed)?;
            file.write_all(&bytes).map_err(failed)?;
            file.persist(folder.join(name))
                .map_err(|error| failed(error.error))?;
        }
        Ok(())
    });
    written.await.unwrap_or(Err(Error::Canceled))
}

/// A temporary file in a folder that, unlike temporary files, others may read if the user's umask allows it.
fn temporary_file(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt as _;
    let permissions = std::fs::Permissions::from_mode(0o666);
    tempfile::Builder::new()
        .permissions(permissions)
        .tempfile_in(folder)
}

async fn write_file(
    path: PathBuf,
    mut content: Blob,
    progress: Option<&Progress>,
) -> Result<(), Error> {
    let failed = |error| Error::io(&path, error);
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    fs_err::create_dir_all(folder).map_err(failed)?;
    let mut temporary = temporary_file(folder).map_err(failed)?;
    while let Some(chunk) = content.next().await? {
        if let Some(progress) = progress {
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

//! Writes images as an OCI layout: a tar (plain, `.gz` or `.zst`) or a folder. The same images yield the same bytes.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use serde_json::json;
use tokio::sync::mpsc;

use super::layout::NAMES;
use crate::blob::Blob;
use crate::copy::{Source, Tree};
use crate::error::Error;
use crate::manifest::{Descriptor, OCI_INDEX};
use crate::reference::{Reference, Repository};

/// An image to save: its name in the archive, where it is, and its manifests.
#[derive(Debug, Clone)]
pub struct SavedImage {
    pub name: Reference,
    pub repository: Repository,
    pub tree: Tree,
}

/// Content of the archive.
enum Content {
    Bytes(Vec<u8>),
    Blob(Box<(Repository, Descriptor)>),
}

/// Saves images to a file, or to a folder if `path` is one. An existing folder is extended: blobs that it has are kept.
pub async fn save(source: &Source, images: &[SavedImage], path: &Path) -> Result<(), Error> {
    let files = files(images);
    if path.is_dir() {
        return save_folder(source, files, path).await;
    }
    let (sender, receiver) = mpsc::channel(4);
    let target = path.to_owned();
    let writing = tokio::task::spawn_blocking(move || write_tar(&target, receiver));
    let reading = read(source, files, &sender).await;
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

/// All files of the layout, by name, so that their order does not depend on that of the images.
fn files(images: &[SavedImage]) -> BTreeMap<String, Content> {
    let mut files = BTreeMap::new();
    let mut roots = Vec::new();
    let mut docker = Vec::new();
    for image in images {
        let root = image.tree.root();
        let mut descriptor = root.descriptor();
        let name = image.name.to_string();
        descriptor.annotations = Some(
            NAMES
                .iter()
                .map(|key| ((*key).to_owned(), name.clone()))
                .collect(),
        );
        roots.push((name.clone(), descriptor));
        for manifest in image.tree.children().chain([root]) {
            files.insert(
                file_name(&manifest.descriptor()),
                Content::Bytes(manifest.bytes.clone()),
            );
        }
        for blob in image.tree.blobs() {
            let content = || Content::Blob(Box::new((image.repository.clone(), blob.clone())));
            files.entry(file_name(blob)).or_insert_with(content);
        }
        if let Some(config) = &root.parsed.config {
            let layers: Vec<String> = root.parsed.layers.iter().flatten().map(file_name).collect();
            docker.push((
                name.clone(),
                json!({"Config": file_name(config), "RepoTags": [name], "Layers": layers}),
            ));
        }
    }
    roots.sort_by(|a, b| a.0.cmp(&b.0));
    roots.dedup();
    docker.sort_by(|a, b| a.0.cmp(&b.0));
    docker.dedup();
    let roots: Vec<Descriptor> = roots.into_iter().map(|(_, root)| root).collect();
    let docker: Vec<_> = docker.into_iter().map(|(_, image)| image).collect();
    let index = json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": roots});
    // `docker load` of versions before 25 reads this file, and does not know indexes.
    files.insert(
        "manifest.json".to_owned(),
        Content::Bytes(text(&json!(docker))),
    );
    files.insert("index.json".to_owned(), Content::Bytes(text(&index)));
    files.insert(
        "oci-layout".to_owned(),
        Content::Bytes(text(&json!({"imageLayoutVersion": "1.0.0"}))),
    );
    files
}

fn text(value: &serde_json::Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

fn file_name(descriptor: &Descriptor) -> String {
    let digest = &descriptor.digest;
    format!("blobs/{}/{}", digest.algorithm().name(), digest.hex())
}

enum Part {
    File { name: String, size: u64 },
    Data(Bytes),
    End,
}

async fn read(
    source: &Source,
    files: BTreeMap<String, Content>,
    sender: &mpsc::Sender<Part>,
) -> Result<(), Error> {
    let send = |part| async { sender.send(part).await.map_err(|_| Error::Canceled) };
    for (name, content) in files {
        match content {
            Content::Bytes(bytes) => {
                let size = bytes.len() as u64;
                send(Part::File { name, size }).await?;
                send(Part::Data(bytes.into())).await?;
            }
            Content::Blob(content) => {
                let (repository, blob) = *content;
                send(Part::File {
                    name,
                    size: blob.size,
                })
                .await?;
                let mut content = source.blob(&repository, &blob)?;
                while let Some(chunk) = content.next().await? {
                    send(Part::Data(chunk)).await?;
                }
            }
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
    let temporary = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
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
async fn save_folder(
    source: &Source,
    files: BTreeMap<String, Content>,
    folder: &Path,
) -> Result<(), Error> {
    let mut last = Vec::new();
    for (name, content) in files {
        let path = folder.join(&name);
        match content {
            Content::Bytes(bytes) if name.starts_with("blobs/") => {
                write_file(path, FileContent::Bytes(bytes)).await?;
            }
            Content::Bytes(bytes) => last.push((path, bytes)),
            Content::Blob(content)
                if fs_err::metadata(&path).is_ok_and(|found| found.len() == content.1.size) => {}
            Content::Blob(content) => {
                let (repository, blob) = *content;
                let blob = source.blob(&repository, &blob)?;
                write_file(path, FileContent::Blob(Box::new(blob))).await?;
            }
        }
    }
    for (path, bytes) in last {
        write_file(path, FileContent::Bytes(bytes)).await?;
    }
    Ok(())
}

enum FileContent {
    Bytes(Vec<u8>),
    Blob(Box<Blob>),
}

async fn write_file(path: PathBuf, content: FileContent) -> Result<(), Error> {
    let failed = |error| Error::io(&path, error);
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    fs_err::create_dir_all(folder).map_err(failed)?;
    let mut temporary = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    match content {
        FileContent::Bytes(bytes) => temporary.write_all(&bytes).map_err(failed)?,
        FileContent::Blob(mut blob) => {
            while let Some(chunk) = blob.next().await? {
                temporary = tokio::task::spawn_blocking(move || {
                    temporary.write_all(&chunk).map(|()| temporary)
                })
                .await
                .map_err(|_| Error::Canceled)?
                .map_err(failed)?;
            }
        }
    }
    temporary
        .persist(&path)
        .map(drop)
        .map_err(|error| failed(error.error))
}

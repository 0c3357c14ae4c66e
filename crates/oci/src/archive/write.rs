//! Writes images as an OCI layout: a tar (plain, `.gz` or `.zst`) or a folder. The same images yield the same bytes.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::invalid;
use super::layout::{NAMES, image, read_limited};
use crate::blob::Blob;
use crate::copy::{Progress, Source, Tree};
use crate::error::Error;
use crate::manifest::{Descriptor, Manifest, OCI_INDEX};
use crate::reference::{Reference, Repository};
use crate::upload::Transfer;

/// An image to save: its name in the archive, where it is, and its manifests. Referrers have no name.
#[derive(Debug, Clone)]
pub struct SavedImage {
    pub name: Option<Reference>,
    pub repository: Repository,
    pub tree: Tree,
}

/// Content of the archive.
enum Content {
    Bytes(Vec<u8>),
    Blob(Box<(Repository, Descriptor)>),
}

/// Saves images to a file, or to a folder if `path` is one or ends with a slash. A folder is extended: the images and blobs
/// that it has are kept, also by several processes at a time.
pub async fn save(
    source: &Source,
    images: &[SavedImage],
    path: &Path,
    progress: &Progress,
) -> Result<(), Error> {
    let layout = Layout::new(images);
    progress.expect(layout.blobs().map(|blob| blob.size).sum());
    if path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return save_folder(source, layout, path, progress).await;
    }
    let mut files = layout.content;
    for (name, bytes) in layout.index.files() {
        files.insert(name.to_owned(), Content::Bytes(bytes));
    }
    let (sender, receiver) = mpsc::channel(4);
    let target = path.to_owned();
    let writing = tokio::task::spawn_blocking(move || write_tar(&target, receiver));
    let reading = read(source, files, &sender, progress).await;
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

/// The files of a layout.
struct Layout {
    /// Manifests and blobs, by name, so that their order does not depend on that of the images
    content: BTreeMap<String, Content>,
    index: LayoutIndex,
}

/// The images of a layout by name.
#[derive(Default)]
struct LayoutIndex {
    roots: BTreeMap<String, Descriptor>,
    /// Entries of the index of `docker save`
    docker: BTreeMap<String, Value>,
}

impl Layout {
    fn new(images: &[SavedImage]) -> Self {
        let mut content = BTreeMap::new();
        let mut index = LayoutIndex::default();
        for image in images {
            index.add(image);
            for manifest in image.tree.children().chain([image.tree.root()]) {
                content.insert(
                    file_name(&manifest.descriptor()),
                    Content::Bytes(manifest.bytes.clone()),
                );
            }
            for blob in image.tree.blobs() {
                let remote = || Content::Blob(Box::new((image.repository.clone(), blob.clone())));
                content.entry(file_name(blob)).or_insert_with(remote);
            }
        }
        Self { content, index }
    }

    fn blobs(&self) -> impl Iterator<Item = &Descriptor> {
        self.content.values().filter_map(|content| match content {
            Content::Blob(content) => Some(&content.1),
            Content::Bytes(_) => None,
        })
    }
}

impl LayoutIndex {
    fn add(&mut self, image: &SavedImage) {
        let root = image.tree.root();
        let mut descriptor = root.descriptor();
        let Some(name) = &image.name else {
            self.roots.insert(root.digest.to_string(), descriptor);
            return;
        };
        let name = name.to_string();
        let names = NAMES.iter().map(|key| ((*key).to_owned(), name.clone()));
        descriptor.annotations = Some(names.collect());
        // Docker rejects archives with an entry whose layers are not those of a file system, as those of signatures.
        let mut layers = root.parsed.layers.iter().flatten();
        let is_image = layers.all(|layer| layer.media_type.contains("tar"));
        if let Some(config) = root.parsed.config.as_ref().filter(|_| is_image) {
            let layers: Vec<String> = root.parsed.layers.iter().flatten().map(file_name).collect();
            let entry = json!({"Config": file_name(config), "RepoTags": [name], "Layers": layers});
            self.docker.insert(name.clone(), entry);
        }
        self.roots.insert(name, descriptor);
    }

    /// Adds the images of the folder that have other names.
    fn extend_from(&mut self, folder: &Path) -> Result<(), Error> {
        let path = folder.join("index.json");
        let bytes = read_limited(&path)?;
        if bytes.is_none() && path.exists() {
            return Err(invalid(folder, "its index.json is too large to extend"));
        }
        if let Some(bytes) = bytes {
            let index = Manifest::parse(&bytes, Some(OCI_INDEX))
                .map_err(|error| invalid(folder, format!("index.json: {error}")))?;
            for root in index.children() {
                // Images without a name are kept by their digest.
                let name = image(root).names.pop();
                let name = name.unwrap_or_else(|| root.digest.to_string());
                self.roots.entry(name).or_insert_with(|| root.clone());
            }
        }
        if let Some(bytes) = read_limited(&folder.join("manifest.json"))? {
            let entries: Vec<Value> = serde_json::from_slice(&bytes)
                .map_err(|error| invalid(folder, format!("manifest.json: {error}")))?;
            for entry in entries {
                let name = entry["RepoTags"][0].as_str().unwrap_or_default().to_owned();
                if self.roots.contains_key(&name) {
                    self.docker.entry(name).or_insert(entry);
                }
            }
        }
        Ok(())
    }

    /// The files of the index; `index.json` is last.
    fn files(&self) -> [(&'static str, Vec<u8>); 3] {
        let roots: Vec<&Descriptor> = self.roots.values().collect();
        let docker: Vec<&Value> = self.docker.values().collect();
        let index = json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": roots});
        [
            ("oci-layout", text(&json!({"imageLayoutVersion": "1.0.0"}))),
            // `docker load` of versions before 25 reads this file, and does not know indexes.
            ("manifest.json", text(&json!(docker))),
            ("index.json", text(&index)),
        ]
    }
}

fn text(value: &Value) -> Vec<u8> {
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
    progress: &Progress,
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
                    progress.transferred(chunk.len() as u64);
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
async fn save_folder(
    source: &Source,
    layout: Layout,
    folder: &Path,
    progress: &Progress,
) -> Result<(), Error> {
    for (name, content) in layout.content {
        let path = folder.join(&name);
        match content {
            Content::Bytes(bytes) => write_file(path, FileContent::Bytes(bytes), progress).await?,
            Content::Blob(content)
                if fs_err::metadata(&path).is_ok_and(|found| found.len() == content.1.size) =>
            {
                progress.blob_done(Transfer::Skipped, content.1.size, 0);
            }
            Content::Blob(content) => {
                let (repository, blob) = *content;
                let blob = source.blob(&repository, &blob)?;
                write_file(path, FileContent::Blob(Box::new(blob)), progress).await?;
            }
        }
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
            file.as_file().sync_data().map_err(failed)?;
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

enum FileContent {
    Bytes(Vec<u8>),
    Blob(Box<Blob>),
}

async fn write_file(path: PathBuf, content: FileContent, progress: &Progress) -> Result<(), Error> {
    let failed = |error| Error::io(&path, error);
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    fs_err::create_dir_all(folder).map_err(failed)?;
    let mut temporary = temporary_file(folder).map_err(failed)?;
    match content {
        FileContent::Bytes(bytes) => temporary.write_all(&bytes).map_err(failed)?,
        FileContent::Blob(mut blob) => {
            while let Some(chunk) = blob.next().await? {
                progress.transferred(chunk.len() as u64);
                temporary = tokio::task::spawn_blocking(move || {
                    temporary.write_all(&chunk).map(|()| temporary)
                })
                .await
                .map_err(|_| Error::Canceled)?
                .map_err(failed)?;
            }
        }
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

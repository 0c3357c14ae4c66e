//! Reads the folder of a package into plain data. This is the only file of the crate that accesses the file system.
//!
//! The scan is bounded in files, depth and bytes. What a package must not contain (links that leave it, devices, names
//! that are no text) is not read, but kept with the reason, so that `verify` reports all of it.

use std::collections::BTreeMap;
use std::fs::FileType;
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use outrigger_oci::Archive;

use crate::layout;

/// The most files and folders of a package.
pub const MAX_ENTRIES: usize = 20_000;

/// The deepest folder of a package.
pub const MAX_DEPTH: usize = 64;

/// The largest file whose content is read. Larger ones are neither templates, nor scripts, nor charts.
pub const MAX_FILE_BYTES: u64 = 16 << 20;

/// The most bytes that are read of all files together.
pub const MAX_TOTAL_BYTES: u64 = 256 << 20;

/// Limits on a whole package, which tests reduce.
#[derive(Debug, Clone, Copy)]
struct Limits {
    entries: usize,
    total_bytes: u64,
}

/// The folder of a package as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scanned {
    /// The name of the folder.
    pub folder_name: String,
    /// What is in it, by path. Folders are listed if nothing is in them.
    pub entries: BTreeMap<String, Entry>,
    /// The images of the archive in the package, if there is one.
    pub archive: Option<ImageArchive>,
}

/// A path of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    File(File),
    EmptyFolder,
    /// It was not read.
    Refused(Refusal),
}

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    pub content: Content,
}

/// What a file contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Bytes(Vec<u8>),
    /// It is not needed to verify the package: a program, an image.
    NotRead,
    /// It is larger than [`MAX_FILE_BYTES`].
    TooLarge,
}

/// Why a path of a package is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("is a link to {0}, which is outside of the package")]
    Outside(String),
    #[error("is a link to {0}, which does not exist")]
    Dangling(String),
    #[error("is a link to the folder {0}; only links to files are followed")]
    LinkToFolder(String),
    #[error("is a {0}; a package has only files and folders")]
    Special(&'static str),
    #[error("has a name with a control character, a backslash, or bytes that are not UTF-8")]
    Name,
    #[error("is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
}

/// The archive of images of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageArchive {
    /// `images.tar.gz`, or the folder of an OCI layout.
    pub path: String,
    /// The names of its images, or why it cannot be read.
    pub images: Result<Vec<String>, String>,
}

/// Why a folder cannot be scanned.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("folder {} does not exist", .0.display())]
    Missing(PathBuf),
    #[error("{} is not a folder", .0.display())]
    NotAFolder(PathBuf),
    #[error("failed to read {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} has more than {limit} files and folders", folder.display())]
    TooManyEntries { folder: PathBuf, limit: usize },
    #[error("the files of {} that are checked have more than {limit} bytes", folder.display())]
    TooLarge { folder: PathBuf, limit: u64 },
}

impl Scanned {
    /// The file at a path.
    pub fn file(&self, path: &str) -> Option<&File> {
        match self.entries.get(path)? {
            Entry::File(file) => Some(file),
            Entry::EmptyFolder | Entry::Refused(_) => None,
        }
    }

    /// The content of the file at a path, if it was read.
    pub fn bytes(&self, path: &str) -> Option<&[u8]> {
        match &self.file(path)?.content {
            Content::Bytes(bytes) => Some(bytes),
            Content::NotRead | Content::TooLarge => None,
        }
    }

    /// The files below a folder, with their paths in the package.
    pub fn files_below<'s>(&'s self, folder: &str) -> impl Iterator<Item = (&'s str, &'s File)> {
        let prefix = format!("{folder}/");
        let entries = self.entries.range(prefix.clone()..);
        entries
            .take_while(move |(path, _)| path.starts_with(&prefix))
            .filter_map(|(path, entry)| match entry {
                Entry::File(file) => Some((path.as_str(), file)),
                Entry::EmptyFolder | Entry::Refused(_) => None,
            })
    }
}

/// Reads the folder of a package.
pub fn scan(folder: &Path) -> Result<Scanned, Error> {
    let limits = Limits {
        entries: MAX_ENTRIES,
        total_bytes: MAX_TOTAL_BYTES,
    };
    scan_within(folder, limits)
}

fn scan_within(folder: &Path, limits: Limits) -> Result<Scanned, Error> {
    let root = fs_err::canonicalize(folder).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => Error::Missing(folder.to_owned()),
        _ => failed(folder)(source),
    })?;
    if !root.is_dir() {
        return Err(Error::NotAFolder(folder.to_owned()));
    }
    let name = root.file_name().unwrap_or_default();
    let mut walk = Walk {
        shown: folder,
        root: &root,
        limits,
        scanned: Scanned {
            folder_name: name.to_string_lossy().into_owned(),
            ..Scanned::default()
        },
        total: 0,
    };
    walk.folder(&root, "", 0)?;
    let mut scanned = walk.scanned;
    scanned.archive = read_archive(&root, &scanned);
    Ok(scanned)
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io {
        path: path.clone(),
        source,
    }
}

struct Walk<'w> {
    /// The folder as the user typed it.
    shown: &'w Path,
    root: &'w Path,
    limits: Limits,
    scanned: Scanned,
    /// The number of bytes that were read.
    total: u64,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, prefix: &str, depth: usize) -> Result<(), Error> {
        let mut is_empty = true;
        for entry in fs_err::read_dir(folder).map_err(failed(folder))? {
            let entry = entry.map_err(failed(folder))?;
            is_empty = false;
            let name = entry.file_name();
            let path = format!("{prefix}{}", name.to_string_lossy());
            let is_name = name.to_str().is_some_and(is_plain_name);
            let kind = entry.file_type().map_err(failed(&entry.path()))?;
            let found = if !is_name {
                Entry::Refused(Refusal::Name)
            } else if kind.is_dir() {
                if depth + 1 < MAX_DEPTH {
                    self.folder(&entry.path(), &format!("{path}/"), depth + 1)?;
                    continue;
                }
                Entry::Refused(Refusal::TooDeep)
            } else {
                self.leaf(&entry.path(), &path, kind)?
            };
            self.add(path, found)?;
        }
        match prefix.strip_suffix('/') {
            Some(path) if is_empty => self.add(path.to_owned(), Entry::EmptyFolder),
            _ => Ok(()),
        }
    }

    fn add(&mut self, path: String, entry: Entry) -> Result<(), Error> {
        let limit = self.limits.entries;
        if self.scanned.entries.len() >= limit {
            let folder = self.shown.to_owned();
            return Err(Error::TooManyEntries { folder, limit });
        }
        self.scanned.entries.insert(path, entry);
        Ok(())
    }

    /// What is not a folder.
    fn leaf(&mut self, on_disk: &Path, path: &str, kind: FileType) -> Result<Entry, Error> {
        if kind.is_symlink() {
            let target = match self.target(on_disk) {
                Ok(target) => target,
                Err(refusal) => return Ok(Entry::Refused(refusal)),
            };
            return self.file(&target, path);
        }
        match special(kind) {
            Some(special) => Ok(Entry::Refused(Refusal::Special(special))),
            None => self.file(on_disk, path),
        }
    }

    /// The file that a link leads to, inside of the package.
    fn target(&self, link: &Path) -> Result<PathBuf, Refusal> {
        let shown = fs_err::read_link(link).unwrap_or_default();
        let shown = shown.to_string_lossy().into_owned();
        let Ok(target) = fs_err::canonicalize(link) else {
            return Err(Refusal::Dangling(shown));
        };
        if !target.starts_with(self.root) {
            return Err(Refusal::Outside(shown));
        }
        let Ok(metadata) = fs_err::symlink_metadata(&target) else {
            return Err(Refusal::Dangling(shown));
        };
        if metadata.is_dir() {
            return Err(Refusal::LinkToFolder(shown));
        }
        match special(metadata.file_type()) {
            Some(special) => Err(Refusal::Special(special)),
            None => Ok(target),
        }
    }

    fn file(&mut self, on_disk: &Path, path: &str) -> Result<Entry, Error> {
        let failed = failed(on_disk);
        let metadata = fs_err::metadata(on_disk).map_err(&failed)?;
        let content = if !layout::is_checked(path) {
            Content::NotRead
        } else if metadata.len() > MAX_FILE_BYTES {
            Content::TooLarge
        } else {
            let file = fs_err::File::open(on_disk).map_err(&failed)?;
            let mut bytes = Vec::new();
            file.take(MAX_FILE_BYTES + 1)
                .read_to_end(&mut bytes)
                .map_err(&failed)?;
            self.total += bytes.len() as u64;
            let limit = self.limits.total_bytes;
            if self.total > limit {
                let folder = self.shown.to_owned();
                return Err(Error::TooLarge { folder, limit });
            }
            Content::Bytes(bytes)
        };
        Ok(Entry::File(File {
            size: metadata.len(),
            mode: metadata.permissions().mode() & 0o777,
            content,
        }))
    }
}

/// Whether a name can be written to any file system, terminal and shell script.
fn is_plain_name(name: &str) -> bool {
    !name.contains(|char: char| char.is_control() || char == '\\')
}

/// What is neither a file nor a folder nor a link.
fn special(kind: FileType) -> Option<&'static str> {
    if kind.is_block_device() || kind.is_char_device() {
        Some("device")
    } else if kind.is_fifo() {
        Some("named pipe")
    } else if kind.is_socket() {
        Some("socket")
    } else {
        None
    }
}

/// The names of the images of the archive. Blobs are not verified.
fn read_archive(root: &Path, scanned: &Scanned) -> Option<ImageArchive> {
    let path = layout::IMAGE_ARCHIVES.into_iter().find(|path| {
        scanned.file(path).is_some() || scanned.file(&format!("{path}/index.json")).is_some()
    })?;
    let images = Archive::open(&root.join(path)).map(|archive| {
        let images = archive.images().iter();
        images.flat_map(|image| image.names.clone()).collect()
    });
    Some(ImageArchive {
        path: path.to_owned(),
        images: images.map_err(|error| match error {
            outrigger_oci::Error::InvalidArchive { reason, .. } => {
                format!("is not an image archive: {reason}")
            }
            other => other.to_string(),
        }),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn write(folder: &tempfile::TempDir, path: &str, content: &[u8]) -> PathBuf {
        let path = folder.path().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, content).unwrap();
        path
    }

    #[test]
    fn content_is_read_where_it_is_checked() {
        let folder = folder();
        write(&folder, "expansion.yaml", b"name: a");
        write(&folder, "files/etc/a.conf", b"a");
        write(&folder, "provider/1.36.4/amd64/bin/kubelet", b"b");
        fs_err::create_dir(folder.path().join("charts")).unwrap();
        let scanned = scan(folder.path()).unwrap();
        assert_eq!(scanned.bytes("expansion.yaml"), Some(&b"name: a"[..]));
        assert_eq!(scanned.bytes("files/etc/a.conf"), Some(&b"a"[..]));
        let kubelet = scanned.file("provider/1.36.4/amd64/bin/kubelet").unwrap();
        assert_eq!((kubelet.size, &kubelet.content), (1, &Content::NotRead));
        assert_eq!(scanned.entries["charts"], Entry::EmptyFolder);
        let below: Vec<&str> = scanned.files_below("files").map(|(path, _)| path).collect();
        assert_eq!(below, ["files/etc/a.conf"]);
    }

    #[test]
    fn links_inside_are_read_and_others_are_refused() {
        let folder = folder();
        write(&folder, "files/a", b"a");
        let link = |target: &str, name: &str| symlink(target, folder.path().join(name)).unwrap();
        link("a", "files/inside");
        link("/etc/hostname", "files/outside");
        link("../../", "files/above");
        link("gone", "files/dangling");
        link(".", "files/loop");
        let scanned = scan(folder.path()).unwrap();
        assert_eq!(scanned.bytes("files/inside"), Some(&b"a"[..]));
        let refusal = |path: &str| match &scanned.entries[path] {
            Entry::Refused(refusal) => refusal.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            refusal("files/outside"),
            "is a link to /etc/hostname, which is outside of the package"
        );
        assert_eq!(
            refusal("files/above"),
            "is a link to ../../, which is outside of the package"
        );
        assert_eq!(
            refusal("files/dangling"),
            "is a link to gone, which does not exist"
        );
        assert_eq!(
            refusal("files/loop"),
            "is a link to the folder .; only links to files are followed"
        );
    }

    #[test]
    fn sockets_pipes_and_odd_names_are_refused() {
        let folder = folder();
        fs_err::create_dir(folder.path().join("files")).unwrap();
        let _socket = UnixListener::bind(folder.path().join("files/socket")).unwrap();
        let pipe = folder.path().join("files/pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        write(&folder, "files/a\nb", b"");
        let scanned = scan(folder.path()).unwrap();
        let refused = |path: &str| scanned.entries[path].clone();
        assert_eq!(
            refused("files/socket"),
            Entry::Refused(Refusal::Special("socket"))
        );
        assert_eq!(
            refused("files/pipe"),
            Entry::Refused(Refusal::Special("named pipe"))
        );
        assert_eq!(refused("files/a\nb"), Entry::Refused(Refusal::Name));
    }

    #[test]
    fn large_files_are_not_read() {
        let folder = folder();
        let path = write(&folder, "files/large", b"");
        let file = fs_err::OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(MAX_FILE_BYTES + 1).unwrap();
        let scanned = scan(folder.path()).unwrap();
        assert_eq!(
            scanned.file("files/large").unwrap().content,
            Content::TooLarge
        );
    }

    #[test]
    fn a_folder_that_does_not_exist_is_named() {
        let folder = folder();
        let path = folder.path().join("gone");
        let error = scan(&path).unwrap_err().to_string();
        assert_eq!(error, format!("folder {} does not exist", path.display()));
        let file = write(&folder, "file", b"");
        let error = scan(&file).unwrap_err().to_string();
        assert_eq!(error, format!("{} is not a folder", file.display()));
    }

    #[test]
    fn a_package_has_limits() {
        let folder = folder();
        for name in ["a", "b", "c"] {
            write(&folder, &format!("files/{name}"), b"1234");
        }
        let scan = |entries, total_bytes| {
            let limits = Limits {
                entries,
                total_bytes,
            };
            scan_within(folder.path(), limits).map_err(|error| error.to_string())
        };
        let path = folder.path().display();
        assert!(scan(3, 12).is_ok());
        let error = format!("{path} has more than 2 files and folders");
        assert_eq!(scan(2, 12).unwrap_err(), error);
        let error = format!("the files of {path} that are checked have more than 11 bytes");
        assert_eq!(scan(3, 11).unwrap_err(), error);
    }

    #[test]
    fn deep_folders_are_refused() {
        let folder = folder();
        write(&folder, &format!("files/{}x", "d/".repeat(MAX_DEPTH)), b"");
        let scanned = scan(folder.path()).unwrap();
        let refused = scanned.entries.values().next().unwrap();
        assert_eq!(refused, &Entry::Refused(Refusal::TooDeep));
    }
}

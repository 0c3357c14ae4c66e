//! Loads charts from disk. This is the only file of the crate that accesses the file system.
//!
//! The walk follows symbolic links, is in byte order, and respects `.helmignore`.

use std::fs::FileType;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use super::archive::{self, MAX_ARCHIVE, MAX_FILE};
use super::ignore::{self, Rules};
use super::{Error as LoadError, WarnFn, content_type, detect_api_version, from_files};
use outrigger_gotmpl::Data;

use crate::chart::{Chart, File};
use crate::dependency_list;
use crate::go_io;
use crate::lint::{Entry, Source};
use crate::profile::Profile;

/// The maximum depth of folders, so that a symbolic link to a parent does not loop forever.
const MAX_DEPTH: usize = 64;

/// The maximum number of files and folders in a chart folder.
const MAX_ENTRIES: usize = 500_000;

/// The maximum size of all files in a chart folder. Helm has no limit.
const MAX_TOTAL: u64 = 1 << 30;

/// The number of bytes from which the content type of a file is detected.
const HEAD: u64 = 512;

/// The maximum number of files that are kept open: the usual limit of a process is 1024.
const MAX_OPEN_FILES: usize = 256;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("path {0:?} not found")]
    NotFound(String),
    #[error("unable to detect chart at {path}: open {path}: {}", go_io::describe(.source))]
    NoChart { path: String, source: io::Error },
    #[error("{call} {path}: {}", go_io::describe(.source))]
    Io {
        call: &'static str,
        path: String,
        source: io::Error,
    },
    #[error("error evaluating symlink {path}: lstat {path}: {}", go_io::describe(.source))]
    Link { path: String, source: io::Error },
    #[error("cannot load irregular file {0} as it has file mode type bits set")]
    Irregular(String),
    #[error("chart file {0:?} is larger than the maximum file size {MAX_FILE}")]
    FileTooLarge(String),
    #[error("folders are nested more than {MAX_DEPTH} levels deep at {0}")]
    TooDeep(String),
    #[error("folder {0} has more than {MAX_ENTRIES} files and folders")]
    TooManyEntries(String),
    #[error("the files in folder {0} are larger than {MAX_TOTAL} bytes in total")]
    TooLarge(String),
    #[error(transparent)]
    Ignore(#[from] ignore::Error),
    #[error("file '{0}' seems to be a YAML file, but expected a gzipped archive")]
    YamlFile(String),
    #[error("file '{path}' does not appear to be a gzipped archive; got '{found}'")]
    NotAnArchive { path: String, found: &'static str },
    #[error("file '{path}' does not appear to be a valid chart file (details: {source})")]
    NotAChart {
        path: String,
        source: archive::Error,
    },
    #[error("unable to load chart archive")]
    Archive(#[source] archive::Error),
}

/// Loads the chart in a folder or in a `.tgz`.
pub fn load_path(path: &Path, profile: Profile, warn: WarnFn<'_>) -> Result<Chart, LoadError> {
    load(path, profile, 0, warn)
}

/// As [`load_path`], but files of a folder that templates may not use are only opened, and read on first access. For
/// charts that are used for a short time.
pub fn load_path_lazily(
    path: &Path,
    profile: Profile,
    warn: WarnFn<'_>,
) -> Result<Chart, LoadError> {
    load(path, profile, MAX_OPEN_FILES, warn)
}

fn load(
    path: &Path,
    profile: Profile,
    max_lazy_files: usize,
    warn: WarnFn<'_>,
) -> Result<Chart, LoadError> {
    let metadata =
        fs_err::metadata(path).map_err(|_| Error::NotFound(path.display().to_string()))?;
    if metadata.is_dir() {
        let files = walk_folder(path, profile, max_lazy_files)?;
        from_files(files, profile, warn)
    } else {
        load_archive(path, profile, warn)
    }
}

fn load_archive(path: &Path, profile: Profile, warn: WarnFn<'_>) -> Result<Chart, LoadError> {
    let absolute_path = absolute(path)?.display().to_string();
    let failed = |source| Error::io("open", path, source);
    let (file, size) = open_file(path).map_err(failed)?;
    let mut head = Vec::new();
    let read = (&file).take(HEAD).read_to_end(&mut head);
    read.map_err(failed)?;
    if !head.starts_with(&[0x1f, 0x8b, 0x08]) {
        let is_yaml = path
            .extension()
            .is_some_and(|extension| extension == "yml" || extension == "yaml");
        let found = content_type::detect(&head);
        let error = if is_yaml {
            Error::YamlFile(absolute_path)
        } else {
            Error::NotAnArchive {
                path: absolute_path,
                found,
            }
        };
        return Err(error.into());
    }
    (&file).rewind().map_err(failed)?;
    let bytes = read_to_limit(&file, size, MAX_ARCHIVE).map_err(failed)?;
    match super::from_archive(&bytes, profile, warn) {
        Err(LoadError::Archive(source @ archive::Error::Header)) => Err(Error::NotAChart {
            path: absolute_path,
            source,
        }
        .into()),
        Err(LoadError::Archive(source))
            if profile.rules().detects_api_version
                && !matches!(source, archive::Error::NoChart) =>
        {
            Err(Error::Archive(source).into())
        }
        other => other,
    }
}

/// The files of a chart folder that `.helmignore` does not exclude, for [`from_files`].
pub fn read_folder(path: &Path, profile: Profile) -> Result<Vec<File>, LoadError> {
    walk_folder(path, profile, 0)
}

fn walk_folder(
    path: &Path,
    profile: Profile,
    max_lazy_files: usize,
) -> Result<Vec<File>, LoadError> {
    let root = absolute(path)?;
    if profile.rules().detects_api_version {
        let chart_yaml = root.join("Chart.yaml");
        let data = read_file(&chart_yaml, MAX_FILE).map_err(|source| Error::NoChart {
            path: chart_yaml.display().to_string(),
            source,
        })?;
        detect_api_version(&data)?;
    }
    let ignore_file = root.join(ignore::FILE_NAME);
    let text = match read_file(&ignore_file, MAX_FILE) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(source) => return Err(Error::io("open", &ignore_file, source).into()),
    };
    let mut walk = Walk {
        root: &root,
        rules: Rules::parse(&text).map_err(Error::Ignore)?,
        files: Vec::new(),
        max_lazy_files,
        max_entries: MAX_ENTRIES,
        max_bytes: MAX_TOTAL,
    };
    walk.folder(&root, "", 0)?;
    Ok(walk.files)
}

/// The entries of `charts/` in the folder of a chart, in byte order.
pub fn charts_entries(path: &Path, profile: Profile) -> Vec<dependency_list::Entry> {
    let folder = path.join("charts");
    let mut names: Vec<_> = fs_err::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    names.sort_unstable();
    let mut entries = Vec::new();
    for name in names {
        let file_name = name.to_string_lossy().into_owned();
        let path = folder.join(&name);
        let is_folder = path.is_dir();
        if is_folder || outrigger_gostd::path::ext(&file_name) == ".tgz" {
            entries.push(dependency_list::Entry {
                file_name,
                is_folder,
                chart: load_path(&path, profile, &mut |_| {}),
            });
        }
    }
    entries
}

/// Reads the files that lint checks, from a folder or an archive.
pub fn lint_source(path: &Path, profile: Profile, warn: WarnFn<'_>) -> Source {
    let chart = load_path(path, profile, warn);
    let entry = |name: &str| match fs_err::metadata(path.join(name)) {
        Ok(metadata) if metadata.is_dir() => Entry::Folder,
        Ok(_) => read_file(&path.join(name), MAX_FILE).map_or(Entry::Missing, Entry::File),
        Err(_) => Entry::Missing,
    };
    if path.is_dir() {
        return Source {
            path: path.display().to_string(),
            absolute_path: absolute_text(path),
            chart_yaml: entry("Chart.yaml"),
            values_yaml: entry("values.yaml"),
            schema: entry("values.schema.json"),
            templates: entry("templates"),
            crds: entry("crds"),
            chart,
        };
    }
    archive_source(path, chart, profile)
}

fn archive_source(path: &Path, chart: Result<Chart, LoadError>, profile: Profile) -> Source {
    let bytes = read_file(path, MAX_ARCHIVE).unwrap_or_default();
    let files = archive::read(&bytes, profile).unwrap_or_default();
    let file = |name: &str| {
        let file = files.iter().find(|file| file.name == name);
        file.map_or(Entry::Missing, |file| Entry::File(file.data.to_vec()))
    };
    let folder = |prefix: &str| {
        let exists = files.iter().any(|file| file.name.starts_with(prefix));
        if exists {
            Entry::Folder
        } else {
            Entry::Missing
        }
    };
    Source {
        path: path.display().to_string(),
        absolute_path: absolute_text(path),
        chart_yaml: file("Chart.yaml"),
        values_yaml: file("values.yaml"),
        schema: file("values.schema.json"),
        templates: folder("templates/"),
        crds: folder("crds/"),
        chart,
    }
}

/// The path as typed if the working directory is unknown.
fn absolute_text(path: &Path) -> String {
    let absolute = absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.display().to_string()
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|source| Error::io("getwd", path, source))
}

struct Walk<'w> {
    root: &'w Path,
    rules: Rules,
    files: Vec<File>,
    /// The number of files that may still be read lazily.
    max_lazy_files: usize,
    /// The number of files and folders that may still be visited.
    max_entries: usize,
    /// The number of bytes that files may still have.
    max_bytes: u64,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, prefix: &str, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Error::TooDeep(folder.display().to_string()));
        }
        let mut names = Vec::new();
        let entries =
            fs_err::read_dir(folder).map_err(|source| Error::io("open", folder, source))?;
        for entry in entries {
            let entry = entry.map_err(|source| Error::io("readdirent", folder, source))?;
            self.max_entries = self
                .max_entries
                .checked_sub(1)
                .ok_or_else(|| Error::TooManyEntries(self.root.display().to_string()))?;
            let kind = entry.file_type().ok();
            names.push((entry.file_name(), kind));
        }
        names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (name, kind) in names {
            let path = folder.join(&name);
            let relative = format!("{prefix}{}", name.to_string_lossy());
            self.entry(&path, relative, kind, depth)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        path: &Path,
        relative: String,
        kind: Option<FileType>,
        depth: usize,
    ) -> Result<(), Error> {
        // The directory entry has the type of the file, unless it is a link.
        let kind = match kind {
            Some(kind) if !kind.is_symlink() => kind,
            _ => fs_err::metadata(path)
                .map_err(|source| Error::link(path, source))?
                .file_type(),
        };
        if self.rules.ignores(&relative, kind.is_dir()) {
            return Ok(());
        }
        if kind.is_dir() {
            return self.folder(path, &format!("{relative}/"), depth + 1);
        }
        if !kind.is_file() {
            return Err(Error::Irregular(path.display().to_string()));
        }
        self.file(path, relative)
    }

    fn file(&mut self, path: &Path, name: String) -> Result<(), Error> {
        let failed = |source| Error::io("open", path, source);
        let (file, size) = open_file(path).map_err(failed)?;
        if size > MAX_FILE {
            let name = outrigger_gostd::path::base(&name);
            return Err(Error::FileTooLarge(name.to_owned()));
        }
        self.max_bytes = self
            .max_bytes
            .checked_sub(size)
            .ok_or_else(|| Error::TooLarge(self.root.display().to_string()))?;
        let read = move || {
            let mut data = read_to_limit(&file, size, MAX_FILE)?;
            archive::strip_byte_order_mark(&mut data);
            Ok(data)
        };
        let data = if self.max_lazy_files > 0 && !is_read_on_load(&name) {
            self.max_lazy_files -= 1;
            Data::lazy(read)
        } else {
            read().map_err(failed)?.into()
        };
        self.files.push(File { name, data });
        Ok(())
    }
}

/// Whether loading a chart reads the file.
fn is_read_on_load(name: &str) -> bool {
    let (folder, base) = name.rsplit_once('/').unwrap_or(("", name));
    let is_template = folder.split('/').any(|part| part == "templates");
    is_template
        || base.starts_with("Chart.")
        || base.starts_with("values.")
        || base.starts_with("requirements.")
        || outrigger_gostd::path::ext(base) == ".tgz"
}

/// Reads a regular file that has at most `limit` bytes.
pub fn read_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (file, size) = open_file(path)?;
    read_to_limit(&file, size, limit)
}

/// Opens a regular file, and returns it with its size. Opening a named pipe would block.
fn open_file(path: &Path) -> io::Result<(std::fs::File, u64)> {
    if !fs_err::metadata(path)?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ));
    }
    // Without the wrapper, whose reader initializes the buffer first.
    let (file, _) = fs_err::File::open(path)?.into_parts();
    let size = file.metadata()?.len();
    Ok((file, size))
}

/// Reads the rest of a file, whose size is about `size`.
fn read_to_limit(file: &std::fs::File, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    let too_large = || {
        io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("file is larger than {limit} bytes"),
        )
    };
    if size > limit {
        return Err(too_large());
    }
    let mut data = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
    file.take(limit + 1).read_to_end(&mut data)?;
    if data.len() as u64 > limit {
        return Err(too_large());
    }
    Ok(data)
}

impl Error {
    fn link(path: &Path, source: io::Error) -> Self {
        Self::Link {
            path: path.display().to_string(),
            source,
        }
    }

    fn io(call: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            call,
            path: path.display().to_string(),
            source,
        }
    }
}

//! Reads the headers of a tar, and the small files that describe its images.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::path::Path;

use super::metered::Meter;
use super::reader::Reader;
use super::{Archive, Entry, Position, docker, invalid, layout};
use crate::error::Error;
use crate::manifest::MAX_MANIFEST;

/// Entries of an archive.
const MAX_ENTRIES: usize = 200_000;

/// Bytes of all small files together.
const MAX_SMALL: u64 = 32 << 20;

/// What manifests and configs contain, and other documents in an archive, such as SBOMs, do not.
const MARKS: &[&[u8]] = &[b"\"schemaVersion\"", b"\"rootfs\""];

/// The content of a tar by name: where each file is, what small files contain, and where links point to.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) files: BTreeMap<String, File>,
    links: HashMap<String, String>,
    /// Bytes of the texts
    small: u64,
}

#[derive(Debug)]
pub(super) struct File {
    pub(super) start: u64,
    pub(super) size: u64,
    pub(super) is_gzip: bool,
    /// The content, if the file is small and may be JSON
    pub(super) text: Option<Vec<u8>>,
}

pub(super) fn open(path: &Path) -> Result<Archive, Error> {
    let failed = |error| Error::io(path, error);
    let mut reader = Reader::open(path).map_err(failed)?;
    let is_compressed = reader.is_compressed();
    let meter = Meter::new();
    let contents = if is_compressed {
        let mut archive = tar::Archive::new(meter.reader(&mut reader));
        scan(archive.entries().map_err(failed)?, &meter, path, true)?
    } else {
        let file = fs_err::File::open(path).map_err(failed)?.into_parts().0;
        let length = file.metadata().map_err(failed)?.len();
        let mut archive = tar::Archive::new(meter.reader(file));
        let entries = archive.entries_with_seek().map_err(failed)?;
        let contents = scan(entries, &meter, path, false)?;
        check_length(&contents, length, path)?;
        contents
    };
    let mut archive = Archive {
        path: path.to_owned(),
        images: Vec::new(),
        attached: Vec::new(),
        small: HashMap::new(),
        blobs: HashMap::new(),
        is_compressed,
        position: Position::default(),
    };
    if contents.text("index.json").is_some() && contents.text("oci-layout").is_some() {
        layout::read_tar(&mut archive, &contents)?;
    } else if contents.text("manifest.json").is_some() {
        docker::read(&mut archive, &contents)?;
    } else {
        return Err(invalid(path, "it has neither index.json nor manifest.json"));
    }
    Ok(archive)
}

fn scan<R: Read>(
    mut entries: tar::Entries<'_, R>,
    meter: &Meter,
    path: &Path,
    is_compressed: bool,
) -> Result<Contents, Error> {
    let broken =
        |error: std::io::Error| invalid(path, format!("it is truncated or damaged: {error}"));
    let mut contents = Contents::default();
    for count in 0.. {
        meter.expect_header();
        let Some(entry) = entries.next() else {
            break;
        };
        let mut entry = entry.map_err(broken)?;
        if count >= MAX_ENTRIES {
            return Err(invalid(
                path,
                format!("it has more than {MAX_ENTRIES} entries"),
            ));
        }
        meter.expect_content();
        contents.add(&mut entry).map_err(broken)?;
        if contents.small > MAX_SMALL {
            return Err(invalid(
                path,
                format!("its manifests have more than {MAX_SMALL} bytes"),
            ));
        }
        if is_compressed {
            // The next header is read after the rest, which does not count as a part of it.
            std::io::copy(&mut entry, &mut std::io::sink()).map_err(broken)?;
        }
    }
    Ok(contents)
}

/// Whether a file describes an image.
fn is_description(name: &str, text: &[u8]) -> bool {
    let contains = |mark: &&[u8]| text.windows(mark.len()).any(|part| part == *mark);
    let extension = Path::new(name).extension();
    let is_json = extension.is_some_and(|extension| extension == "json");
    is_json || name == "oci-layout" || MARKS.iter().any(contains)
}

fn check_length(contents: &Contents, length: u64, path: &Path) -> Result<(), Error> {
    let end = contents
        .files
        .values()
        .map(|file| file.start.saturating_add(file.size))
        .max();
    if end.unwrap_or_default() > length {
        return Err(invalid(path, "it is truncated"));
    }
    Ok(())
}

/// A name without `./`.
fn normalized(name: &str) -> String {
    name.trim_start_matches("./")
        .trim_start_matches('/')
        .to_owned()
}

impl Contents {
    fn add<R: Read>(&mut self, entry: &mut tar::Entry<'_, R>) -> std::io::Result<()> {
        let name = normalized(&String::from_utf8_lossy(&entry.path_bytes()));
        let kind = entry.header().entry_type();
        if kind.is_symlink() || kind.is_hard_link() {
            let target = entry
                .link_name_bytes()
                .map(|name| String::from_utf8_lossy(&name).into_owned());
            self.add_link(name, &target.unwrap_or_default(), kind.is_symlink());
            return Ok(());
        }
        if !kind.is_file() {
            return Ok(());
        }
        let (start, size) = (entry.raw_file_position(), entry.size());
        let mut head = [0; 2];
        let head_length = usize::try_from(size.min(2)).unwrap_or(2);
        entry.read_exact(&mut head[..head_length])?;
        let may_be_json = size <= MAX_MANIFEST && matches!(head[0], b'{' | b'[' | b' ' | b'\n');
        let mut text = None;
        if may_be_json {
            let mut content = head[..head_length].to_vec();
            entry.read_to_end(&mut content)?;
            text = Some(content).filter(|content| is_description(&name, content));
        }
        self.small += text.as_ref().map_or(0, |text| text.len() as u64);
        let is_gzip = head == [0x1f, 0x8b];
        let file = File {
            start,
            size,
            is_gzip,
            text,
        };
        self.files.insert(name, file);
        Ok(())
    }

    pub(super) fn text(&self, name: &str) -> Option<&[u8]> {
        self.file(name)?.text.as_deref()
    }

    /// A file by its name. Links lead to other files of the archive only.
    pub(super) fn file(&self, name: &str) -> Option<&File> {
        let mut name = normalized(name);
        for _ in 0..8 {
            if let Some(file) = self.files.get(&name) {
                return Some(file);
            }
            name = self.links.get(&name)?.clone();
        }
        None
    }

    fn add_link(&mut self, name: String, target: &str, is_symbolic: bool) {
        let mut parts: Vec<&str> = if is_symbolic && !target.starts_with('/') {
            name.rsplit_once('/')
                .map(|(folder, _)| folder.split('/').collect())
                .unwrap_or_default()
        } else {
            Vec::new()
        };
        for part in target.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop();
                }
                part => parts.push(part),
            }
        }
        let target = parts.join("/");
        self.links.insert(name, target);
    }
}

impl Entry {
    pub(super) fn of(file: &File) -> Self {
        Self::At {
            start: file.start,
            size: file.size,
        }
    }
}

//! Image archives with one layer, as `docker save` writes them. They are reproducible.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use fs_err as fs;
use outrigger_peers::Peer;
use serde_json::json;

use crate::dist::digest;

/// Where the content of a file is.
#[derive(Debug, Clone)]
pub(super) enum Content {
    File(PathBuf),
    Text(&'static str),
    /// A symbolic link.
    Link(String),
}

/// The contents of an image. Paths are relative to its root.
#[derive(Debug, Default)]
pub(super) struct Image {
    pub(super) reference: String,
    pub(super) files: Vec<(String, Content)>,
    pub(super) folders: Vec<&'static str>,
    pub(super) entrypoint: Option<String>,
}

impl Image {
    /// An image with one static program, which it runs.
    pub(super) fn of_program(reference: &str, peer: Peer, path: &str) -> anyhow::Result<Self> {
        Ok(Self {
            reference: reference.to_owned(),
            files: vec![(path.to_owned(), Content::File(peer.installed()?))],
            entrypoint: Some(format!("/{path}")),
            ..Self::default()
        })
    }

    pub(super) fn write(&self, archive: &Path) -> anyhow::Result<()> {
        let layer = self.layer()?;
        let config = json!({
            "architecture": architecture(), "os": "linux", "created": "1970-01-01T00:00:00Z",
            "config": {
                "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
                "Entrypoint": self.entrypoint.as_ref().map(|program| [program]), "WorkingDir": "/",
            },
            "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", digest(&layer))]},
            "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "cargo xtask peers lab"}],
        });
        let config = serde_json::to_vec(&config)?;
        let config_name = format!("{}.json", digest(&config));
        let manifest = json!([{
            "Config": config_name, "RepoTags": [self.reference], "Layers": ["layer.tar"],
        }]);
        let manifest = serde_json::to_vec(&manifest)?;
        let mut tar = tar::Builder::new(fs::File::create(archive)?);
        for (name, bytes) in [
            (config_name.as_str(), &config),
            ("layer.tar", &layer),
            ("manifest.json", &manifest),
        ] {
            append(&mut tar, name, 0o644, bytes)?;
        }
        Ok(tar.into_inner()?.sync_all()?)
    }

    fn layer(&self) -> anyhow::Result<Vec<u8>> {
        let mut tar = tar::Builder::new(Vec::new());
        let paths = self.files.iter().map(|(path, _)| Path::new(path).parent());
        let folders = self.folders.iter().map(|folder| Some(Path::new(folder)));
        let parents = paths.chain(folders).flatten().flat_map(Path::ancestors);
        let parents: BTreeSet<&Path> = parents.filter(|path| *path != Path::new("")).collect();
        for folder in parents {
            let mut header = header(tar::EntryType::Directory, 0o755, 0);
            tar.append_data(&mut header, folder.join(""), std::io::empty())?;
        }
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by_key(|(path, _)| path);
        for (path, content) in files {
            match content {
                Content::Text(text) => append(&mut tar, path, 0o644, text.as_bytes())?,
                Content::Link(target) => {
                    let mut header = header(tar::EntryType::Symlink, 0o777, 0);
                    tar.append_link(&mut header, path, target)?;
                }
                Content::File(source) => {
                    let mut bytes = Vec::new();
                    fs::File::open(source)?.read_to_end(&mut bytes)?;
                    append(&mut tar, path, 0o755, &bytes)?;
                }
            }
        }
        Ok(tar.into_inner()?)
    }
}

fn header(kind: tar::EntryType, mode: u32, size: usize) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size as u64);
    header
}

fn append(
    tar: &mut tar::Builder<impl std::io::Write>,
    path: &str,
    mode: u32,
    bytes: &[u8],
) -> anyhow::Result<()> {
    let mut header = header(tar::EntryType::Regular, mode, bytes.len());
    Ok(tar.append_data(&mut header, path, bytes)?)
}

/// Go's name of the architecture.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(bytes: &[u8]) -> Vec<String> {
        let mut archive = tar::Archive::new(bytes);
        let entries = archive.entries().unwrap();
        let name = |entry: tar::Entry<'_, _>| entry.path().unwrap().display().to_string();
        entries.map(|entry| name(entry.unwrap())).collect()
    }

    #[test]
    fn archives_are_reproducible_and_folders_come_before_files() {
        let image = Image {
            reference: "example.test/a:1".to_owned(),
            files: vec![
                ("usr/bin/a".to_owned(), Content::Text("text")),
                ("bin/sh".to_owned(), Content::Link("busybox".to_owned())),
            ],
            folders: vec!["tmp"],
            entrypoint: None,
        };
        let layer = image.layer().unwrap();
        assert_eq!(
            names(&layer),
            ["bin/", "tmp/", "usr/", "usr/bin/", "bin/sh", "usr/bin/a"]
        );
        let folder = tempfile::tempdir().unwrap();
        let archives = ["1.tar", "2.tar"].map(|name| folder.path().join(name));
        let bytes = archives.each_ref().map(|archive| {
            image.write(archive).unwrap();
            fs::read(archive).unwrap()
        });
        assert_eq!(bytes[0], bytes[1]);
        assert_eq!(names(&bytes[0]).len(), 3);
    }
}

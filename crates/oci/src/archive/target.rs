//! Where images are saved: an archive or a folder, which its name and what exists decide.

use std::path::{Path, PathBuf};

/// What images are written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaveTarget {
    /// An OCI layout in a folder, which need not exist
    Folder(PathBuf),
    /// A tar with an OCI layout
    Archive(PathBuf, Compression),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    None,
    Gzip,
    Zstd,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is neither a folder nor the name of an archive", .0.display())]
pub struct InvalidTarget(PathBuf);

impl InvalidTarget {
    pub fn hint(&self) -> String {
        let path = self.0.display();
        let name = self.0.to_string_lossy();
        let archive = match name.rfind(".tar.") {
            Some(end) => &name[..end],
            None => &name,
        };
        format!(
            "use {path}/ for an OCI layout in a folder, or {archive}.tar, {archive}.tar.gz or {archive}.tar.zst for an archive"
        )
    }
}

/// The ends of the names of archives.
const ARCHIVES: [(&str, Compression); 6] = [
    (".tar", Compression::None),
    (".tar.gz", Compression::Gzip),
    (".tgz", Compression::Gzip),
    (".tar.zst", Compression::Zstd),
    (".tar.zstd", Compression::Zstd),
    (".tzst", Compression::Zstd),
];

impl SaveTarget {
    /// A folder that exists, or whose name ends with a slash, gets an OCI layout. Else the name must be that of an archive.
    pub fn of(path: &Path) -> Result<Self, InvalidTarget> {
        let bytes = path.as_os_str().as_encoded_bytes();
        if path.is_dir() || bytes.ends_with(b"/") {
            return Ok(Self::Folder(path.to_owned()));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.to_ascii_lowercase();
        let found = ARCHIVES
            .iter()
            .find(|(end, _)| name.ends_with(end) && name.len() > end.len());
        let (_, compression) = found.ok_or_else(|| InvalidTarget(path.to_owned()))?;
        Ok(Self::Archive(path.to_owned(), *compression))
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::Folder(path) | Self::Archive(path, _) => path,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_decides_between_a_folder_and_an_archive() {
        let folder = tempfile::tempdir().unwrap();
        let check = |name: &str| {
            let path = folder.path().join(name);
            match SaveTarget::of(&path) {
                Ok(SaveTarget::Folder(_)) => "folder",
                Ok(SaveTarget::Archive(_, Compression::None)) => "tar",
                Ok(SaveTarget::Archive(_, Compression::Gzip)) => "gzip",
                Ok(SaveTarget::Archive(_, Compression::Zstd)) => "zstd",
                Err(_) => "error",
            }
        };
        for (name, expected) in [
            ("a.tar", "tar"),
            ("a.tar.gz", "gzip"),
            ("a.TGZ", "gzip"),
            ("a.tar.zst", "zstd"),
            ("a/", "folder"),
            ("a", "error"),
            ("a.zip", "error"),
            ("a.zst", "error"),
            (".tar", "error"),
        ] {
            assert_eq!(check(name), expected, "{name}");
        }
        fs_err::create_dir(folder.path().join("a")).unwrap();
        fs_err::create_dir(folder.path().join("b.tar")).unwrap();
        assert_eq!((check("a"), check("b.tar")), ("folder", "folder"));
        fs_err::write(folder.path().join("file"), "").unwrap();
        assert_eq!(check("file"), "error");
        let error = SaveTarget::of(Path::new("images")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "images is neither a folder nor the name of an archive"
        );
        assert!(error.hint().contains("use images/ for an OCI layout"));
        let hint = SaveTarget::of(Path::new("foo.tar.xz")).unwrap_err().hint();
        assert!(hint.ends_with("or foo.tar.zst for an archive"), "{hint}");
    }
}

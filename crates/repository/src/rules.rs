//! Which sources a fetcher may use: files on its node, and servers at addresses of its node.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use outrigger_transport::{is_local_url, redact};
use url::Url;

use crate::Error;

/// The defaults allow everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// The directories that `file://` sources must be in; `None` allows all files.
    pub file_roots: Option<Vec<PathBuf>>,
    /// Refuse loopback, link-local and unspecified addresses.
    pub refuse_local_addresses: bool,
}

impl Rules {
    /// Whether a local source is in an allowed directory. Symbolic links count as what they point to.
    pub(crate) fn check_path(&self, path: &Path) -> Result<(), Error> {
        let Some(roots) = &self.file_roots else {
            return Ok(());
        };
        let is_inside = if let Ok(path) = fs_err::canonicalize(path) {
            roots.iter().any(|root| {
                let root = fs_err::canonicalize(root);
                root.is_ok_and(|root| path.starts_with(root))
            })
        } else {
            // It does not exist, which is reported only for allowed directories.
            let is_plain = !path.components().any(|part| part == Component::ParentDir);
            is_plain && roots.iter().any(|root| path.starts_with(root))
        };
        if is_inside {
            return Ok(());
        }
        Err(Error::FileNotAllowed {
            path: path.to_owned(),
        })
    }

    /// Whether the index of a directory, if it has one, is in an allowed directory.
    pub(crate) fn check_index(&self, directory: &Path) -> Result<(), Error> {
        let index = directory.join("index.yaml");
        if index.is_file() {
            self.check_path(&index)?;
        }
        Ok(())
    }

    /// Whether all symbolic links in a directory, and in the directories that they point to, stay in allowed directories.
    pub(crate) fn check_links(&self, directory: &Path) -> Result<(), Error> {
        if self.file_roots.is_none() {
            return Ok(());
        }
        self.check_path(directory)?;
        let mut pending = vec![directory.to_owned()];
        let mut seen = HashSet::new();
        while let Some(directory) = pending.pop() {
            if !seen.insert(fs_err::canonicalize(&directory).unwrap_or_else(|_| directory.clone()))
            {
                continue;
            }
            // What cannot be read is reported by whoever reads the files.
            let entries = fs_err::read_dir(&directory).into_iter().flatten().flatten();
            for entry in entries {
                let path = entry.path();
                if path.is_symlink() {
                    self.check_path(&path)?;
                }
                if path.is_dir() {
                    pending.push(path);
                }
            }
        }
        Ok(())
    }

    /// Whether a URL may be requested. Names are checked when they are resolved.
    pub(crate) fn check_url(&self, url: &Url) -> Result<(), Error> {
        if self.refuse_local_addresses && is_local_url(url) {
            return Err(Error::AddressNotAllowed { url: redact(url) });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_below_an_allowed_directory_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let (inside, outside) = (
            directory.path().join("charts"),
            directory.path().join("etc"),
        );
        for path in [&inside, &outside] {
            fs_err::create_dir_all(path.join("web")).unwrap();
        }
        fs_err::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
        let rules = Rules {
            file_roots: Some(vec![inside.clone()]),
            ..Rules::default()
        };
        for allowed in ["", "web", "missing"] {
            rules.check_path(&inside.join(allowed)).unwrap();
        }
        for refused in ["../etc", "link", "link/web", "../missing", "../charts-2"] {
            assert!(
                rules.check_path(&inside.join(refused)).is_err(),
                "{refused}"
            );
        }
        let none = Rules {
            file_roots: Some(Vec::new()),
            ..Rules::default()
        };
        assert!(none.check_path(&inside).is_err());
        assert!(Rules::default().check_path(&outside).is_ok());
    }

    #[test]
    fn a_link_in_a_chart_that_leaves_the_allowed_directory_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let (charts, outside) = (
            directory.path().join("charts"),
            directory.path().join("secret"),
        );
        let templates = charts.join("web/templates");
        fs_err::create_dir_all(&templates).unwrap();
        fs_err::create_dir_all(charts.join("shared")).unwrap();
        fs_err::write(&outside, "hunter2").unwrap();
        let link = |from: PathBuf, to: PathBuf| fs_err::os::unix::fs::symlink(from, to);
        link(charts.join("shared"), charts.join("web/files")).unwrap();
        link(charts.join("web"), templates.join("loop")).unwrap();
        let rules = Rules {
            file_roots: Some(vec![charts.clone()]),
            ..Rules::default()
        };
        rules.check_links(&charts.join("web")).unwrap();
        link(outside, charts.join("shared/notes.txt")).unwrap();
        let error = rules.check_links(&charts.join("web")).unwrap_err();
        assert!(error.to_string().contains("notes.txt"), "{error}");
        Rules::default().check_links(&charts.join("web")).unwrap();
    }

    #[test]
    fn addresses_of_the_node_are_refused() {
        let rules = Rules {
            refuse_local_addresses: true,
            ..Rules::default()
        };
        let rows = [
            ("http://10.0.0.1/charts", true),
            ("https://charts.example.com", true),
            ("http://127.0.0.1:9/charts", false),
            ("http://2130706433/charts", false),
            ("http://169.254.169.254/latest/meta-data", false),
            ("http://[::1]/charts", false),
            ("http://[::ffff:127.0.0.1]/charts", false),
            ("http://[fe80::1]/charts", false),
            ("http://0.0.0.0/charts", false),
        ];
        for (text, is_allowed) in rows {
            let url = Url::parse(text).unwrap();
            assert_eq!(rules.check_url(&url).is_ok(), is_allowed, "{text}");
            assert!(Rules::default().check_url(&url).is_ok());
        }
    }
}

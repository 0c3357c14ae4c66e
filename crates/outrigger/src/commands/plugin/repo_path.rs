//! Makes paths of repositories absolute, since the controller runs in another working directory.

use std::path::{Component, Path, PathBuf};

use anyhow::anyhow;

use crate::report::HintExt as _;

/// Converts a path, or a relative `file://` URL, to an absolute `file://` URL. Other sources are unchanged.
pub(crate) fn absolute(repo: &str, base: &Path) -> String {
    let path = match repo.strip_prefix("file://") {
        Some(path) => path,
        None if is_path(repo) => repo,
        None => return repo.to_owned(),
    };
    format!("file://{}", clean(&base.join(path)).display())
}

/// Rejects a path that does not exist. An absolute `file://` URL is not checked: it may be on another machine, that of the
/// controller.
pub(super) fn ensure_exists(source: &str, base: &Path) -> anyhow::Result<()> {
    let path = match source.strip_prefix("file://") {
        Some(path) if path.starts_with('/') => return Ok(()),
        Some(path) => path,
        None if is_path(source) => source,
        None => return Ok(()),
    };
    if base.join(path).exists() {
        return Ok(());
    }
    Err(anyhow!("{source} does not exist"))
        .hint("file:///PATH is a path on the machine of the controller")
}

/// Whether the source is a path, not a name or a URL.
pub(super) fn is_path(text: &str) -> bool {
    text.starts_with(['/', '.'])
}

/// Resolves `.` and `..` lexically.
fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                cleaned.pop();
            }
            part => cleaned.push(part),
        }
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolves_relative_paths_against_the_working_directory() {
        let absolute = |repo| absolute(repo, Path::new("/work/shop"));
        assert_eq!(absolute("./charts"), "file:///work/shop/charts");
        assert_eq!(absolute("../charts"), "file:///work/charts");
        assert_eq!(absolute("/srv/charts"), "file:///srv/charts");
        assert_eq!(
            absolute("file://./examples/charts"),
            "file:///work/shop/examples/charts"
        );
        assert_eq!(absolute("file:///srv/charts"), "file:///srv/charts");
        assert_eq!(
            absolute("https://charts.example.com"),
            "https://charts.example.com"
        );
        assert_eq!(absolute("stable"), "stable");
    }

    #[test]
    fn a_path_must_exist_and_a_url_need_not() {
        let directory = tempfile::tempdir().unwrap();
        fs_err::create_dir(directory.path().join("charts")).unwrap();
        let ensure_exists = |source: &str| ensure_exists(source, directory.path());
        for source in [
            "./charts",
            "file://charts",
            "file:///nope",
            "https://nope",
            "nope",
        ] {
            ensure_exists(source).unwrap();
        }
        for source in ["./nope", "../nope/charts", "/nope", "file://nope"] {
            let error = ensure_exists(source).unwrap_err();
            assert_eq!(error.to_string(), format!("{source} does not exist"));
        }
    }
}

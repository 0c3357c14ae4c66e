//! Makes paths of repositories absolute, since the controller runs in another working directory.

use std::path::{Component, Path, PathBuf};

/// Converts a path, or a relative `file://` URL, to an absolute `file://` URL. Other sources are unchanged.
pub(crate) fn absolute(repo: &str, base: &Path) -> String {
    let path = match repo.strip_prefix("file://") {
        Some(path) => path,
        None if is_path(repo) => repo,
        None => return repo.to_owned(),
    };
    format!("file://{}", clean(&base.join(path)).display())
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
}

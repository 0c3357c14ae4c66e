//! Paths that mean the same wherever the controller runs.

use std::path::{Component, Path, PathBuf};

/// Makes a `file://` URL of a path, and an absolute one of a relative one. Other texts stay as they are.
pub(super) fn absolute(repo: &str, base: &Path) -> String {
    let path = match repo.strip_prefix("file://") {
        Some(path) => path,
        None if is_path(repo) => repo,
        None => return repo.to_owned(),
    };
    format!("file://{}", clean(&base.join(path)).display())
}

/// Whether a text is a path and not a name or a URL.
pub(super) fn is_path(text: &str) -> bool {
    text.starts_with(['/', '.'])
}

/// Without `.` and `..`, whether or not the path exists.
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
    fn relative_paths_begin_where_the_user_is() {
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

//! The layout of the folder of a package: which names there are, and what is below them.

use crate::definition::{DEFINITION, SCHEMA, VALUES};

/// What a name at the top of a package is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Top {
    /// A folder whose files `expansion.yaml` lists under the key of the same name.
    Listed,
    /// The program that `operator` names.
    Operator,
    /// The archive of images: a file or the folder of an OCI layout.
    Images,
    /// A file of the format.
    Known,
    /// A file for people.
    Document,
}

/// All names at the top of a package.
const TOP: [(&str, Top); 14] = [
    (DEFINITION, Top::Known),
    (VALUES, Top::Known),
    (SCHEMA, Top::Known),
    ("charts", Top::Listed),
    ("files", Top::Listed),
    ("hooks", Top::Listed),
    ("provider", Top::Listed),
    ("plugins", Top::Listed),
    ("operator", Top::Operator),
    ("images.tar.gz", Top::Images),
    ("images.tar", Top::Images),
    (IMAGES, Top::Images),
    ("README.md", Top::Document),
    ("LICENSE", Top::Document),
];

/// The folder of an OCI layout.
pub(crate) const IMAGES: &str = "images";

/// Where the images may be. The first is that of TKEStack.
pub(crate) const IMAGE_ARCHIVES: [&str; 3] = ["images.tar.gz", "images.tar", IMAGES];

/// What describes a built package itself. It is not part of the folder that the package was built from.
pub(crate) const ROOT: &str = ".outrigger/root.json";
pub(crate) const SIGNATURES: &str = ".outrigger/signatures.json";
pub(crate) const LOCK: &str = ".outrigger/lock.json";

/// The longest path of a built package.
pub(crate) const MAX_PATH: usize = 1024;

/// Whether a path is reserved for what describes a built package.
pub(crate) fn is_metadata(path: &str) -> bool {
    path.split('/').next() == Some(".outrigger")
}

/// What the first component of a path is.
pub(crate) fn top(path: &str) -> Option<Top> {
    let first = path.split('/').next().unwrap_or_default();
    TOP.iter()
        .find(|(name, _)| *name == first)
        .map(|(_, top)| *top)
}

/// The names at the top of a package.
pub(crate) fn names() -> Vec<&'static str> {
    TOP.iter().map(|(name, _)| *name).collect()
}

/// Whether the content of a file is checked. Programs and images are not: they may be large, and have no syntax.
pub(crate) fn is_checked(path: &str) -> bool {
    let is_provider = path.starts_with("provider/");
    !is_provider && matches!(top(path), Some(Top::Listed | Top::Known))
}

/// Whether a path is relative and has only plain names, so that it stays inside of its folder.
pub(crate) fn is_plain_path(path: &str) -> bool {
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    path.split('/').all(is_plain) && !path.contains(|char: char| char.is_control() || char == '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside_of_their_folder() {
        for path in ["a", "a/b.conf", "..a/b..", "a b"] {
            assert!(is_plain_path(path), "{path}");
        }
        for path in [
            "", "/a", "a/", "a//b", "../a", "a/../b", "./a", "a\nb", "a\\b",
        ] {
            assert!(!is_plain_path(path), "{path}");
        }
    }

    #[test]
    fn programs_and_images_are_not_checked() {
        for path in [
            "expansion.yaml",
            "values.yaml",
            "files/a",
            "charts/web/Chart.yaml",
            "hooks/pre-install",
        ] {
            assert!(is_checked(path), "{path}");
        }
        for path in [
            "provider/a",
            "images.tar.gz",
            "images/index.json",
            "operator/run",
            "README.md",
            "x",
        ] {
            assert!(!is_checked(path), "{path}");
        }
    }
}

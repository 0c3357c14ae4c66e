//! A small package to start from: one chart, one rendered file and one hook.

/// A file of the package: its path, permission bits and content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StarterFile {
    pub path: String,
    pub mode: u32,
    pub content: String,
}

/// Paths and contents, in which `NAME` stands for the name of the package.
const FILES: [(&str, u32, &str); 7] = [
    (
        "expansion.yaml",
        0o644,
        include_str!("starter/expansion.yaml"),
    ),
    ("values.yaml", 0o644, include_str!("starter/values.yaml")),
    (
        "charts/NAME/Chart.yaml",
        0o644,
        include_str!("starter/chart/Chart.yaml"),
    ),
    (
        "charts/NAME/values.yaml",
        0o644,
        include_str!("starter/chart/values.yaml"),
    ),
    (
        "charts/NAME/templates/deployment.yaml",
        0o644,
        include_str!("starter/chart/templates/deployment.yaml"),
    ),
    (
        "files/etc/NAME.conf",
        0o644,
        include_str!("starter/site.conf"),
    ),
    (
        "hooks/post-install",
        0o755,
        include_str!("starter/post-install"),
    ),
];

/// The files of a package with this name, which must be a DNS label.
pub fn starter(name: &str) -> Vec<StarterFile> {
    let files = FILES.into_iter();
    files
        .map(|(path, mode, content)| StarterFile {
            path: path.replace("NAME", name),
            mode,
            content: content.replace("NAME", name),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::{Content, Entry, File, Scanned};
    use crate::verify;

    #[test]
    fn the_package_lacks_nothing_but_the_archive_of_its_images() {
        let entries = starter("demo").into_iter().map(|file| {
            let content = Content::Bytes(file.content.into_bytes());
            let (size, mode) = (0, file.mode);
            let file_ = File {
                size,
                mode,
                content,
            };
            (file.path, Entry::File(file_))
        });
        let scanned = Scanned {
            folder_name: "demo".to_owned(),
            entries: entries.collect(),
            archive: None,
        };
        let findings: Vec<String> = verify(&scanned).iter().map(ToString::to_string).collect();
        let expected = "warning: expansion.yaml: the package has no archive of its images";
        assert_eq!(findings, [expected]);
    }
}

//! Tests of provider folders.

use super::*;

fn content(byte: char) -> Content {
    Content {
        size: 3,
        sha256: byte.to_string().repeat(64),
    }
}

fn files() -> BTreeMap<String, Content> {
    let paths = [
        "1.36.4/amd64/bin/kubeadm",
        "1.36.4/amd64/bin/kubectl",
        "1.36.4/amd64/bin/kubelet",
        "1.36.4/amd64/images/pause.tar",
        "1.36.4/amd64/templates/kubelet.service",
        "1.37.0/amd64/bin/kubeadm",
    ];
    let files = paths
        .into_iter()
        .map(|path| (path.to_owned(), content('a')));
    files.collect()
}

fn folder() -> Folder {
    let image = |path: &str| path.contains("pause").then(|| "pause:3".to_owned());
    Folder::of_files("lab", &files(), image).unwrap()
}

#[test]
fn files_are_listed_by_where_they_are_and_images_by_their_references() {
    let folder = folder();
    assert_eq!(folder.releases.len(), 2);
    let release = folder.release("v1.36.4", "amd64").unwrap();
    assert_eq!(release.files.len(), 5);
    let image = release.file(FileKind::Image, "pause:3").unwrap();
    assert_eq!(image.path, "1.36.4/amd64/images/pause.tar");
    assert!(release.file(FileKind::Binary, "kubelet").is_some());
    assert!(folder.release("1.36.4", "arm64").is_none());
}

#[test]
fn an_index_survives_being_written_and_parsed() {
    let folder = folder();
    assert_eq!(Folder::parse(&folder.to_yaml()), Ok(folder));
}

#[test]
fn an_image_without_reference_is_named() {
    let error = Folder::of_files("lab", &files(), |_| None).unwrap_err();
    assert_eq!(
        error,
        IndexError::Image("1.36.4/amd64/images/pause.tar".to_owned())
    );
}

#[test]
fn a_complete_folder_has_no_findings_but_those_of_incomplete_releases() {
    let mut files = files();
    files.insert(INDEX.to_owned(), content('f'));
    let findings: Vec<String> = folder()
        .check(&files)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        findings,
        [
            "Kubernetes 1.37.0 for amd64 has no binary kubectl",
            "Kubernetes 1.37.0 for amd64 has no binary kubelet"
        ]
    );
}

#[test]
fn missing_changed_and_unlisted_files_are_found() {
    let mut folder = folder();
    folder.releases.truncate(1);
    let mut files = files();
    files.retain(|path, _| path.starts_with("1.36.4/"));
    files.remove("1.36.4/amd64/bin/kubeadm");
    files.insert("1.36.4/amd64/bin/kubelet".to_owned(), content('b'));
    files.insert("notes.txt".to_owned(), content('c'));
    let size = Content {
        size: 4,
        ..content('a')
    };
    files.insert("1.36.4/amd64/bin/kubectl".to_owned(), size);
    let path = |name: &str| format!("1.36.4/amd64/bin/{name}");
    assert_eq!(
        folder.check(&files),
        [
            Finding::Missing {
                path: path("kubeadm")
            },
            Finding::Size {
                path: path("kubectl"),
                expected: 3,
                found: 4
            },
            Finding::Digest {
                path: path("kubelet"),
                expected: content('a').sha256,
                found: content('b').sha256
            },
            Finding::Unlisted {
                path: "notes.txt".to_owned()
            }
        ]
    );
}

#[test]
fn a_folder_without_releases_is_not_complete_and_names_its_stray_files() {
    let path = "1.36.4/amd64/kubeadm".to_owned();
    let files = BTreeMap::from([(path.clone(), content('a'))]);
    let folder = Folder::of_files("lab", &files, |_| None).unwrap();
    let unlisted = Finding::Unlisted { path };
    assert_eq!(folder.check(&files), [Finding::NoRelease, unlisted.clone()]);
    assert_eq!(folder.unlisted(&files), [unlisted]);
}

#[test]
fn a_release_is_overridden_file_by_file() {
    let folder = folder();
    let release = &folder.releases[0];
    let mut kubelet = release.file(FileKind::Binary, "kubelet").unwrap().clone();
    kubelet.sha256 = content('d').sha256;
    let other = Release {
        files: vec![kubelet.clone()],
        ..release.clone()
    };
    let overridden = release.overridden_by(&other);
    assert_eq!(overridden.files.len(), release.files.len());
    let found = overridden.file(FileKind::Binary, "kubelet");
    assert_eq!(found, Some(&kubelet));
}

#[test]
fn invalid_indexes_are_rejected() {
    let digest = "a".repeat(64);
    let file = |path: &str, sha256: &str| {
        format!(
            "name: x\nreleases:\n- kubernetes: 1.36.4\n  architecture: amd64\n  files:\n  - {{kind: Binary, name: a, path: {path:?}, size: 1, sha256: {sha256:?}}}\n"
        )
    };
    let error = |text: &str| Folder::parse(text.as_bytes()).unwrap_err();
    assert!(Folder::parse(file("bin/a", &digest).as_bytes()).is_ok());
    for path in ["../a", "/a", "", "a/../b"] {
        assert_eq!(
            error(&file(path, &digest)),
            IndexError::Path(path.to_owned())
        );
    }
    assert!(matches!(
        error(&file("a", "abc")),
        IndexError::Digest { .. }
    ));
    assert!(matches!(error("name: ["), IndexError::Yaml(_)));
    assert!(
        matches!(error("name: x\nreleases: []\nother: 1\n"), IndexError::Fields(text) if text.contains("other"))
    );
    let release = "- {kubernetes: 1.36.4, architecture: amd64, files: []}\n";
    assert!(matches!(
        error(&format!("name: x\nreleases:\n{release}{release}")),
        IndexError::DuplicateRelease { .. }
    ));
    let version = release.replace("1.36.4", "v1.36");
    assert_eq!(
        error(&format!("name: x\nreleases:\n{version}")),
        IndexError::Version("v1.36".to_owned())
    );
    let twice = "  - {kind: Binary, name: a, path: b, size: 1, sha256: '";
    let twice = format!("{}{twice}{digest}'}}\n", file("a", &digest));
    assert!(matches!(error(&twice), IndexError::DuplicateFile { .. }));
}

#[test]
fn a_folder_is_read_with_its_digests() {
    let root = tempfile::tempdir().unwrap();
    let bin = root.path().join("1.36.4/amd64/bin");
    fs_err::create_dir_all(&bin).unwrap();
    fs_err::write(bin.join("kubeadm"), "abc").unwrap();
    let files = read_files(root.path()).unwrap();
    let content = &files["1.36.4/amd64/bin/kubeadm"];
    assert_eq!(content.size, 3);
    assert!(content.sha256.starts_with("ba7816bf"));
    assert!(matches!(read_index(root.path()), Err(ReadError::Io { .. })));
    let folder = Folder::of_files("lab", &files, |_| None).unwrap();
    fs_err::write(root.path().join(INDEX), folder.to_yaml()).unwrap();
    assert_eq!(read_index(root.path()).unwrap(), folder);
}

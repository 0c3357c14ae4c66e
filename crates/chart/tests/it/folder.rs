//! Folders and files that cannot be loaded.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use outrigger_chart::{Profile, load_path, load_path_lazily};
use tempfile::TempDir;

fn chart() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let chart_yaml = "apiVersion: v2\nname: c\nversion: 1.0.0\n";
    fs_err::write(folder.path().join("Chart.yaml"), chart_yaml).unwrap();
    folder
}

fn error(path: &Path) -> String {
    let loaded = load_path(path, Profile::Helm4, &mut |_| {});
    loaded.unwrap_err().to_string()
}

#[test]
fn a_sparse_archive_of_12_gigabytes_is_not_read() {
    let folder = chart();
    let path = folder.path().join("x.tgz");
    let file = fs_err::File::create(&path).unwrap();
    file.set_len(12 << 30).unwrap();
    let expected = "does not appear to be a gzipped archive; got 'application/octet-stream'";
    assert!(error(&path).ends_with(expected), "{}", error(&path));
    fs_err::write(&path, b"\x1f\x8b\x08\0\0\0\0\0\0\0").unwrap();
    fs_err::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(12 << 30)
        .unwrap();
    let expected = "x.tgz: file is larger than 134217728 bytes";
    assert!(error(&path).ends_with(expected), "{}", error(&path));
}

#[test]
fn special_files_are_rejected_without_opening_them() {
    let folder = chart();
    let path = folder.path().join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    assert!(error(&path).ends_with("socket: not a regular file"));
    let expected = "socket as it has file mode type bits set";
    assert!(error(folder.path()).ends_with(expected));
}

#[test]
fn a_link_to_a_parent_folder_ends_with_an_error() {
    let folder = chart();
    for name in ["a", "b", "c"] {
        symlink(folder.path(), folder.path().join(name)).unwrap();
    }
    assert!(!error(folder.path()).is_empty());
}

#[test]
fn a_file_that_cannot_be_read_after_loading_is_an_error() {
    let folder = chart();
    let path = folder.path().join("README.md");
    fs_err::write(&path, "text").unwrap();
    let chart = load_path_lazily(folder.path(), Profile::Helm4, &mut |_| {}).unwrap();
    fs_err::write(&path, vec![b'x'; 6 << 20]).unwrap();
    assert_eq!(chart.check_reads(), Ok(()));
    assert_eq!(chart.files[0].data.len(), 0);
    assert_eq!(
        chart.check_reads().unwrap_err().to_string(),
        "read README.md: file is larger than 5242880 bytes"
    );
}

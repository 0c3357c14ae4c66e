//! What cannot be kept in git: links, devices, pipes, odd names, and large files.

use std::os::unix::fs::symlink;
use std::path::Path;

use outrigger_expansion::scan::MAX_FILE_BYTES;
use outrigger_expansion::{Package, scan, verify};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use crate::corpus::listing;

/// A package whose `files` are those of the definition.
fn package(files: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs_err::create_dir(folder.path().join("files")).unwrap();
    write(
        folder.path(),
        "expansion.yaml",
        &format!("name: demo\nfiles: {files}\n"),
    );
    folder
}

fn write(folder: &Path, path: &str, content: &str) {
    fs_err::write(folder.join(path), content).unwrap();
}

#[track_caller]
fn check(folder: &TempDir, expected: &str) {
    assert_eq!(listing(&verify(&scan(folder.path()).unwrap())), expected);
}

#[test]
fn a_link_that_leaves_the_package_is_refused() {
    for target in ["/etc/hostname", "../../../etc/hostname"] {
        let folder = package("[a]");
        // The relative one must exist from wherever the temporary folder is.
        let absolute = Path::new("/etc/hostname");
        let target = if target.starts_with('/') {
            absolute.to_owned()
        } else {
            let depth = folder.path().join("files").components().count() - 1;
            Path::new(&"../".repeat(depth)).join("etc/hostname")
        };
        symlink(&target, folder.path().join("files/a")).unwrap();
        let target = target.display();
        check(
            &folder,
            &format!("fatal: files/a: is a link to {target}, which is outside of the package\n"),
        );
    }
}

#[test]
fn a_link_to_nothing_or_to_a_folder_is_refused() {
    let folder = package("[a, b]");
    symlink("gone", folder.path().join("files/a")).unwrap();
    symlink("..", folder.path().join("files/b")).unwrap();
    check(
        &folder,
        "fatal: files/a: is a link to gone, which does not exist\n\
         fatal: files/b: is a link to the folder ..; only links to files are followed\n",
    );
}

#[test]
fn a_link_inside_of_the_package_is_the_file() {
    let folder = package("[a, opt/b]");
    write(folder.path(), "files/a", "a");
    fs_err::create_dir(folder.path().join("files/opt")).unwrap();
    symlink("../a", folder.path().join("files/opt/b")).unwrap();
    check(&folder, "");
    let (package, _) = Package::read(&scan(folder.path()).unwrap());
    let destinations: Vec<&str> = package.files.iter().map(|file| file.dst.as_str()).collect();
    assert_eq!(destinations, ["/a", "/opt/b"]);
}

#[test]
fn a_named_pipe_is_refused_without_being_opened() {
    let folder = package("[pipe]");
    let pipe = folder.path().join("files/pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    check(
        &folder,
        "fatal: files/pipe: is a named pipe; a package has only files and folders\n",
    );
}

/// Only root can make one; a link to one is as good.
#[test]
fn a_device_is_refused() {
    let folder = package("[zero]");
    let device = folder.path().join("files/zero");
    let number = rustix::fs::makedev(1, 5);
    if mknodat(
        CWD,
        &device,
        FileType::CharacterDevice,
        Mode::from_raw_mode(0o600),
        number,
    )
    .is_ok()
    {
        check(
            &folder,
            "fatal: files/zero: is a device; a package has only files and folders\n",
        );
    } else {
        symlink("/dev/zero", &device).unwrap();
        check(
            &folder,
            "fatal: files/zero: is a link to /dev/zero, which is outside of the package\n",
        );
    }
}

#[test]
fn names_that_a_terminal_or_a_shell_would_obey_are_refused() {
    let folder = package("[]");
    for name in ["a\u{1b}[2Kb", "a\\b"] {
        write(folder.path(), &format!("files/{name}"), "");
    }
    let found = listing(&verify(&scan(folder.path()).unwrap()));
    let refused = "has a name with a control character, a backslash, or bytes that are not UTF-8";
    assert_eq!(found.matches(refused).count(), 2, "{found}");
}

#[test]
fn a_template_of_a_large_file_is_refused_and_a_large_binary_is_not() {
    let folder = package("[{src: large, render: true}, other]");
    for name in ["large", "other"] {
        let file = fs_err::File::create(folder.path().join("files").join(name)).unwrap();
        file.set_len(MAX_FILE_BYTES + 1).unwrap();
    }
    check(
        &folder,
        "fatal: expansion.yaml:2: files: files/large is binary or too large, and cannot be rendered\n",
    );
}

#[test]
fn the_folder_gives_a_package_its_name() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("demo");
    fs_err::create_dir(&folder).unwrap();
    write(&folder, "expansion.yaml", "");
    let (package, findings) = Package::read(&scan(&folder).unwrap());
    assert_eq!((package.name.as_str(), findings), ("demo", Vec::new()));
    let folder = parent.path().join("My Demo");
    fs_err::create_dir(&folder).unwrap();
    write(&folder, "expansion.yaml", "");
    let found = listing(&verify(&scan(&folder).unwrap()));
    assert!(
        found.starts_with(
            "fatal: expansion.yaml: the folder's name \"My Demo\" is not the name of a package: "
        ),
        "{found}"
    );
}

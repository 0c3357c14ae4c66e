//! Which files are copied, and which are refused.

use std::os::unix::fs::symlink;

use super::*;

fn scan(root: &Path, executables: &[&str]) -> Result<Tree, ScanError> {
    let entries = [Entry {
        source: "files".into(),
        destination: "/d/".to_owned(),
    }];
    let executables = executables.iter().map(ToString::to_string).collect();
    Tree::scan(root, &entries, &executables)
}

fn root() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs_err::create_dir(root.path().join("files")).unwrap();
    root
}

fn write(root: &Path, name: &str, content: &str, mode: u32) {
    let path = root.join("files").join(name);
    fs_err::create_dir_all(path.parent().unwrap()).unwrap();
    fs_err::write(&path, content).unwrap();
    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn keeps_modes_and_makes_hook_targets_executable() {
    let root = root();
    write(root.path(), "deep/er/hook", "#!/bin/sh\n", 0o640);
    write(root.path(), "data", "x", 0o600);
    let tree = scan(root.path(), &["/d/deep/er/hook"]).unwrap();
    assert_eq!(
        tree.destinations().collect::<Vec<_>>(),
        ["/d/data", "/d/deep/er/hook"]
    );
    assert_eq!(tree.files()["/d/deep/er/hook"].mode, 0o750);
    assert_eq!(tree.files()["/d/data"].mode, 0o600);
    assert_eq!(
        tree.folders().keys().collect::<Vec<_>>(),
        ["/d", "/d/deep", "/d/deep/er"]
    );
}

#[test]
fn folders_and_hooks_never_become_writable_for_others() {
    let root = root();
    write(root.path(), "pre/hook", "#!/bin/sh\n", 0o777);
    write(root.path(), "pre/data", "x", 0o666);
    let folder = root.path().join("files/pre");
    fs_err::set_permissions(folder, std::fs::Permissions::from_mode(0o2777)).unwrap();
    let tree = scan(root.path(), &["/d/pre/hook"]).unwrap();
    assert_eq!(tree.files()["/d/pre/hook"].mode, 0o755);
    assert_eq!(tree.files()["/d/pre/data"].mode, 0o666);
    assert_eq!(tree.folders()["/d/pre"], 0o2755);
}

/// A ConfigMap volume: `name -> ..data/name`, `..data -> ..2026_01_01`.
#[test]
fn follows_the_links_of_a_config_map_volume() {
    let root = root();
    write(
        root.path(),
        "..2026_01_01/pre-install",
        "#!/bin/sh\n",
        0o644,
    );
    symlink("..2026_01_01", root.path().join("files/..data")).unwrap();
    symlink("..data/pre-install", root.path().join("files/pre-install")).unwrap();
    let tree = scan(root.path(), &["/d/pre-install"]).unwrap();
    assert_eq!(tree.destinations().collect::<Vec<_>>(), ["/d/pre-install"]);
}

#[test]
fn refuses_links_that_leave_the_root_or_loop() {
    let outside = root();
    symlink("/etc/passwd", outside.path().join("files/passwd")).unwrap();
    assert!(matches!(
        scan(outside.path(), &[]),
        Err(ScanError::Outside { .. })
    ));
    let looping = root();
    symlink(".", looping.path().join("files/again")).unwrap();
    assert!(matches!(scan(looping.path(), &[]), Err(ScanError::Loop(_))));
    let itself = root();
    symlink("self", itself.path().join("files/self")).unwrap();
    assert!(matches!(
        scan(itself.path(), &[]),
        Err(ScanError::Read { .. })
    ));
}

#[test]
fn a_source_that_does_not_exist_is_named() {
    let root = root();
    let entries = [Entry {
        source: "nowhere".into(),
        destination: "/d".to_owned(),
    }];
    let error = Tree::scan(root.path(), &entries, &BTreeSet::new()).unwrap_err();
    let path = fs_err::canonicalize(root.path()).unwrap().join("nowhere");
    assert_eq!(
        error.to_string(),
        format!("{} does not exist", path.display())
    );
}

#[test]
fn refuses_sources_that_leave_the_root() {
    let root = root();
    let entries = [Entry {
        source: "../".into(),
        destination: "/d".to_owned(),
    }];
    let error = Tree::scan(root.path(), &entries, &BTreeSet::new()).unwrap_err();
    assert!(matches!(error, ScanError::Outside { .. }), "{error}");
}

#[test]
fn refuses_sockets_and_strange_names() {
    let special = root();
    let socket = special.path().join("files/socket");
    let _listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
    assert!(matches!(
        scan(special.path(), &[]),
        Err(ScanError::Special(_))
    ));
    for name in ["new\nline", "back\\slash"] {
        let root = root();
        write(root.path(), name, "", 0o644);
        assert!(
            matches!(scan(root.path(), &[]), Err(ScanError::Name(_))),
            "{name:?}"
        );
    }
}

#[test]
fn refuses_scripts_with_windows_line_endings_only_as_hooks() {
    let root = root();
    write(root.path(), "hook", "#!/bin/sh\r\necho\r\n", 0o755);
    assert!(scan(root.path(), &[]).is_ok());
    assert!(matches!(
        scan(root.path(), &["/d/hook"]),
        Err(ScanError::LineEndings(_))
    ));
}

#[test]
fn refuses_hooks_that_are_not_among_the_files() {
    let root = root();
    assert!(matches!(
        scan(root.path(), &["/d/none"]),
        Err(ScanError::NoSuchExecutable(_))
    ));
}

#[test]
fn refuses_too_many_files_and_too_deep_folders() {
    let many = root();
    // Links to one file: ext4 takes seconds to find this many free inodes after others were freed.
    fs_err::write(many.path().join("file"), "").unwrap();
    for number in 0..=MAX_FILES {
        let link = many.path().join(format!("files/{number}"));
        fs_err::hard_link(many.path().join("file"), link).unwrap();
    }
    assert!(matches!(scan(many.path(), &[]), Err(ScanError::TooMany(_))));
    let deep = root();
    fs_err::create_dir_all(deep.path().join("files").join("d/".repeat(MAX_DEPTH + 1))).unwrap();
    assert!(matches!(scan(deep.path(), &[]), Err(ScanError::TooDeep(_))));
}

#[test]
fn refuses_destinations_that_are_not_absolute_paths() {
    for destination in ["", "x", "/", "/a/../b", "/a/./b", "/a\nb", "../x"] {
        assert!(normalized(destination).is_err(), "{destination:?}");
    }
    assert_eq!(normalized("//a//b/").unwrap(), "/a/b");
}

#[test]
fn refuses_one_destination_for_two_files() {
    let root = root();
    write(root.path(), "a", "", 0o644);
    write(root.path(), "b", "", 0o644);
    let entry = |source: &str, destination: &str| Entry {
        source: source.into(),
        destination: destination.to_owned(),
    };
    let scan = |entries: &[Entry]| Tree::scan(root.path(), entries, &BTreeSet::new());
    let same = [entry("files/a", "/x"), entry("files/b", "/x")];
    assert!(matches!(scan(&same), Err(ScanError::Twice { .. })));
    let below = [entry("files/a", "/x"), entry("files/b", "/x/b")];
    assert!(matches!(scan(&below), Err(ScanError::FileAndFolder { .. })));
}

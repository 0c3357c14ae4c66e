//! Plans for answers of machines.

use std::collections::BTreeSet;

use super::super::tree::Entry;
use super::*;

fn tree() -> Tree {
    let root = tempfile::tempdir().unwrap();
    fs_err::create_dir_all(root.path().join("hooks")).unwrap();
    for name in ["a", "b", "c"] {
        fs_err::write(root.path().join("hooks").join(name), name).unwrap();
    }
    let entries = [Entry {
        source: "hooks".into(),
        destination: "/h".to_owned(),
    }];
    Tree::scan(root.path(), &entries, &BTreeSet::new()).unwrap()
}

fn answer(kinds: &[&str], tree: &Tree, modes: &str) -> String {
    let files = ["/h/a", "/h/b", "/h/c"].iter().zip(&kinds[1..]);
    let digests = files.filter(|(_, kind)| **kind == "f");
    let digests: String = digests
        .map(|(path, _)| format!("{}  {path}\n", tree.digest_of(path).unwrap()))
        .collect();
    // The root folder is not part of the tree.
    format!("77 0 r-1\nd\n{}\n{digests}{modes}end\n", kinds.join("\n"))
}

#[test]
fn sends_what_is_missing_and_keeps_what_is_equal() {
    let tree = tree();
    let answer = answer(&["d", "f", "n", "f"], &tree, "mode 644 0\nmode 600 0\n");
    let plan = plan(&tree, &answer, "m").unwrap();
    assert_eq!(plan.process, 77);
    assert_eq!(
        plan.send.iter().map(|(path, _)| *path).collect::<Vec<_>>(),
        ["/h/b"]
    );
    assert_eq!(plan.modes, [("/h/c", 0o644)]);
    assert_eq!(plan.unchanged, 1);
    assert_eq!(plan.staged("/h/b"), "/h/.outrigger-copy.r-1.77/b");
    assert_eq!(plan.staged("/b"), "/.outrigger-copy.r-1.77/b");
}

#[test]
fn files_of_other_users_are_sent_again() {
    let tree = tree();
    let modes = "mode 644 0\nmode 644 1000\nmode 600 1000\n";
    let answer = answer(&["d", "f", "f", "f"], &tree, modes);
    let plan = plan(&tree, &answer, "m").unwrap();
    let sent: Vec<&str> = plan.send.iter().map(|(path, _)| *path).collect();
    assert_eq!(
        (sent.as_slice(), plan.modes.len()),
        (&["/h/b", "/h/c"][..], 0)
    );
}

#[test]
fn sends_everything_if_files_changed_during_the_comparison() {
    let tree = tree();
    let answer = answer(&["d", "f", "f", "f"], &tree, "mode 644 0\n");
    assert_eq!(plan(&tree, &answer, "m").unwrap().send.len(), 3);
}

#[test]
fn refuses_to_replace_folders_and_devices() {
    let tree = tree();
    for kinds in [
        ["f", "n", "n", "n"],
        ["d", "d", "n", "n"],
        ["d", "n", "o", "n"],
    ] {
        let error = plan(&tree, &answer(&kinds, &tree, ""), "m").unwrap_err();
        assert!(matches!(error, CopyError::Occupied { .. }), "{error}");
    }
}

#[test]
fn answers_that_are_cut_off_are_errors() {
    let tree = tree();
    for answer in ["", "x\n", "77 0 ../x\n", "77 0 r\nd\nf\n"] {
        assert!(plan(&tree, answer, "m").is_err(), "{answer:?}");
    }
}

#[test]
fn the_common_folder_contains_all_files() {
    let tree = tree();
    let answer = answer(&["n", "n", "n", "n"], &tree, "");
    let mut plan = plan(&tree, &answer, "m").unwrap();
    assert_eq!(plan.common_folder(), "/h");
    let file = plan.send[0].1;
    plan.send.push(("/h/deep/er/x", file));
    assert_eq!(plan.common_folder(), "/h");
    plan.send.push(("/hx/y", file));
    assert_eq!(plan.common_folder(), "/");
}

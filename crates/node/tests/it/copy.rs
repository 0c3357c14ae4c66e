//! Copies to the local machine.

use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use outrigger_node::{CopyError, CopyReport, Entry, Machine, Tree};
use tempfile::TempDir;

struct Fixture {
    folder: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs_err::create_dir_all(folder.path().join("files/deep/er")).unwrap();
        let fixture = Self { folder };
        fixture.write("a b", "one");
        fixture.write("deep/er/it's", "two");
        fixture
    }

    fn write(&self, name: &str, content: &str) {
        fs_err::write(self.folder.path().join("files").join(name), content).unwrap();
    }

    fn target(&self) -> String {
        self.folder.path().join("target").display().to_string()
    }

    fn tree(&self) -> Tree {
        let entries = [Entry {
            source: "files".into(),
            destination: self.target(),
        }];
        Tree::scan(self.folder.path(), &entries, &BTreeSet::new()).unwrap()
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn machine(&self) -> Machine {
        Machine::local_with_state(Some(self.state().display().to_string()))
    }

    async fn copy(&self) -> Result<CopyReport, CopyError> {
        self.machine().copy(&self.tree()).await
    }

    fn read(&self, name: &str) -> String {
        fs_err::read_to_string(Path::new(&self.target()).join(name)).unwrap()
    }
}

#[tokio::test]
async fn copies_a_tree_once() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    let first = fixture.copy().await?;
    assert_eq!((first.transferred, first.bytes, first.unchanged), (2, 6, 0));
    assert_eq!(fixture.read("a b"), "one");
    assert_eq!(fixture.read("deep/er/it's"), "two");
    let second = fixture.copy().await?;
    assert_eq!((second.transferred, second.unchanged), (0, 2));
    let left = fs_err::read_dir(fixture.target())?.count();
    assert_eq!(left, 2, "no staging folder is left");
    Ok(())
}

#[tokio::test]
async fn copies_only_what_differs() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    fixture.copy().await?;
    fixture.write("a b", "changed");
    let target = Path::new(&fixture.target()).join("deep/er/it's");
    fs_err::set_permissions(target, std::fs::Permissions::from_mode(0o600))?;
    let report = fixture.copy().await?;
    assert_eq!((report.transferred, report.modes_changed), (1, 1));
    assert_eq!(fixture.read("a b"), "changed");
    Ok(())
}

#[tokio::test]
async fn a_source_that_changes_is_an_error_and_changes_nothing() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    let large = "x".repeat(1_000_000);
    fixture.write("large", &large);
    fixture.copy().await?;
    fixture.write("large", &large.replace('x', "y"));
    let tree = fixture.tree();
    for changed in [
        "z".repeat(1_000_000),
        "short".to_owned(),
        "y".repeat(1_000_001),
    ] {
        fixture.write("large", &changed);
        let error = fixture.machine().copy(&tree).await.unwrap_err();
        assert!(matches!(error, CopyError::SourceChanged(_)), "{error}");
        assert_eq!(fixture.read("large"), large);
    }
    Ok(())
}

#[tokio::test]
async fn leftovers_of_interrupted_copies_are_removed() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    fixture.copy().await?;
    let leftover = Path::new(&fixture.target()).join(".outrigger-copy.4194305");
    fs_err::create_dir(&leftover)?;
    fixture.copy().await?;
    assert!(!leftover.exists());
    Ok(())
}

#[tokio::test]
async fn a_folder_in_the_way_is_an_error_that_names_it() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    fs_err::create_dir_all(Path::new(&fixture.target()).join("a b"))?;
    let error = fixture.copy().await.unwrap_err();
    assert!(error.to_string().contains("a b"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_target_without_space_is_an_error_that_names_the_path() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    let entries = [Entry {
        source: "files/a b".into(),
        destination: "/proc/outrigger/x".to_owned(),
    }];
    let tree = Tree::scan(fixture.folder.path(), &entries, &BTreeSet::new())?;
    let error = fixture.machine().copy(&tree).await.unwrap_err();
    assert!(matches!(error, CopyError::Write { .. }), "{error}");
    assert!(error.to_string().contains("proc/outrigger"), "{error}");
    Ok(())
}

#[tokio::test]
async fn nothing_is_copied_to_where_other_users_can_replace_it() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    let target = fixture.target();
    let deep = Path::new(&target).join("deep");
    fs_err::create_dir_all(&deep)?;
    let mode = |mode: u32| fs_err::set_permissions(&deep, std::fs::Permissions::from_mode(mode));
    mode(0o777)?;
    let error = fixture.copy().await.unwrap_err();
    assert!(matches!(error, CopyError::Untrusted { .. }), "{error}");
    assert!(error.to_string().contains("target/deep"), "{error}");
    assert!(
        !Path::new(&target).join("a b").exists(),
        "nothing is copied"
    );
    mode(0o1777)?;
    fixture.copy().await?;
    // The same by a link.
    mode(0o777)?;
    let link = fixture.folder.path().join("link");
    fs_err::os::unix::fs::symlink(&deep, &link)?;
    let entries = [Entry {
        source: "files/a b".into(),
        destination: link.join("x").display().to_string(),
    }];
    let tree = Tree::scan(fixture.folder.path(), &entries, &BTreeSet::new())?;
    let error = fixture.machine().copy(&tree).await.unwrap_err();
    assert!(error.to_string().contains("target/deep"), "{error}");
    mode(0o755)?;
    fixture.machine().copy(&tree).await?;
    Ok(())
}

#[tokio::test]
async fn links_of_the_machine_lead_to_no_system_path_unless_forced() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    let root = fs_err::canonicalize(fixture.folder.path())?;
    let boot = root.join("boot");
    fs_err::create_dir_all(boot.join("inner"))?;
    let original = boot.join("inner/vmlinuz");
    fs_err::write(&original, "original")?;
    // A link in a folder that is found by another link.
    fs_err::create_dir(root.join("opt"))?;
    fs_err::os::unix::fs::symlink(boot.join("inner"), root.join("opt/b"))?;
    fs_err::os::unix::fs::symlink(root.join("opt"), root.join("local"))?;
    let is_system: fn(&str) -> bool = |path| path.contains("/boot");
    let destination = root.join("local/b/vmlinuz").display().to_string();
    let entry = |source: &str, destination: &str| Entry {
        source: source.into(),
        destination: destination.to_owned(),
    };
    let folder = root.join("local/b").display().to_string();
    let new = root.join("opt/b/new/file").display().to_string();
    let cases = [
        entry("files/a b", &destination),
        entry("files", &folder),
        entry("files/a b", &new),
    ];
    for entry in cases {
        let entries = [entry];
        let tree = Tree::scan(fixture.folder.path(), &entries, &BTreeSet::new())?;
        let guarded = tree.clone().guarded(is_system, []);
        let copied = fixture.machine().copy(&guarded).await.unwrap_err();
        let removed = fixture.machine().remove(&guarded).await.unwrap_err();
        for error in [copied, removed] {
            assert!(matches!(error, CopyError::SystemPath { .. }), "{error}");
            assert!(error.to_string().contains("/boot/inner"), "{error}");
        }
        assert_eq!(fs_err::read_to_string(&original)?, "original");
        assert_eq!(fs_err::read_dir(boot.join("inner"))?.count(), 1);
    }
    let entries = [entry("files/a b", &destination)];
    let tree = Tree::scan(fixture.folder.path(), &entries, &BTreeSet::new())?;
    let forced = tree.clone().guarded(is_system, [folder.as_str()]);
    assert_ne!(forced.digest(), tree.digest());
    fixture.machine().copy(&forced).await?;
    assert_eq!(fs_err::read_to_string(&original)?, "one");
    fixture.machine().remove(&forced).await?;
    assert!(!original.exists());
    // A link to anywhere else is followed.
    let elsewhere = tree.guarded(|_| false, []);
    fixture.machine().copy(&elsewhere).await?;
    assert!(original.exists());
    fixture.machine().remove(&elsewhere).await?;
    Ok(())
}

/// Needs root, to give files to another user.
#[tokio::test]
async fn folders_of_other_users_are_refused_and_their_files_replaced() -> anyhow::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let fixture = Fixture::new();
    fixture.copy().await?;
    let file = Path::new(&fixture.target()).join("a b");
    std::os::unix::fs::chown(&file, Some(12345), Some(12345))?;
    let report = fixture.copy().await?;
    assert_eq!((report.transferred, report.unchanged), (1, 1));
    assert_eq!(fs_err::metadata(&file)?.uid(), 0);
    let folder = Path::new(&fixture.target()).join("deep");
    std::os::unix::fs::chown(&folder, Some(12345), Some(12345))?;
    let error = fixture.copy().await.unwrap_err();
    assert!(matches!(error, CopyError::Untrusted { .. }), "{error}");
    assert!(error.to_string().contains("12345"), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_copy_that_fails_leaves_no_folders() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    fs_err::create_dir(fixture.target())?;
    let entry = |destination: &str| Entry {
        source: "files/a b".into(),
        destination: format!("{}/{destination}", fixture.target()),
    };
    // No file system accepts such a name.
    let long = "x".repeat(300);
    let entries = [entry("new/deep/file"), entry(&format!("new/{long}"))];
    let tree = Tree::scan(fixture.folder.path(), &entries, &BTreeSet::new())?;
    let error = fixture.machine().copy(&tree).await.unwrap_err();
    assert!(matches!(error, CopyError::Write { .. }), "{error}");
    assert_eq!(fs_err::read_dir(fixture.target())?.count(), 0);
    Ok(())
}

#[tokio::test]
async fn folders_that_copies_made_are_removed_with_the_files_and_others_stay() -> anyhow::Result<()>
{
    let fixture = Fixture::new();
    let target = PathBuf::from(fixture.target());
    // This one is not ours.
    fs_err::create_dir_all(target.join("deep"))?;
    fs_err::create_dir(fixture.folder.path().join("files/empty"))?;
    fixture.copy().await?;
    assert!(target.join("empty").exists());
    let foreign = target.join("deep/er/foreign");
    fs_err::write(&foreign, "")?;
    fixture.copy().await?;
    fixture.machine().remove(&fixture.tree()).await?;
    assert!(foreign.exists());
    assert!(!target.join("empty").exists());
    fs_err::remove_file(foreign)?;
    fixture.machine().remove(&fixture.tree()).await?;
    assert!(target.join("deep").exists());
    assert_eq!(fs_err::read_dir(target.join("deep"))?.count(), 0);
    assert_eq!(fs_err::read_dir(&target)?.count(), 1);
    assert_eq!(fs_err::read_dir(fixture.state())?.count(), 0);
    Ok(())
}

//! Copies to real machines.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use outrigger_node::{Command, CopyError, CopyReport, Entry, Machine, Tree};
use outrigger_testing::machines::{Machines, Options, Server};
use tempfile::TempDir;

use super::{SERVERS, start};

fn files() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8], mode: u32| {
        let path = root.path().join(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, content).unwrap();
        fs_err::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    write("hooks/pre/hook", b"#!/bin/sh\necho \"hook: $*\"\n", 0o644);
    write("hooks/pre/no shebang", b"echo \"no shebang: $1\"\n", 0o644);
    write("hooks/post/a'b \"c\" $d", &[0, 255, 10], 0o600);
    write(
        &format!("hooks/{}file", "a-long-folder-name/".repeat(12)),
        b"deep",
        0o640,
    );
    root
}

fn tree(root: &Path, destination: &str) -> Tree {
    let entries = [Entry {
        source: "hooks".into(),
        destination: destination.to_owned(),
    }];
    let hooks: BTreeSet<String> = ["hook", "no shebang"]
        .iter()
        .map(|name| format!("{destination}/pre/{name}"))
        .collect();
    Tree::scan(root, &entries, &hooks).unwrap()
}

async fn copy(machine: &Machine, root: &Path) -> Result<CopyReport, CopyError> {
    machine.copy(&tree(root, "/opt/x y/hooks")).await
}

#[tokio::test]
async fn a_tree_arrives_once_with_modes_and_runnable_hooks() -> anyhow::Result<()> {
    for server in SERVERS {
        let machines = start(server);
        let machine = machines.machine(0);
        let root = files();
        let first = copy(&machine, root.path()).await?;
        assert_eq!((first.transferred, first.unchanged), (4, 0), "{server:?}");
        let second = copy(&machine, root.path()).await?;
        assert_eq!((second.transferred, second.unchanged), (0, 4), "{server:?}");
        let stand_in = &machines.machines()[0].stand_in;
        let path = stand_in.path("/opt/x y/hooks/post/a'b \"c\" $d");
        assert_eq!(fs_err::read(&path)?, [0, 255, 10]);
        assert_eq!(
            fs_err::metadata(&path)?.permissions().mode() & 0o7777,
            0o600
        );
        for (hook, expected) in [
            ("hook", "hook: a b c\n"),
            ("no shebang", "no shebang: a b\n"),
        ] {
            let path = format!("/opt/x y/hooks/pre/{hook}");
            let output = machine.run(&Command::new(&path, ["a b", "c"])).await?;
            assert_eq!(
                output.stdout.text(),
                expected,
                "{server:?}: {}",
                output.stderr.text()
            );
        }
        let leftovers = Command::shell("find / -name '.outrigger-copy*' 2>/dev/null");
        assert_eq!(
            machine.run(&leftovers).await?.stdout.text(),
            "",
            "{server:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_link_at_the_destination_is_replaced_and_not_followed() -> anyhow::Result<()> {
    let machines = start(Server::OpenSsh);
    let machine = machines.machine(0);
    let prepare = "mkdir -p /d/pre; ln -s /etc/passwd /d/pre/hook";
    machine.run(&Command::shell(prepare)).await?;
    let root = files();
    machine.copy(&tree(root.path(), "/d")).await?;
    let stand_in = &machines.machines()[0].stand_in;
    assert!(fs_err::symlink_metadata(stand_in.path("/d/pre/hook"))?.is_file());
    assert!(fs_err::read_to_string(stand_in.path("/etc/passwd"))?.starts_with("root:"));
    Ok(())
}

#[tokio::test]
async fn a_full_disk_is_an_error_that_names_the_file_and_leaves_nothing() -> anyhow::Result<()> {
    for server in SERVERS {
        let mut options = Options::new(server);
        options.mounts = "mkdir -p full; mount -t tmpfs -o size=300k tmpfs full".to_owned();
        let machines = Machines::start(options)?;
        let machine = machines.machine(0);
        let root = tempfile::tempdir()?;
        fs_err::create_dir(root.path().join("hooks"))?;
        fs_err::create_dir(root.path().join("hooks/pre"))?;
        for name in ["hook", "no shebang"] {
            fs_err::write(root.path().join("hooks/pre").join(name), "x")?;
        }
        fs_err::write(root.path().join("hooks/large"), vec![1; 1_000_000])?;
        let error = machine
            .copy(&tree(root.path(), "/full/hooks"))
            .await
            .unwrap_err();
        let text = error.to_string();
        assert!(
            matches!(error, CopyError::Write { .. }),
            "{server:?}: {text}"
        );
        assert!(
            text.contains("/full/hooks") && text.contains("No space left"),
            "{server:?}: {text}"
        );
        let left = machine.run(&Command::shell("find /full/*")).await?;
        assert_eq!(left.stdout.text(), "", "{server:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_read_only_file_system_is_a_clear_error() -> anyhow::Result<()> {
    for server in SERVERS {
        let mut options = Options::new(server);
        options.mounts = "mkdir -p ro; mount -t tmpfs -o ro tmpfs ro".to_owned();
        let machines = Machines::start(options)?;
        let root = files();
        let error = machines
            .machine(0)
            .copy(&tree(root.path(), "/ro/hooks"))
            .await
            .unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("/ro") || text.contains("ro/hooks"),
            "{server:?}: {text}"
        );
        assert!(text.contains("Read-only file system"), "{server:?}: {text}");
    }
    Ok(())
}

#[tokio::test]
async fn a_user_without_rights_gets_a_clear_error() -> anyhow::Result<()> {
    let machines = start(Server::OpenSsh);
    let mut target = machines.target(0, "admin");
    target.credentials.unprivileged = true;
    let machine = Machine::ssh(target, &outrigger_node::Connector::default());
    let root = files();
    let error = machine
        .copy(&tree(root.path(), "/etc/hooks"))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("Permission denied"), "{error}");
    machine
        .copy(&tree(root.path(), "/home/admin/hooks"))
        .await?;
    Ok(())
}

#[tokio::test]
async fn a_machine_that_dies_in_the_middle_of_a_copy_keeps_its_files() -> anyhow::Result<()> {
    for server in SERVERS {
        let mut machines = start(server);
        let machine = machines.machine(0);
        let root = tempfile::tempdir()?;
        fs_err::create_dir_all(root.path().join("hooks/pre"))?;
        for name in ["pre/hook", "pre/no shebang", "large"] {
            fs_err::write(root.path().join("hooks").join(name), "old")?;
        }
        machine.copy(&tree(root.path(), "/d")).await?;
        fs_err::write(root.path().join("hooks/large"), vec![1; 30_000_000])?;
        let tree = tree(root.path(), "/d");
        let stand_in = machines.machines()[0].stand_in.clone();
        let (result, ()) = tokio::join!(machine.copy(&tree), async {
            while !has_started(&stand_in.path("/d")) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            machines.power_off(0).unwrap();
        });
        assert!(result.is_err(), "{server:?}");
        assert_eq!(
            fs_err::read(stand_in.path("/d/large"))?,
            b"old",
            "{server:?}"
        );
        machines.power_on(0)?;
        let report = machine.copy(&tree).await?;
        assert_eq!(report.transferred, 1, "{server:?}");
        let names: Vec<_> = fs_err::read_dir(stand_in.path("/d"))?
            .filter_map(Result::ok)
            .map(|entry| entry.file_name())
            .collect();
        assert_eq!(
            names.len(),
            2,
            "{server:?}: no staging folder is left in {names:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_source_that_changes_while_it_is_copied_is_an_error_and_replaces_nothing()
-> anyhow::Result<()> {
    for server in SERVERS {
        let machines = start(server);
        let machine = machines.machine(0);
        let root = tempfile::tempdir()?;
        fs_err::create_dir_all(root.path().join("hooks/pre"))?;
        for name in ["pre/hook", "pre/no shebang", "large"] {
            fs_err::write(root.path().join("hooks").join(name), "old")?;
        }
        machine.copy(&tree(root.path(), "/d")).await?;
        let large = root.path().join("hooks/large");
        fs_err::write(&large, vec![1; 30_000_000])?;
        let tree = tree(root.path(), "/d");
        let stand_in = machines.machines()[0].stand_in.clone();
        let (result, ()) = tokio::join!(machine.copy(&tree), async {
            while !has_started(&stand_in.path("/d")) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let file = fs_err::OpenOptions::new().write(true).open(&large).unwrap();
            file.set_len(29_999_999).unwrap();
        });
        let error = result.unwrap_err();
        assert!(
            matches!(error, CopyError::SourceChanged(_)),
            "{server:?}: {error}"
        );
        assert_eq!(
            fs_err::read(stand_in.path("/d/large"))?,
            b"old",
            "{server:?}"
        );
        let again = self::tree(root.path(), "/d");
        assert_eq!(machine.copy(&again).await?.transferred, 1, "{server:?}");
        let names = fs_err::read_dir(stand_in.path("/d"))?;
        assert_eq!(names.count(), 2, "{server:?}: no staging folder is left");
    }
    Ok(())
}

/// Not even what was done can be recorded.
#[tokio::test]
async fn a_read_only_root_is_a_clear_error_for_files_and_attempts() -> anyhow::Result<()> {
    for server in SERVERS {
        let mut options = Options::new(server);
        options.mounts = "mount -o remount,bind,ro .".to_owned();
        let machines = Machines::start(options)?;
        let machine = machines.machine(0);
        let root = files();
        let copied = machine.copy(&tree(root.path(), "/opt/hooks")).await;
        let text = copied.unwrap_err().to_string();
        assert!(text.contains("Read-only file system"), "{server:?}: {text}");
        let attempt = outrigger_node::AttemptId::new("task", "1");
        let command = Command::shell("echo ran");
        let text = machine.run_attempt(&attempt, &command).await;
        let text = text.unwrap_err().to_string();
        assert!(
            text.contains("cannot create /var/lib/outrigger/attempts"),
            "{server:?}: {text}"
        );
        assert_eq!(machine.run(&command).await?.stdout.text(), "ran\n");
    }
    Ok(())
}

/// Whether a staging folder has a large part of a file.
fn has_started(folder: &Path) -> bool {
    let stages = fs_err::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    stages
        .map(|entry| entry.path().join("large"))
        .any(|path| fs_err::metadata(path).is_ok_and(|data| data.len() > 1_000_000))
}

#[tokio::test]
async fn thousands_of_files_arrive() -> anyhow::Result<()> {
    let machines = start(Server::Dropbear);
    let machine = machines.machine(0);
    let root = tempfile::tempdir()?;
    for folder in 0..20 {
        let folder = root.path().join("hooks").join(folder.to_string());
        fs_err::create_dir_all(&folder)?;
        for file in 0..100 {
            fs_err::write(folder.join(file.to_string()), format!("{file}"))?;
        }
    }
    let entries = [Entry {
        source: "hooks".into(),
        destination: "/d".to_owned(),
    }];
    let tree = Tree::scan(root.path(), &entries, &BTreeSet::new())?;
    assert_eq!(machine.copy(&tree).await?.transferred, 2000);
    assert_eq!(machine.copy(&tree).await?.unchanged, 2000);
    Ok(())
}

#[tokio::test]
async fn folders_that_were_made_for_files_are_removed_with_them() -> anyhow::Result<()> {
    for server in SERVERS {
        let machines = start(server);
        let machine = machines.machine(0);
        let root = files();
        machine.run(&Command::shell("mkdir /opt/mine")).await?;
        let tree = tree(root.path(), "/opt/mine/and/hooks");
        machine.copy(&tree).await?;
        machine.remove(&tree).await?;
        let left = "find /opt/mine; ls -A /var/lib/outrigger";
        let left = machine.run(&Command::shell(left)).await?;
        assert_eq!(left.stdout.text(), "/opt/mine\n", "{server:?}");
    }
    Ok(())
}

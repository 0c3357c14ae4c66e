//! What runs on machines works in other shells than dash, too. Busybox is the shell of all machines with dropbear.

use std::collections::BTreeSet;
use std::time::Duration;

use outrigger_node::{AttemptId, AttemptOutcome, Command, Entry, Machine, Tree};
use outrigger_testing::machines::{Machines, Options, Server};

use super::start;

/// A machine whose `/bin/sh` is bash, which then follows POSIX.
fn with_bash() -> anyhow::Result<Machines> {
    Machines::start(Options {
        // Through the link, if there is one.
        mounts: "chroot . mount --bind /bin/bash /bin/sh".to_owned(),
        ..Options::new(Server::OpenSsh)
    })
}

#[tokio::test]
async fn all_programs_run_in_each_shell() -> anyhow::Result<()> {
    let shells = [
        ("bash", with_bash()?),
        ("dash", start(Server::OpenSsh)),
        ("busybox", start(Server::Dropbear)),
    ];
    for (shell, machines) in &shells {
        let machine = machines.machine(0);
        let version = "[ -n \"$BASH_VERSION\" ] && echo bash || readlink /bin/sh";
        let version = machine.run(&Command::shell(version)).await?.stdout.text();
        assert_eq!(version.trim(), *shell);
        use_machine(&machine).await?;
    }
    Ok(())
}

async fn use_machine(machine: &Machine) -> anyhow::Result<()> {
    let facts = machine.facts().await?;
    assert_eq!(facts.os_name, "Outrigger stand-in");
    let output = machine
        .run(&Command::new("printf", ["%s|", "it's", "$(x)\n", ""]).input("data"))
        .await?;
    assert_eq!(output.stdout.text(), "it's|$(x)\n||");
    use_files(machine).await?;
    use_attempts(machine).await
}

async fn use_files(machine: &Machine) -> anyhow::Result<()> {
    let root = tempfile::tempdir()?;
    fs_err::create_dir_all(root.path().join("files/deep er"))?;
    for (name, content) in [("it's", "one"), ("deep er/$x", "two")] {
        fs_err::write(root.path().join("files").join(name), content)?;
    }
    let entries = [Entry {
        source: "files".into(),
        destination: "/srv/a b".to_owned(),
    }];
    let tree = Tree::scan(root.path(), &entries, &BTreeSet::new())?;
    assert_eq!(machine.copy(&tree).await?.transferred, 2);
    assert_eq!(machine.copy(&tree).await?.unchanged, 2);
    // Something is in the way.
    let entries = [Entry {
        source: "files".into(),
        destination: format!("/srv/a b/new/{}", "x".repeat(300)),
    }];
    let broken = Tree::scan(root.path(), &entries, &BTreeSet::new())?;
    assert!(machine.copy(&broken).await.is_err());
    let list = Command::shell("cd '/srv/a b'; find . -type d");
    let folders = machine.run(&list).await?.stdout.text();
    assert_eq!(folders, ".\n./deep er\n");
    machine.remove(&tree).await?;
    let left = machine.run(&Command::shell("ls -A /srv")).await?;
    assert_eq!(left.stdout.text(), "");
    Ok(())
}

async fn use_attempts(machine: &Machine) -> anyhow::Result<()> {
    let id = |id: &str| AttemptId::new("task", id);
    let command = Command::shell("echo x >>/tmp/runs; echo out; echo err >&2; exit 7");
    for _ in 0..2 {
        let outcome = machine.run_attempt(&id("1"), &command).await?;
        let AttemptOutcome::Exited { code: 7, output } = outcome else {
            anyhow::bail!("{outcome:?}");
        };
        assert_eq!(output.text(), "out\nerr\n");
    }
    let endless = Command::shell("yes").timeout(Duration::from_secs(1));
    let outcome = machine.run_attempt(&id("2"), &endless).await?;
    assert!(matches!(outcome, AttemptOutcome::TimedOut { .. }));
    assert!(outcome.output().dropped > 0);
    let canceled = machine.cancel_attempt(&id("3")).await?;
    assert!(matches!(canceled, AttemptOutcome::Cancelled { .. }));
    let runs = machine.run(&Command::shell("cat /tmp/runs")).await?;
    assert_eq!(runs.stdout.text(), "x\n");
    machine.forget_attempts(&["task".to_owned()]).await?;
    let left = machine.run(&Command::shell("ls /var/lib")).await?;
    assert_eq!(left.stdout.text(), "");
    Ok(())
}

//! Hooks and machines that work against what supervises them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use outrigger_node::{AttemptId, AttemptOutcome, Command, Connector, Entry, Machine, Tree};
use outrigger_testing::machines::{Machines, Options, Server};

use super::commands::with_sudo;
use super::{SERVERS, start};

fn attempt(id: &str) -> AttemptId {
    AttemptId::new("cls-1/EnsurePreInstallHook", id)
}

/// A server that allows one session for each connection. Those of dropbear have no such limit.
fn with_one_session(server: Server) -> anyhow::Result<Machines> {
    Machines::start(Options {
        configuration: "MaxSessions 1".to_owned(),
        ..Options::new(server)
    })
}

/// Waits for a file on the machine.
async fn wait_for(machines: &Machines, path: &str) {
    let path = machines.machines()[0].stand_in.path(path);
    let deadline = Instant::now() + Duration::from_secs(30);
    while !path.exists() {
        assert!(Instant::now() < deadline, "the hook did not start");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_hook_that_holds_the_only_session_of_the_connection_is_cancelled() -> anyhow::Result<()> {
    for server in SERVERS {
        let machines = with_one_session(server)?;
        let machine = machines.machine(0);
        let command = Command::shell("true >/tmp/begun; sleep 1000");
        let id = attempt("1");
        let (outcome, cancelled) = tokio::join!(machine.run_attempt(&id, &command), async {
            wait_for(&machines, "/tmp/begun").await;
            // Old versions of dropbear run one command at a time.
            if server == Server::OpenSsh {
                let output = machine.run(&Command::shell("echo other")).await?;
                assert_eq!(output.stdout.text(), "other\n");
            }
            machine.cancel_attempt(&id).await
        });
        for outcome in [outcome?, cancelled?] {
            assert!(
                matches!(outcome, AttemptOutcome::Cancelled { .. }),
                "{server:?}: {outcome:?}"
            );
        }
        // The connections for these commands are closed.
        let count = "n=0; for s in /proc/[0-9]*/cmdline; do read -r c <$s; case $c in *notty*) n=$((n+1));; esac; done 2>/dev/null; echo $n";
        if server == Server::OpenSsh {
            let deadline = Instant::now() + Duration::from_secs(10);
            while machine.run(&Command::shell(count)).await?.stdout.text() != "1\n" {
                assert!(Instant::now() < deadline, "a connection is left");
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_hook_that_holds_the_only_session_of_the_connection_times_out() -> anyhow::Result<()> {
    for server in SERVERS {
        let machines = with_one_session(server)?;
        let machine = machines.machine(0);
        let command = Command::shell("echo before; sleep 1000").timeout(Duration::from_secs(1));
        let outcome = machine.run_attempt(&attempt("1"), &command).await?;
        let AttemptOutcome::TimedOut { after, output } = outcome else {
            panic!("{server:?}: {outcome:?}");
        };
        assert_eq!(after, Duration::from_secs(1));
        assert_eq!(output.text(), "before\n");
        let run = Command::shell("sleep 1000").timeout(Duration::from_secs(1));
        assert!(machine.run(&run).await.is_err());
        let next = Command::shell("echo next");
        let next = machine.run_attempt(&attempt("2"), &next).await?;
        assert_eq!(next.output().text(), "next\n", "{server:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_hook_that_kills_its_supervisors_has_ended_before_it_is_tried_again() -> anyhow::Result<()>
{
    for server in SERVERS {
        let machines = start(server);
        let machine = machines.machine(0);
        // Up to the SSH server, which is killed too if there are four.
        for count in 1..=4 {
            let kill = format!(
                "p=$$; i=0; while [ $i -lt {count} ] && [ $p -gt 1 ]; do
read -r stat </proc/$p/stat; set -- ${{stat##*) }}; p=$2; i=$((i + 1)); [ $p -le 1 ] || kill -s KILL $p; done
true >/tmp/begun; exec sh -c 'while echo beat >>/tmp/beats; do sleep 0.01; done'"
            );
            let hook = machines.machines()[0].stand_in.path("/tmp/hook");
            fs_err::write(hook, kill)?;
            let first = Command::shell("sh /tmp/hook; exit $?");
            let outcome = machine
                .run_attempt(&attempt(&format!("{count}/1")), &first)
                .await?;
            assert!(
                matches!(
                    outcome,
                    AttemptOutcome::Lost { .. } | AttemptOutcome::Exited { code: 137, .. }
                ),
                "{server:?} {count}: {outcome:?}"
            );
            wait_for(&machines, "/tmp/begun").await;
            let still = "a=$(wc -l </tmp/beats); sleep 1; [ $a = $(wc -l </tmp/beats) ] || echo beats; rm /tmp/begun";
            let next = attempt(&format!("{count}/2"));
            let next = machine.run_attempt(&next, &Command::shell(still)).await?;
            assert_eq!(next.output().text(), "", "{server:?} {count}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_hook_that_stops_its_supervisors_and_ends_has_not_timed_out() -> anyhow::Result<()> {
    for server in SERVERS {
        let machines = start(server);
        let machine = machines.machine(0);
        let stop = "p=$$; for i in 1 2; do
read -r stat </proc/$p/stat; set -- ${stat##*) }; p=$2; kill -s STOP $p; done; exit 3";
        let command = Command::shell(stop).timeout(Duration::from_secs(2));
        let outcome = machine.run_attempt(&attempt("1"), &command).await?;
        assert!(
            matches!(outcome, AttemptOutcome::Exited { code: 3, .. }),
            "{server:?}: {outcome:?}"
        );
    }
    Ok(())
}

/// The descriptors of this process, as a hook lists them. Dropbear passes on those that it inherited.
fn own_descriptors() -> anyhow::Result<BTreeSet<String>> {
    let own = fs_err::read_dir("/proc/self/fd")?
        .flatten()
        .filter_map(|entry| {
            let target = fs_err::read_link(entry.path()).ok()?;
            Some(format!(
                "{} {}",
                entry.file_name().display(),
                target.display()
            ))
        });
    Ok(own.collect())
}

#[tokio::test]
async fn a_hook_inherits_no_descriptor_of_its_supervisors() -> anyhow::Result<()> {
    let own = own_descriptors()?;
    for server in SERVERS {
        let machines = start(server);
        let list = "for f in /proc/$$/fd/*; do [ -e $f ] && echo \"${f##*/} $(readlink $f)\"; done";
        let list = Command::new("sh", ["-c", list]);
        let outcome = machines
            .machine(0)
            .run_attempt(&attempt("1"), &list)
            .await?;
        let text = outcome.output().text();
        let is_own = |line: &&str| line.find(' ').is_some_and(|at| at > 1) && own.contains(*line);
        let numbers = text.lines().filter(|line| !is_own(line));
        let numbers = numbers.filter_map(|line| line.split(' ').next());
        assert_eq!(
            numbers.collect::<Vec<_>>(),
            ["0", "1", "2"],
            "{server:?}: {text}"
        );
    }
    Ok(())
}

/// A login shell that prints, as files that shells read at their start do.
const NOISY: &str = "#!/bin/sh
i=0; while [ $i -lt 2000 ]; do echo \"Welcome! There are $i messages.\"; i=$((i+1)); done
echo 0; echo end; echo done; printf 'no newline'; exec /bin/sh \"$@\"
";

#[tokio::test]
async fn what_shells_print_at_their_start_is_ignored() -> anyhow::Result<()> {
    for server in SERVERS {
        let (machines, users) = match server {
            Server::OpenSsh => (with_sudo("ALL")?, &["root", "admin"][..]),
            Server::Dropbear => (start(server), &["root"][..]),
        };
        let stand_in = &machines.machines()[0].stand_in;
        let shell = stand_in.path("/etc/noisy");
        fs_err::write(&shell, NOISY)?;
        fs_err::set_permissions(&shell, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        fs_err::write(stand_in.path("/etc/shells"), "/bin/sh\n/etc/noisy\n")?;
        let passwd = fs_err::read_to_string(stand_in.path("/etc/passwd"))?;
        let passwd = passwd.replace("/bin/sh\n", "/etc/noisy\n");
        assert!(passwd.contains("/etc/noisy"), "{passwd}");
        fs_err::write(stand_in.path("/etc/passwd"), passwd)?;
        for user in users {
            let machine = Machine::ssh(machines.target(0, user), &Connector::default());
            use_machine(&machine).await?;
        }
    }
    Ok(())
}

async fn use_machine(machine: &Machine) -> anyhow::Result<()> {
    let output = machine.run(&Command::shell("echo out")).await?;
    assert_eq!(output.stdout.text(), "out\n");
    assert_eq!(machine.facts().await?.os_name, "Outrigger stand-in");
    let folder = tempfile::tempdir()?;
    fs_err::write(folder.path().join("file"), "content")?;
    let entries = [Entry {
        source: "file".into(),
        destination: "/srv/file".to_owned(),
    }];
    let tree = Tree::scan(folder.path(), &entries, &BTreeSet::new())?;
    assert_eq!(machine.copy(&tree).await?.transferred, 1);
    machine.remove(&tree).await?;
    for id in ["1", "2"] {
        let hook = Command::shell("echo hook; exit 4");
        let outcome = machine.run_attempt(&attempt(id), &hook).await?;
        let AttemptOutcome::Exited { code, output } = outcome else {
            anyhow::bail!("the hook did not exit");
        };
        assert_eq!((code, output.text().as_str()), (4, "hook\n"));
    }
    machine
        .forget_attempts(&["cls-1/EnsurePreInstallHook".to_owned()])
        .await?;
    Ok(())
}

#[tokio::test]
async fn a_shell_that_prints_without_end_is_an_error_in_bounded_memory() -> anyhow::Result<()> {
    let machines = start(Server::OpenSsh);
    let stand_in = &machines.machines()[0].stand_in;
    let shell = stand_in.path("/etc/noisy");
    fs_err::write(&shell, "#!/bin/sh\nexec yes Welcome!\n")?;
    fs_err::set_permissions(&shell, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let users = fs_err::read_to_string(stand_in.path("/etc/passwd"))?;
    fs_err::write(
        stand_in.path("/etc/passwd"),
        users.replace("/bin/sh\n", "/etc/noisy\n"),
    )?;
    let machine = machines.machine(0);
    for error in [
        machine.run(&Command::shell("true")).await.map(drop),
        machine
            .run_attempt(&attempt("1"), &Command::shell("true"))
            .await
            .map(drop),
    ] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains("Welcome!") && error.len() < 500, "{error}");
    }
    Ok(())
}

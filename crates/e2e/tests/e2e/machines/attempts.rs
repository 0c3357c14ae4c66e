//! Attempts on real machines: at most once, whatever breaks.

use std::time::{Duration, Instant};

use outrigger_node::{AttemptId, AttemptOutcome, Command, Machine};
use outrigger_testing::machines::{Machines, Options, Server};

use super::{SERVERS, start};

fn attempt(id: &str) -> AttemptId {
    AttemptId::new("cls-1/EnsurePreInstallHook", id)
}

fn runs(machines: &Machines) -> usize {
    let marker = machines.machines()[0].stand_in.path("/tmp/marker");
    fs_err::read_to_string(marker)
        .unwrap_or_default()
        .lines()
        .count()
}

async fn wait_for_run(machines: &Machines) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while runs(machines) == 0 {
        assert!(Instant::now() < deadline, "the attempt did not start");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn an_attempt_runs_once_for_any_number_of_callers() -> anyhow::Result<()> {
    for server in SERVERS {
        let machines = start(server);
        let command =
            Command::shell("echo x >>/tmp/marker; sleep 1; echo \"$0 done\"; umask; pwd; exit 4");
        let hosts: Vec<Machine> = (0..4).map(|_| machines.machine(0)).collect();
        let id = attempt("1");
        let calls = hosts
            .iter()
            .map(|machine| machine.run_attempt(&id, &command));
        for outcome in futures::future::try_join_all(calls).await? {
            let AttemptOutcome::Exited { code, output } = outcome else {
                panic!("{server:?}: {outcome:?}");
            };
            assert_eq!(code, 4);
            assert!(
                output.text().ends_with("done\n0022\n/root\n"),
                "{server:?}: {}",
                output.text()
            );
        }
        assert_eq!(runs(&machines), 1, "{server:?}");
    }
    Ok(())
}

#[tokio::test]
async fn an_attempt_survives_the_loss_of_its_connection() -> anyhow::Result<()> {
    for server in SERVERS {
        let machines = start(server);
        let machine = machines.machine(0);
        let command = Command::shell("echo x >>/tmp/marker; sleep 2; echo done");
        let id = attempt("1");
        let (outcome, ()) = tokio::join!(machine.run_attempt(&id, &command), async {
            wait_for_run(&machines).await;
            // All server processes except the one that listens.
            let kill = "for s in /proc/[0-9]*/stat; do read -r p n r <$s || continue
case $n in *sshd*|*dropbear*) [ $p = 1 ] || kill -9 $p;; esac; done";
            let other = machines.machine(0);
            let _ = other.run(&Command::shell(kill)).await;
        });
        assert_eq!(outcome?.output().text(), "done\n", "{server:?}");
        assert_eq!(runs(&machines), 1, "{server:?}");
    }
    Ok(())
}

#[tokio::test]
async fn an_attempt_whose_machine_reboots_is_lost() -> anyhow::Result<()> {
    for server in SERVERS {
        let mut machines = start(server);
        let machine = machines.machine(0);
        let command = Command::shell("echo x >>/tmp/marker; echo before; sleep 1000");
        let id = attempt("1");
        let (outcome, ()) = tokio::join!(machine.run_attempt(&id, &command), async {
            wait_for_run(&machines).await;
            tokio::time::sleep(Duration::from_millis(200)).await;
            machines.power_off(0).unwrap();
            machines.power_on(0).unwrap();
        });
        let outcome = outcome?;
        assert!(
            matches!(outcome, AttemptOutcome::Lost { .. }),
            "{server:?}: {outcome:?}"
        );
        assert_eq!(outcome.output().text(), "before\n", "{server:?}");
        assert_eq!(runs(&machines), 1, "{server:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_hook_that_never_ends_times_out_on_the_machine() -> anyhow::Result<()> {
    for server in SERVERS {
        let machines = start(server);
        let machine = machines.machine(0);
        let command =
            Command::shell("trap '' TERM; echo x >>/tmp/marker; while :; do sleep 1; done");
        let outcome = machine
            .run_attempt(&attempt("1"), &command.timeout(Duration::from_secs(1)))
            .await?;
        assert!(
            matches!(outcome, AttemptOutcome::TimedOut { .. }),
            "{server:?}: {outcome:?}"
        );
        let next = machine
            .run_attempt(&attempt("2"), &Command::shell("echo next"))
            .await?;
        assert_eq!(next.output().text(), "next\n", "{server:?}");
    }
    Ok(())
}

#[tokio::test]
async fn an_attempt_is_cancelled_over_the_connection_that_waits_for_it() -> anyhow::Result<()> {
    for server in SERVERS {
        let machines = start(server);
        let machine = machines.machine(0);
        let command = Command::shell("echo x >>/tmp/marker; sleep 1000");
        let id = attempt("1");
        let (outcome, cancelled) = tokio::join!(machine.run_attempt(&id, &command), async {
            wait_for_run(&machines).await;
            machine.cancel_attempt(&id).await
        });
        for outcome in [outcome?, cancelled?] {
            assert!(
                matches!(outcome, AttemptOutcome::Cancelled { .. }),
                "{server:?}: {outcome:?}"
            );
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_daemon_that_keeps_the_output_open_does_not_hold_the_attempt() -> anyhow::Result<()> {
    for server in SERVERS {
        let machines = start(server);
        let command = Command::shell("sleep 1000 & echo done");
        let outcome = machines
            .machine(0)
            .run_attempt(&attempt("1"), &command)
            .await?;
        assert!(outcome.is_success(), "{server:?}: {outcome:?}");
        assert_eq!(outcome.output().text(), "done\n");
    }
    Ok(())
}

#[tokio::test]
async fn endless_output_of_an_attempt_is_bounded_on_the_machine() -> anyhow::Result<()> {
    for server in SERVERS {
        let machines = start(server);
        let machine = machines.machine(0);
        let command = Command::shell("yes").timeout(Duration::from_secs(2));
        let outcome = machine.run_attempt(&attempt("1"), &command).await?;
        assert!(
            matches!(outcome, AttemptOutcome::TimedOut { .. }),
            "{server:?}: {outcome:?}"
        );
        assert!(
            outcome.output().dropped > 1_000_000,
            "{server:?}: {}",
            outcome.output().dropped
        );
        let size = machine
            .run(&Command::shell("du -sk /var/lib/outrigger"))
            .await?;
        let size: u64 = size
            .stdout
            .text()
            .split_whitespace()
            .next()
            .unwrap()
            .parse()?;
        assert!(size < 4096, "{server:?}: {size} KiB");
    }
    Ok(())
}

#[tokio::test]
async fn a_hook_that_fills_the_disk_still_has_a_result() -> anyhow::Result<()> {
    for server in SERVERS {
        let mut options = Options::new(server);
        options.mounts = "mount -t tmpfs -o size=1m tmpfs var/lib".to_owned();
        let machines = Machines::start(options)?;
        let command = Command::shell("head -c 2000000 /dev/zero >/var/lib/full; exit 5");
        let outcome = machines
            .machine(0)
            .run_attempt(&attempt("1"), &command)
            .await?;
        assert!(
            matches!(outcome, AttemptOutcome::Exited { code: 5, .. }),
            "{server:?}: {outcome:?}"
        );
        let next = machines
            .machine(0)
            .run_attempt(&attempt("2"), &command)
            .await;
        let text = next.unwrap_err().to_string();
        assert!(text.contains("/var/lib/outrigger"), "{server:?}: {text}");
    }
    Ok(())
}

#[tokio::test]
async fn the_state_of_a_machine_is_for_root_only() -> anyhow::Result<()> {
    let machines = start(Server::OpenSsh);
    machines
        .machine(0)
        .run_attempt(&attempt("1"), &Command::shell("true"))
        .await?;
    let state = machines.machines()[0].stand_in.path("/var/lib/outrigger");
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs_err::metadata(state)?.permissions());
    assert_eq!(mode & 0o777, 0o700);
    Ok(())
}

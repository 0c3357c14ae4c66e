//! Commands and facts.

use std::time::{Duration, Instant};

use outrigger_node::{Command, Connector, Machine, RunError, Status};
use outrigger_testing::machines::{Machines, Options, Server};

use super::{SERVERS, start};

#[tokio::test]
async fn commands_run_as_root_with_output_and_exit_code() -> anyhow::Result<()> {
    for server in SERVERS {
        let machines = start(server);
        let machine = machines.machine(0);
        let command = Command::shell("id -u; pwd; echo error >&2; exit 9");
        let output = machine.run(&command).await?;
        assert_eq!(output.status, Status::Exited(9), "{server:?}");
        assert_eq!(output.stdout.text(), "0\n/root\n", "{server:?}");
        assert_eq!(output.stderr.text(), "error\n", "{server:?}");
    }
    Ok(())
}

#[tokio::test]
async fn hostile_arguments_arrive_as_they_are() -> anyhow::Result<()> {
    let hostile = [
        "a b",
        "it's",
        "\"q\"",
        "$(touch /tmp/pwned)",
        "`id`",
        "x\ny\n",
        "\\n",
        "*",
        "",
        "ü",
    ];
    for server in SERVERS {
        let machines = start(server);
        let arguments = ["-c", r#"printf "[%s]" "$@""#, "sh"]
            .into_iter()
            .chain(hostile);
        let output = machines
            .machine(0)
            .run(&Command::new("sh", arguments))
            .await?;
        let expected: String = hostile
            .iter()
            .map(|argument| format!("[{argument}]"))
            .collect();
        assert_eq!(output.stdout.text(), expected, "{server:?}");
        assert!(!machines.machines()[0].stand_in.path("/tmp/pwned").exists());
    }
    Ok(())
}

#[tokio::test]
async fn binary_output_without_a_newline_is_kept() -> anyhow::Result<()> {
    for server in SERVERS {
        let machines = start(server);
        let output = machines
            .machine(0)
            .run(&Command::shell(r"printf 'a\000\377b'"))
            .await?;
        assert_eq!(output.stdout.head, b"a\0\xffb", "{server:?}");
    }
    Ok(())
}

#[tokio::test]
async fn endless_output_is_bounded_and_its_process_killed() -> anyhow::Result<()> {
    for server in SERVERS {
        let machines = start(server);
        let machine = machines.machine(0);
        let endless = Command::shell("yes")
            .timeout(Duration::from_secs(2))
            .capture(1000);
        let mut bytes = 0_usize;
        let result = machine
            .run_streamed(&endless, |chunk| {
                let (outrigger_node::Chunk::Stdout(data) | outrigger_node::Chunk::Stderr(data)) =
                    chunk;
                bytes += data.len();
            })
            .await;
        assert!(
            matches!(result, Err(RunError::Timeout { .. })),
            "{server:?}: {result:?}"
        );
        assert!(bytes > 100_000, "{server:?}: {bytes}");
        assert_eq!(count(&machine, "yes").await?, 0, "{server:?}");
    }
    Ok(())
}

/// How many processes of a machine have this name.
async fn count(machine: &Machine, name: &str) -> anyhow::Result<usize> {
    let script = "for s in /proc/[0-9]*/stat; do read -r p n r <$s && echo $n; done 2>/dev/null";
    let output = machine.run(&Command::shell(script)).await?;
    let name = format!("({name})");
    Ok(output
        .stdout
        .text()
        .lines()
        .filter(|line| *line == name)
        .count())
}

#[tokio::test]
async fn a_call_that_is_dropped_kills_its_command() -> anyhow::Result<()> {
    for server in SERVERS {
        let machines = start(server);
        let machine = machines.machine(0);
        let sleep = Command::shell("echo started; sleep 1000");
        let (sender, started) = tokio::sync::oneshot::channel();
        let mut sender = Some(sender);
        let run = machine.run_streamed(&sleep, |_| {
            if let Some(sender) = sender.take() {
                let _ = sender.send(());
            }
        });
        tokio::select! {
            _ = run => panic!("sleep ended"),
            _ = started => {}
        }
        let deadline = Instant::now() + Duration::from_secs(20);
        while count(&machine, "sleep").await? > 0 {
            assert!(Instant::now() < deadline, "{server:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_daemon_that_keeps_the_output_open_does_not_hold_the_call() -> anyhow::Result<()> {
    for server in SERVERS {
        let machines = start(server);
        let machine = machines.machine(0);
        let begin = Instant::now();
        let output = machine
            .run(&Command::shell("sleep 1000 & echo done"))
            .await?;
        assert_eq!(output.stdout.text(), "done\n", "{server:?}");
        assert!(begin.elapsed() < Duration::from_secs(20), "{server:?}");
        assert_eq!(count(&machine, "sleep").await?, 1, "{server:?}");
    }
    Ok(())
}

#[tokio::test]
async fn facts_are_those_of_the_machine() -> anyhow::Result<()> {
    for server in SERVERS {
        let machines = start(server);
        let facts = machines.machine(0).facts().await?;
        assert_eq!(
            (facts.hostname.as_str(), facts.os.as_str()),
            ("machine-0", "stand-in")
        );
        let boot_id = machines.machines()[0].stand_in.path("etc/boot_id");
        let boot_id = fs_err::read_to_string(boot_id)?;
        assert_eq!(facts.boot_id.as_deref(), Some(boot_id.trim()));
        assert!(facts.is_root && facts.memory_bytes > Some(0) && facts.cpus > Some(0));
        assert!(facts.free_bytes.contains_key("/"), "{server:?}: {facts:?}");
    }
    Ok(())
}

#[tokio::test]
async fn many_commands_share_one_connection() -> anyhow::Result<()> {
    // Dropbear 2022.83 closes a channel, or ends the connection, if another command ends while the channel is opened.
    for server in SERVERS {
        let machines = start(server);
        let machine = machines.machine(0);
        let run = |number: usize| {
            let machine = machine.clone();
            async move { machine.run(&Command::shell(format!("echo {number}"))).await }
        };
        let outputs = futures::future::try_join_all((0..200).map(run)).await?;
        for (number, output) in outputs.iter().enumerate() {
            assert_eq!(output.stdout.text(), format!("{number}\n"), "{server:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_user_becomes_root_by_sudo_with_and_without_a_password() -> anyhow::Result<()> {
    for rule in ["ALL", "NOPASSWD: ALL"] {
        let machines = with_sudo(rule)?;
        let machine = Machine::connect(machines.target(0, "admin"), &Connector::default()).await?;
        for _ in 0..2 {
            let output = machine
                .run(&Command::shell("id -u; cat").input("input"))
                .await?;
            assert_eq!(
                output.stdout.text(),
                "0\ninput",
                "{rule}: {}",
                output.stderr.text()
            );
        }
        let lines = "ps -eo args 2>/dev/null || cat /proc/[0-9]*/cmdline";
        let seen = machine.run(&Command::shell(lines)).await?.stdout.text();
        assert!(
            !seen.contains("outrigger\n") && !seen.contains("id -u"),
            "{seen}"
        );
    }
    Ok(())
}

/// The probe runs another program than a shell.
#[tokio::test]
async fn a_password_that_sudo_does_not_ask_for_is_not_taken_for_a_command() -> anyhow::Result<()> {
    let machines = with_sudo("NOPASSWD: /bin/sh")?;
    let machine = Machine::connect(machines.target(0, "admin"), &Connector::default()).await?;
    let output = machine
        .run(&Command::shell("id -u; cat").input("input"))
        .await?;
    assert_eq!(output.stdout.text(), "0\ninput");
    assert_eq!(output.stderr.text(), "", "the password is printed");
    Ok(())
}

pub(super) fn with_sudo(rule: &str) -> anyhow::Result<Machines> {
    let mut options = Options::new(Server::OpenSsh);
    options.mounts = format!(
        "mkdir -p usr/local/bin etc/pam.d etc/security
ln -sf /opt/sshd/usr/bin/sudo usr/local/bin/sudo
echo 'auth required pam_unix.so
account required pam_permit.so
session required pam_permit.so' >etc/pam.d/sudo
echo 'admin ALL=(ALL) {rule}' >etc/sudoers
chmod 440 etc/sudoers"
    );
    Machines::start(options)
}

#[tokio::test]
async fn a_user_without_sudo_and_one_that_sudo_refuses_get_clear_errors() -> anyhow::Result<()> {
    let machines = start(Server::OpenSsh);
    let error = Machine::connect(machines.target(0, "admin"), &Connector::default()).await;
    assert!(error.unwrap_err().to_string().contains("has no sudo"));
    let machines = with_sudo("/bin/none")?;
    let mut target = machines.target(0, "admin");
    let machine = Machine::connect(target.clone(), &Connector::default()).await?;
    let error = machine.run(&Command::shell("id")).await.unwrap_err();
    assert!(error.to_string().contains("sudo of admin@"), "{error}");
    target.credentials.sudo_password = Some(outrigger_node::Secret::new("wrong"));
    let machine = Machine::connect(target, &Connector::default()).await?;
    let begin = Instant::now();
    let error = machine.run(&Command::shell("id")).await.unwrap_err();
    assert!(error.to_string().contains("refused"), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(30));
    Ok(())
}

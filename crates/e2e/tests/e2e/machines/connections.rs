//! Authentication, host keys, lost connections.

use outrigger_node::{
    Command, ConnectError, Connector, Credentials, HostKeyPolicy, Machine, RunError, Secret,
};
use outrigger_testing::machines::{Machines, Options, Server};

use super::{SERVERS, start};

async fn error_of(target: outrigger_node::Target) -> ConnectError {
    match Machine::connect(target, &Connector::default()).await {
        Err(RunError::Connect(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_wrong_password_is_rejected_and_named() {
    for server in SERVERS {
        let machines = start(server);
        let mut target = machines.target(0, "root");
        target.credentials = Credentials::password("wrong-secret");
        let error = error_of(target).await;
        let ConnectError::Rejected { attempted, .. } = &error else {
            panic!("{server:?}: {error:?}");
        };
        assert!(attempted.contains(&"password"));
        assert!(!format!("{error} {error:?}").contains("wrong-secret"));
    }
}

#[tokio::test]
async fn private_keys_with_and_without_passphrase_log_in() -> anyhow::Result<()> {
    for server in SERVERS {
        let machines = start(server);
        let mut target = machines.key_target(0)?;
        Machine::connect(target.clone(), &Connector::default()).await?;
        let key = machines.private_key();
        let keygen = outrigger_testing::peers::SSHD
            .folder()?
            .join("usr/bin/ssh-keygen");
        let key_path = key.display().to_string();
        let keygen_path = keygen.display().to_string();
        let encrypt = Command::new(
            &keygen_path,
            ["-p", "-q", "-P", "", "-N", "phrase", "-f", &key_path],
        );
        assert!(Machine::local().run(&encrypt).await?.status.is_success());
        let encrypted = fs_err::read_to_string(key)?;
        target.credentials = Credentials::private_key(encrypted);
        assert!(matches!(
            error_of(target.clone()).await,
            ConnectError::PrivateKey { .. }
        ));
        target.credentials.passphrase = Some(Secret::new("phrase"));
        Machine::connect(target, &Connector::default()).await?;
    }
    Ok(())
}

#[tokio::test]
async fn an_agent_logs_in() -> anyhow::Result<()> {
    let machines = start(Server::OpenSsh);
    let folder = outrigger_testing::peers::SSHD.folder()?.join("usr/bin");
    let socket = machines.directory().join("agent");
    let script = format!(
        "eval \"$({0}/ssh-agent -a {1})\" >/dev/null; {0}/ssh-add -q {2}; echo $SSH_AGENT_PID",
        folder.display(),
        socket.display(),
        machines.private_key().display()
    );
    let started = Machine::local().run(&Command::shell(script)).await?;
    let mut target = machines.target(0, "root");
    target.credentials = Credentials::agent(&socket);
    let result = Machine::connect(target.clone(), &Connector::default()).await;
    let agent = started.stdout.text();
    Machine::local()
        .run(&Command::new("kill", [agent.trim()]))
        .await?;
    result?;
    assert!(matches!(error_of(target).await, ConnectError::Agent { .. }));
    Ok(())
}

#[tokio::test]
async fn a_server_that_asks_interactively_gets_the_password() -> anyhow::Result<()> {
    let mut options = Options::new(Server::OpenSsh);
    options.configuration =
        "UsePAM yes\nPasswordAuthentication no\nKbdInteractiveAuthentication yes".to_owned();
    options.mounts = "mkdir -p etc/pam.d; echo 'auth required pam_unix.so
account required pam_permit.so
session required pam_permit.so' >etc/pam.d/sshd"
        .to_owned();
    let machines = Machines::start(options)?;
    Machine::connect(machines.target(0, "root"), &Connector::default()).await?;
    Ok(())
}

#[tokio::test]
async fn a_changed_host_key_is_refused_and_both_are_named() -> anyhow::Result<()> {
    for server in SERVERS {
        let machines = start(server);
        let other = start(Server::OpenSsh);
        let mut target = machines.target(0, "root");
        target.host_key = HostKeyPolicy::pinned(other.host_key().clone());
        let error = error_of(target).await;
        let text = error.to_string();
        assert!(
            matches!(error, ConnectError::HostKeyChanged { .. }),
            "{server:?}: {text}"
        );
        assert!(text.contains(&other.host_key().fingerprint()), "{text}");
        assert!(text.contains(&machines.host_key().fingerprint()), "{text}");
    }
    Ok(())
}

#[tokio::test]
async fn the_first_host_key_is_recorded_and_enforced_from_then_on() -> anyhow::Result<()> {
    let mut machines = start(Server::OpenSsh);
    let mut target = machines.target(0, "root");
    target.host_key = HostKeyPolicy::RecordFirst;
    let machine = Machine::connect(target, &Connector::default()).await?;
    let recorded = machine.host_key().expect("the key is recorded");
    assert!(recorded.matches(machines.host_key()));
    machines.power_off(0)?;
    let impostor = start(Server::OpenSsh);
    let key = impostor.machines()[0].stand_in.path("etc/ssh/host_key");
    fs_err::copy(
        key,
        machines.machines()[0].stand_in.path("etc/ssh/host_key"),
    )?;
    machines.power_on(0)?;
    let error = machine.run(&Command::shell("true")).await.unwrap_err();
    assert!(
        matches!(
            error,
            RunError::Connect(ConnectError::HostKeyChanged { .. })
        ),
        "{error}"
    );
    Ok(())
}

#[tokio::test]
async fn a_machine_is_reached_through_a_jump_host() -> anyhow::Result<()> {
    let machines = start(Server::OpenSsh);
    let behind = start(Server::Dropbear);
    let mut target = behind.target(0, "root");
    target.jump = Some(machines.machine(0));
    let machine = Machine::connect(target.clone(), &Connector::default()).await?;
    let output = machine
        .run(&Command::shell("cat /etc/hostname; echo $SSH_CONNECTION"))
        .await?;
    assert!(
        output.stdout.text().starts_with("machine-0\n127.0.0.1"),
        "{}",
        output.stdout.text()
    );
    behind.power_off(0)?;
    let error = error_of(target).await;
    assert!(matches!(error, ConnectError::Jump { .. }), "{error}");
    Ok(())
}

#[tokio::test]
async fn a_lost_connection_is_reported_and_then_opened_again() -> anyhow::Result<()> {
    for server in SERVERS {
        let mut machines = start(server);
        let machine = machines.machine(0);
        machine.open().await?;
        let command = Command::shell("echo started; sleep 1000");
        let (sender, started) = tokio::sync::oneshot::channel();
        let mut sender = Some(sender);
        let run = machine.run_streamed(&command, |_| {
            if let Some(sender) = sender.take() {
                let _ = sender.send(());
            }
        });
        let (result, ()) = tokio::join!(run, async {
            started.await.unwrap();
            machines.power_off(0).unwrap();
        });
        assert!(
            matches!(result, Err(RunError::ConnectionLost { .. })),
            "{server:?}: {result:?}"
        );
        let error = machine.run(&Command::shell("true")).await.unwrap_err();
        assert!(error.is_connection_loss(), "{server:?}: {error}");
        machines.power_on(0)?;
        assert!(
            machine
                .run(&Command::shell("true"))
                .await?
                .status
                .is_success()
        );
    }
    Ok(())
}

#[tokio::test]
async fn an_unreachable_machine_is_named() -> anyhow::Result<()> {
    let machines = start(Server::OpenSsh);
    machines.power_off(0)?;
    let error = error_of(machines.target(0, "root")).await;
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    let address = machines.machines()[0].address.to_string();
    assert!(error.to_string().contains(&address), "{error}");
    Ok(())
}

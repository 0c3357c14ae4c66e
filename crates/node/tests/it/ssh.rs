//! Machines whose SSH servers misbehave, and machines behind a jump host.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use outrigger_node::{
    AttemptId, Command, Connector, Entry, Machine, RunError, Settings, Target, Tree,
};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::ssh_server::{Behavior, SshServer, target};

/// Longer than anything here takes, and shorter than the timeouts that must not be hit.
const LIMIT: Duration = Duration::from_secs(15);

fn one_at_a_time() -> Connector {
    Connector::new(Settings {
        concurrent_handshakes: 1,
        ..Settings::default()
    })
}

fn tree() -> (tempfile::TempDir, Tree) {
    let folder = tempfile::tempdir().unwrap();
    fs_err::write(folder.path().join("hook"), "x").unwrap();
    let entries = [Entry {
        source: "hook".into(),
        destination: "/tmp/hook".to_owned(),
    }];
    let tree = Tree::scan(folder.path(), &entries, &BTreeSet::new()).unwrap();
    (folder, tree)
}

/// Accepts connections, says something, and then nothing.
async fn silent(greeting: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                stream.write_all(greeting).await.unwrap();
                std::future::pending::<()>().await;
            });
        }
    });
    address
}

#[tokio::test]
async fn answers_without_end_are_unexpected() {
    for user in ["root", "admin"] {
        let server = SshServer::start(Behavior::Endless(&[b'9'; 900])).await;
        let machine = Machine::ssh(server.target(user), &Connector::default());
        let command = Command::shell("true").timeout(LIMIT);
        let run = machine.run(&command).await.unwrap_err();
        let id = AttemptId::new("task", "1");
        let attempt = timeout(LIMIT, machine.run_attempt(&id, &command)).await;
        let attempt = attempt.expect("an attempt").unwrap_err();
        for error in [run, attempt] {
            let is_unexpected = matches!(error, RunError::UnexpectedAnswer { .. });
            assert!(is_unexpected, "{user}: {error}");
        }
        let (_folder, tree) = tree();
        let copy = timeout(LIMIT, machine.copy(&tree)).await;
        let copy = copy.expect("a copy").unwrap_err().to_string();
        assert!(copy.contains("unexpected answer"), "{copy}");
    }
}

#[tokio::test]
async fn errors_of_sudo_without_end_are_unexpected() {
    let server = SshServer::start(Behavior::EndlessErrors).await;
    let machine = Machine::ssh(server.target("admin"), &Connector::default());
    let run = timeout(LIMIT, machine.run(&Command::shell("true"))).await;
    let error = run.expect("an answer").unwrap_err();
    let is_unexpected = matches!(error, RunError::UnexpectedAnswer { .. });
    assert!(is_unexpected, "{error}");
}

#[tokio::test]
async fn a_server_that_answers_nothing_has_run_nothing() {
    let server = SshServer::start(Behavior::Nothing).await;
    let machine = Machine::ssh(server.target("root"), &Connector::default());
    let facts = machine.facts().await.map(|facts| facts.architecture);
    assert!(
        matches!(facts, Err(RunError::UnexpectedAnswer { .. })),
        "{facts:?}"
    );
    let output = machine.run(&Command::shell("true")).await;
    assert!(
        matches!(output, Err(RunError::UnexpectedAnswer { .. })),
        "{output:?}"
    );
}

#[tokio::test]
async fn copies_and_attempts_that_fail_leave_no_channel() {
    let (_folder, tree) = tree();
    // The first answer is wrong, to the second one nothing follows.
    for text in ["wrong\nend\n", "1 0 x\n"] {
        let mut server = SshServer::start(Behavior::Says(text)).await;
        let machine = Machine::ssh(server.target("root"), &Connector::default());
        let _ = timeout(Duration::from_millis(500), machine.copy(&tree)).await;
        let closed = timeout(LIMIT, server.all_closed()).await;
        assert!(
            closed.is_ok(),
            "a copy leaves {} channels",
            *server.channels.borrow()
        );
        let id = AttemptId::new("task", "1");
        let command = Command::shell("true");
        let attempt = machine.run_attempt(&id, &command);
        let _ = timeout(Duration::from_millis(500), attempt).await;
        let closed = timeout(LIMIT, server.all_closed()).await;
        assert!(
            closed.is_ok(),
            "an attempt leaves {} channels",
            *server.channels.borrow()
        );
    }
}

#[tokio::test]
async fn attempts_share_a_shell_that_gives_way_to_other_commands() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let home: &'static str = Box::leak(home.path().display().to_string().into_boxed_str());
    let mut server = SshServer::start(Behavior::Runs(home)).await;
    let mut target = server.target("tester");
    target.credentials.unprivileged = true;
    let machine = Machine::ssh(target, &Connector::default());
    let attempt = async |id: &str, text: &str| {
        let id = AttemptId::new("task", id);
        let outcome = machine.run_attempt(&id, &Command::shell(text)).await?;
        anyhow::Ok((outcome.is_success(), outcome.output().text()))
    };
    // The output of an attempt is all of it, also if it looks like the answer of another one.
    for (id, text, expected) in [
        ("1", "printf one", (true, "one")),
        (
            "2",
            "printf 'exited 0 0\\n\\n'; exit 3",
            (false, "exited 0 0\n\n"),
        ),
        ("1", "printf never", (true, "one")),
        ("3", "cat; exit 0", (true, "")),
    ] {
        let (is_success, output) = attempt(id, text).await?;
        assert_eq!((is_success, output.as_str()), expected, "{id}");
    }
    assert_eq!(server.commands.load(Ordering::SeqCst), 1);
    assert_eq!(*server.channels.borrow(), 1);
    // A server may allow one channel only.
    machine.run(&Command::shell("true")).await?;
    timeout(LIMIT, server.all_closed()).await?;
    assert_eq!(attempt("4", "printf four").await?.1, "four");
    assert_eq!(server.commands.load(Ordering::SeqCst), 3);
    // Attempts at the same time have shells of their own; the shell of the last one is kept.
    let both = tokio::join!(attempt("5", "printf five"), attempt("5", "printf six"));
    assert_eq!((both.0?.1.as_str(), both.1?.1.as_str()), ("five", "five"));
    drop(machine);
    timeout(LIMIT, server.all_closed()).await?;
    Ok(())
}

#[tokio::test]
async fn machines_that_do_not_answer_hold_nobody_up() {
    let no_login = SshServer::start(Behavior::NoLogin).await;
    let server = SshServer::start(Behavior::Nothing).await;
    let held_up_by = [
        silent(b"").await,
        silent(b"SSH-2.0-x\r\n").await,
        no_login.address,
    ];
    for address in held_up_by {
        let connector = one_at_a_time();
        let others: Vec<_> = (0..4)
            .map(|_| {
                let machine = Machine::ssh(target(address, "root"), &connector);
                tokio::spawn(async move { machine.open().await })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(100)).await;
        let machine = Machine::connect(server.target("root"), &connector);
        let connected = timeout(LIMIT, machine).await;
        assert!(matches!(connected, Ok(Ok(_))), "{connected:?}");
        for other in others {
            assert!(!other.is_finished());
            other.abort();
        }
    }
}

#[tokio::test]
async fn a_timeout_names_what_was_waited_for() {
    let machine = Machine::ssh(target(silent(b"").await, "root"), &Connector::default());
    let command = Command::shell("true").timeout(Duration::from_millis(300));
    let error = machine.run(&command).await.unwrap_err().to_string();
    assert!(error.ends_with("waiting for the SSH handshake"), "{error}");
}

#[tokio::test]
async fn machines_share_the_connection_to_their_jump_host() {
    let connector = one_at_a_time();
    let jump = SshServer::start(Behavior::Nothing).await;
    let behind = SshServer::start(Behavior::Nothing).await;
    let host = Machine::ssh(jump.target("root"), &connector);
    let opened = (0..4).map(|_| {
        let target = Target {
            jump: Some(host.clone()),
            ..behind.target("root")
        };
        Machine::connect(target, &connector)
    });
    let opened = timeout(LIMIT, futures::future::try_join_all(opened)).await;
    assert!(matches!(opened, Ok(Ok(_))), "{opened:?}");
    assert_eq!(jump.connections.load(Ordering::SeqCst), 1);
    assert_eq!(behind.connections.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn all_who_wait_for_a_jump_host_get_its_error() {
    let connector = Connector::new(Settings {
        handshake_timeout: Duration::from_secs(1),
        ..Settings::default()
    });
    let host = Machine::ssh(target(silent(b"").await, "root"), &connector);
    let behind = silent(b"").await;
    let opened = (0..20).map(|_| {
        let target = Target {
            jump: Some(host.clone()),
            ..target(behind, "root")
        };
        Machine::connect(target, &connector)
    });
    let opened = timeout(LIMIT, futures::future::join_all(opened)).await;
    let opened = opened.expect("one attempt for all");
    assert!(opened.iter().all(Result::is_err));
}

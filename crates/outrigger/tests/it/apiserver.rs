//! `outrigger apiserver` and its commands on data folders.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use outrigger_testing::TestContext;

fn context() -> TestContext {
    TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap()
}

/// A running server. It ends when it is dropped.
struct Running {
    server: Child,
}

impl Running {
    /// Starts a server and waits until it is ready.
    fn start(context: &TestContext, arguments: &[&str]) -> Self {
        let mut command = context.command(["apiserver"]);
        command.args(arguments).stdout(Stdio::piped());
        let mut server = command.stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        let mut stdout = BufReader::new(server.stdout.take().unwrap());
        stdout.read_line(&mut address).unwrap();
        assert!(address.starts_with("https://"), "{address}");
        Self { server }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn a_folder_without_data_is_refused_and_stays_empty() {
    let context = context();
    let folder = context.directory().join("empty");
    fs_err::create_dir(&folder).unwrap();
    for command in [
        &["apiserver", "export", "--data", "empty"][..],
        &["apiserver", "backup", "--data", "empty", "backup.redb"],
        &["registry", "check", "--data", "empty"],
        &["registry", "gc", "--data", "empty"],
    ] {
        let text = context.run(command.iter().copied()).unwrap();
        assert!(text.starts_with("exit code: 1"), "{command:?}: {text}");
        assert_eq!(fs_err::read_dir(&folder).unwrap().count(), 0, "{command:?}");
    }
    let text = context.run(["apiserver", "export", "--data", "empty"]);
    let text = text.unwrap();
    assert!(
        text.contains("empty has no data of an API server"),
        "{text}"
    );
}

#[test]
fn a_backup_is_restored_and_served() {
    let context = context();
    let running = Running::start(&context, &["--data", "data"]);
    let backup = ["apiserver", "backup", "--data", "data", "backup.redb"];
    let text = context.run(backup).unwrap();
    assert!(text.starts_with("exit code: 0"), "{text}");
    let text = context.run(["apiserver", "export", "--data", "data"]);
    let text = text.unwrap();
    assert!(
        text.contains("hint: stop the server, or use `outrigger apiserver backup`"),
        "{text}"
    );
    drop(running);
    let restore = ["apiserver", "restore", "backup.redb", "--data", "new"];
    let text = context.run(restore).unwrap();
    assert!(text.starts_with("exit code: 0"), "{text}");
    assert!(
        text.contains("credentials are not part of a backup"),
        "{text}"
    );
    let text = context.run(restore).unwrap();
    assert!(text.contains("new is not empty"), "{text}");
    Running::start(&context, &["--data", "new"]);
}

#[test]
fn the_export_of_a_new_server_has_no_objects() {
    let context = context();
    drop(Running::start(&context, &["--data", "data"]));
    let text = context.run(["apiserver", "export", "--data", "data"]);
    let text = text.unwrap();
    assert!(text.starts_with("exit code: 0"), "{text}");
    assert!(!text.contains("kind:"), "{text}");
    let raw = ["apiserver", "export", "--data", "data", "--raw"];
    let text = context.run(raw).unwrap();
    assert!(text.contains("kind: Namespace"), "{text}");
}

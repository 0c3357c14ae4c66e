//! Programs that work, and programs that do not.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::*;
use crate::plugin::{Metadata, Origin};

/// Runs a shell script as a plugin.
fn run_script(script: &str, timeout_seconds: u64) -> (tempfile::TempDir, Result<Response, String>) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("plugin");
    fs_err::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs_err::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    let spec = ExecutableSpec {
        command: vec!["plugin".to_owned()],
        stages: all_stages(),
        timeout_seconds,
    };
    let executable = Executable::new(folder.path(), &spec).unwrap();
    let metadata = Metadata::new("p".parse().unwrap(), "1", Origin::User);
    let request = Request {
        stage: Stage::Render,
        plugin: &metadata,
        configuration: &json!({"clusterName": "demo"}),
        values: None,
        pools: &BTreeMap::new(),
        model: None,
        rendered: &Rendered::default(),
        details: &Map::new(),
    };
    let result = executable.run(&request).map_err(|failure| failure.0);
    (folder, result)
}

fn failure(script: &str) -> String {
    run_script(script, 1).1.unwrap_err()
}

#[test]
fn a_program_reads_the_request_and_prints_a_response() {
    let script = r#"grep -q '"stage":"render".*"clusterName":"demo"' && echo '{"files": [{"path": "a", "content": "b"}]}'"#;
    let response = run_script(script, 10).1.unwrap();
    assert_eq!(response.files[0].content, "b");
}

#[test]
fn a_program_that_exits_without_reading_its_input_is_fine() {
    assert_eq!(run_script("exec echo '{}'", 10).1, Ok(Response::default()));
}

#[test]
fn crashes_are_reported_with_the_end_of_stderr() {
    assert_eq!(
        failure("echo broken >&2; exit 3"),
        "the program exited with code 3: broken"
    );
    assert_eq!(
        failure("kill -SEGV $$"),
        "the program was killed by signal 11"
    );
}

#[test]
fn garbage_and_unknown_fields_are_reported() {
    assert!(
        failure("echo hello")
            .starts_with("the program printed an invalid response: expected value")
    );
    assert!(failure("echo '{\"file\": []}'").ends_with("did you mean \"files\"?"));
    assert!(failure("true").starts_with("the program printed an invalid response: EOF"));
}

#[test]
fn a_program_that_hangs_or_ignores_signals_is_killed_at_the_deadline() {
    assert_eq!(
        failure("sleep 600"),
        "the program did not exit within 1 seconds"
    );
    assert_eq!(
        failure("trap '' TERM INT HUP; while :; do sleep 600; done"),
        "the program did not exit within 1 seconds"
    );
}

#[test]
fn endless_output_is_bounded() {
    let (_folder, result) = run_script("exec cat /dev/zero", 60);
    assert_eq!(
        result.unwrap_err(),
        "the program printed more than 33554432 bytes"
    );
    let (_folder, result) = run_script("head -c 100000000 /dev/zero >&2; echo '{}'", 60);
    assert_eq!(result, Ok(Response::default()));
}

/// Whether the process whose id is in the file is alive.
fn is_alive(folder: &Path, file: &str) -> bool {
    let pid = fs_err::read_to_string(folder.join(file)).unwrap();
    let status = fs_err::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !status.is_empty() && !status.contains(") Z ")
}

#[test]
fn forks_are_killed_even_in_a_session_of_their_own() {
    let script = "sleep 600 & echo $! > child\nsetsid sh -c 'echo $$ > orphan; exec sleep 600' &\nwhile ! test -s orphan; do :; done\necho '{}'";
    let (folder, result) = run_script(script, 30);
    assert_eq!(result, Ok(Response::default()));
    assert!(!is_alive(folder.path(), "child"));
    assert!(!is_alive(folder.path(), "orphan"));
}

#[test]
fn the_environment_of_the_caller_is_not_passed_on() {
    assert_eq!(
        run_script("test -z \"$HOME$CARGO$USER\" && echo '{}'", 10).1,
        Ok(Response::default())
    );
}

#[test]
fn the_program_must_be_in_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let spec = |command: &[&str], timeout_seconds| ExecutableSpec {
        command: command.iter().map(|text| (*text).to_owned()).collect(),
        stages: all_stages(),
        timeout_seconds,
    };
    let error = |spec| Executable::new(folder.path(), &spec).unwrap_err();
    assert!(error(spec(&["/bin/sh"], 1)).contains("outside of the plugin's folder"));
    assert_eq!(error(spec(&[], 1)), "spec.executable.command is empty");
}

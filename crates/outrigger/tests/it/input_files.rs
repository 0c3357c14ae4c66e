//! Files that users name are read within a limit.

use std::process::Stdio;

use outrigger_testing::command::TestContext;

const LIMIT: &str = "is larger than the limit of 100.0 MiB";

fn context() -> TestContext {
    let context = TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap();
    let chart = "apiVersion: v2\nname: small\nversion: 1.0.0\n";
    context.write("small/Chart.yaml", chart).unwrap();
    context
}

#[test]
fn a_file_without_end_is_an_error_that_names_file_and_limit() {
    let context = context();
    let commands: &[&[&str]] = &[
        &["chart", "template", "small", "-f", "/dev/zero"],
        &["chart", "template", "small", "--set-file", "a=/dev/zero"],
        &["chart", "lint", "small", "-f", "/dev/zero"],
        &["chart", "push", "/dev/zero", "oci://localhost/charts"],
        &[
            "plugin",
            "install",
            "-F",
            "/dev/zero",
            "--kubeconfig",
            "/dev/null",
        ],
        &["plugin", "list", "--kubeconfig", "/dev/zero"],
        &["serve", "--kubeconfig", "/dev/zero"],
        &["up", "--plugins", "/dev/zero"],
        &["up", "--cluster", "/dev/zero"],
        &["cluster", "plan", "-f", "/dev/zero"],
        &["image", "list", "--list", "/dev/zero"],
        &["image", "list", "--from-lock", "/dev/zero"],
        &["image", "inspect", "localhost/a", "--ca-file", "/dev/zero"],
        &["apiserver", "--in-memory", "--token-file", "/dev/zero"],
    ];
    for command in commands {
        let text = context.run(command.iter().copied()).unwrap();
        assert!(text.starts_with("exit code: 1"), "{command:?}: {text}");
        assert!(
            text.contains(&format!("/dev/zero {LIMIT}")),
            "{command:?}: {text}"
        );
    }
}

#[test]
fn values_from_a_stdin_without_end_are_an_error() {
    let context = context();
    let zero = fs_err::File::open("/dev/zero").unwrap();
    let mut command = context.command(["chart", "template", "small", "-f", "-"]);
    let output = command
        .stdin(Stdio::from(zero.into_file()))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains(&format!("stdin {LIMIT}")), "{stderr}");
}

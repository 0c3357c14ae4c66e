//! The commands of expansion packages.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use outrigger_testing::TestContext;

fn context() -> TestContext {
    TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap()
}

/// A folder with a new package `demo`.
fn with_package() -> TestContext {
    let context = context();
    let text = context.run(["expansion", "new", "demo"]).unwrap();
    assert!(text.starts_with("exit code: 0\n"), "{text}");
    context
}

#[test]
fn help_lists_the_verbs() {
    insta::assert_snapshot!(context().run(["expansion", "--help"]).unwrap());
}

#[test]
fn each_verb_has_help_with_an_example() {
    for verb in ["new", "check", "inspect", "merge-config"] {
        let text = context().run(["expansion", verb, "--help"]).unwrap();
        assert!(text.starts_with("exit code: 0"), "{text}");
        assert!(text.contains("Examples:"), "{text}");
        let usage = format!("outrigger expansion {verb}");
        assert!(text.contains(&usage), "{text}");
    }
}

#[test]
fn a_new_package_is_checked_and_inspected() {
    let context = with_package();
    insta::assert_snapshot!(context.run(["expansion", "check", "demo"]).unwrap());
    insta::assert_snapshot!(context.run(["expansion", "inspect", "demo"]).unwrap());
    let hook = context.directory().join("demo/hooks/post-install");
    let mode = fs_err::metadata(hook).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}

#[test]
fn findings_name_file_and_line_and_fail() {
    let context = with_package();
    context
        .write("demo/files/etc/demo.conf", "a\n{{ .Values.gone }}\n")
        .unwrap();
    context.write("demo/notes.txt", "").unwrap();
    insta::assert_snapshot!(context.run(["expansion", "check", "demo"]).unwrap());
    insta::assert_snapshot!(
        context
            .run(["expansion", "check", "demo", "-o", "json"])
            .unwrap()
    );
}

/// What a package says must not move the cursor or change colors.
#[test]
fn findings_cannot_change_the_terminal() {
    let context = context();
    let definition = "name: demo\n\"x\\e[2Ky\": 1\n";
    context.write("demo/expansion.yaml", definition).unwrap();
    let text = context.run(["expansion", "check", "demo"]).unwrap();
    assert!(text.contains("unknown key"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn a_package_is_not_written_over_another_one() {
    let context = with_package();
    let text = context.run(["expansion", "new", "demo"]).unwrap();
    assert!(text.starts_with("exit code: 1\n"), "{text}");
    assert!(text.contains("Error: demo already exists\n"), "{text}");
    let text = context.run(["expansion", "new", "My_Demo"]).unwrap();
    assert!(
        text.contains("Error: \"My_Demo\" is not the name of a package\n"),
        "{text}"
    );
    assert!(text.contains("hint: a lowercase RFC 1123 label"), "{text}");
    assert!(!context.directory().join("My_Demo").exists());
}

#[test]
fn a_folder_that_does_not_exist_is_named() {
    for verb in [
        &["check", "gone"][..],
        &["inspect", "gone"],
        &["merge-config", "gone", "-c", "-"],
    ] {
        let text = context().run([&["expansion"], verb].concat()).unwrap();
        assert!(text.starts_with("exit code: 1\n"), "{text}");
        assert!(
            text.contains("Error: folder gone does not exist\n"),
            "{text}"
        );
    }
}

#[test]
fn a_merge_changes_nothing_and_can_be_repeated() {
    let context = with_package();
    let configuration = r#"{"cluster": {"spec": {"features": {"files": []}}}, "Config": {}}"#;
    context.write("tke.json", configuration).unwrap();
    let merge = ["expansion", "merge-config", "demo", "-o", "json", "-c"];
    let merged = |file: &str| {
        let text = context.run(merge.iter().copied().chain([file])).unwrap();
        assert!(text.starts_with("exit code: 0\n"), "{text}");
        let output = text.split("----- stdout -----\n").nth(1).unwrap();
        output
            .split("----- stderr -----")
            .next()
            .unwrap()
            .to_owned()
    };
    let once = merged("tke.json");
    assert!(
        once.contains("\"src\": \"demo/files/etc/demo.conf\""),
        "{once}"
    );
    context.write("merged.json", &once).unwrap();
    assert_eq!(merged("merged.json"), once);
    let kept = fs_err::read_to_string(context.directory().join("tke.json")).unwrap();
    assert_eq!(kept, configuration);
}

#[test]
fn conflicts_are_listed_with_both_owners() {
    let context = with_package();
    let configuration = r#"{"cluster": {"spec": {"features": {"files": [{"src": "a", "dst": "/etc/demo.conf"}]}}}}"#;
    context.write("tke.json", configuration).unwrap();
    let merge = ["expansion", "merge-config", "demo", "--config", "tke.json"];
    insta::assert_snapshot!(context.run(merge).unwrap());
}

#[test]
fn a_broken_package_is_not_merged() {
    let context = with_package();
    context.write("demo/hooks/gone", "").unwrap();
    context.write("tke.json", "{\"cluster\": {}}").unwrap();
    let merge = ["expansion", "merge-config", "demo", "--config", "tke.json"];
    let text = context.run(merge).unwrap();
    assert!(text.starts_with("exit code: 1\n"), "{text}");
    assert!(
        text.contains("Error: demo has 1 fatal finding, 1 warning\n"),
        "{text}"
    );
    let hint = "hint: `outrigger expansion check demo` shows them\n";
    assert!(text.contains(hint), "{text}");
}

/// `merge-config` prints what a cluster can be created with.
#[test]
fn a_merged_cluster_is_accepted() {
    let context = with_package();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cluster.yaml");
    let text = fs_err::read_to_string(examples).unwrap();
    let cluster = text.split("\n---\n").next().unwrap();
    context.write("cluster.yaml", cluster).unwrap();
    let merge = [
        "expansion",
        "merge-config",
        "demo",
        "--config",
        "cluster.yaml",
    ];
    let text = context.run(merge).unwrap();
    assert!(text.starts_with("exit code: 0\n"), "{text}");
    assert!(text.contains("dst: /etc/demo.conf"), "{text}");
}

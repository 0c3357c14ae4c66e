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
    for verb in [
        "new",
        "check",
        "inspect",
        "merge-config",
        "build",
        "diff",
        "extract",
        "keygen",
        "merge",
        "pull",
        "push",
        "sign",
        "verify",
    ] {
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

/// An archive of `docker save` with the image of a new package.
fn write_images(context: &TestContext, layer: &[u8]) {
    let digest = outrigger_oci::Digest::of(layer);
    let config = format!("{{\"rootfs\": {{\"type\": \"layers\", \"diff_ids\": [\"{digest}\"]}}}}");
    let manifest = "[{\"Config\": \"c.json\", \"RepoTags\": [\"nginx:1.29.1\"], \"Layers\": [\"l/layer.tar\"]}]";
    let mut bytes = Vec::new();
    for (name, content) in [
        ("l/layer.tar", layer),
        ("c.json", config.as_bytes()),
        ("manifest.json", manifest.as_bytes()),
    ] {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..108].copy_from_slice(b"0000644\0");
        header[124..136].copy_from_slice(format!("{:011o}\0", content.len()).as_bytes());
        header[148..156].copy_from_slice(b"        ");
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    context.write("demo/images.tar", bytes).unwrap();
}

/// A folder with a package whose images are in an archive.
fn with_images() -> TestContext {
    let context = with_package();
    write_images(&context, b"layer");
    context
}

#[track_caller]
fn run(context: &TestContext, args: &[&str]) -> String {
    let text = context.run([&["expansion"], args].concat()).unwrap();
    assert!(text.starts_with("exit code: 0\n"), "{args:?}: {text}");
    text
}

#[track_caller]
fn fails(context: &TestContext, args: &[&str]) -> String {
    let text = context.run([&["expansion"], args].concat()).unwrap();
    assert!(text.starts_with("exit code: 1\n"), "{args:?}: {text}");
    text
}

#[test]
fn a_package_is_built_checked_inspected_and_merged() {
    let context = with_images();
    insta::assert_snapshot!(run(&context, &["build", "demo", "--to", "demo.tar.zst"]));
    insta::assert_snapshot!(run(&context, &["check", "demo.tar.zst"]));
    let folder = run(&context, &["inspect", "demo"]);
    let built = run(&context, &["inspect", "demo.tar.zst"]);
    let table = |text: &str| text.split("----- stderr").next().unwrap().to_owned();
    assert_eq!(table(&built), table(&folder));
    let configuration = r#"{"cluster": {"spec": {}}}"#;
    context.write("tke.json", configuration).unwrap();
    let merge = |package| table(&run(&context, &["merge-config", package, "-c", "tke.json"]));
    assert_eq!(merge("demo.tar.zst"), merge("demo"));
    let report = ["build", "demo", "--to", "demo.tar.zst", "-o", "json"];
    let report = table(&run(&context, &report));
    let report: serde_json::Value =
        serde_json::from_str(report.split_once("stdout -----\n").unwrap().1).unwrap();
    assert_eq!(
        (&report["images"], &report["signed"]),
        (&1.into(), &false.into())
    );
    assert_eq!(report["files"], serde_json::json!(["demo.tar.zst"]));
}

#[test]
fn a_package_is_signed_and_trusted_by_key() {
    let context = with_images();
    run(&context, &["build", "demo", "--to", "demo.tar.zst"]);
    for name in ["own", "other"] {
        let text = run(&context, &["keygen", name]);
        assert!(text.contains(&format!("Public key   {name}.pub")), "{text}");
    }
    let key = fs_err::metadata(context.directory().join("own.key")).unwrap();
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
    let verify = ["verify", "demo.tar.zst", "--trusted-key", "own.pub"];
    let text = fails(&context, &verify);
    assert!(
        text.contains("Error: the package is not signed\nhint: "),
        "{text}"
    );
    let unsigned = run(&context, &["verify", "demo.tar.zst", "--allow-unsigned"]);
    assert!(unsigned.contains("Signed    no\n"), "{unsigned}");
    let text = run(&context, &["sign", "--key", "own.key", "demo.tar.zst"]);
    assert!(text.contains("demo.tar.zst: signed sha256:"), "{text}");
    let text = run(&context, &verify);
    assert!(text.contains("Signed    by sha256:"), "{text}");
    let text = fails(
        &context,
        &["verify", "demo.tar.zst", "--trusted-key", "other.pub"],
    );
    assert!(
        text.contains("signed by unknown keys only: sha256:"),
        "{text}"
    );
    // A signature that does not count is not the same as none.
    let text = fails(&context, &["verify", "demo.tar.zst", "--allow-unsigned"]);
    assert!(
        text.contains("signed by unknown keys only: sha256:"),
        "{text}"
    );
    let expired = [
        "sign",
        "--key",
        "own.key",
        "--expires",
        "2020-02-29",
        "demo.tar.zst",
    ];
    run(&context, &expired);
    let text = fails(&context, &verify);
    assert!(text.contains("expired at 2020-03-01T00:00:00Z\n"), "{text}");
    let text = fails(&context, &["verify", "demo.tar.zst"]);
    assert!(
        text.contains("Error: no key is trusted\nhint: pass a public key"),
        "{text}"
    );
}

/// Signing is part of building, too: the result is the same.
#[test]
fn a_package_can_be_signed_when_it_is_built() {
    let context = with_images();
    run(&context, &["keygen", "own"]);
    run(
        &context,
        &["build", "demo", "--to", "a.tar.zst", "--key", "own.key"],
    );
    run(&context, &["build", "demo", "--to", "b.tar.zst"]);
    run(&context, &["sign", "--key", "own.key", "b.tar.zst"]);
    let read = |name: &str| fs_err::read(context.directory().join(name)).unwrap();
    assert!(read("a.tar.zst") == read("b.tar.zst"));
    let open = std::fs::Permissions::from_mode(0o644);
    fs_err::set_permissions(context.directory().join("own.key"), open).unwrap();
    let text = fails(&context, &["sign", "--key", "own.key", "b.tar.zst"]);
    let expected = "Error: the private key own.key can be read by others: its mode is 0644\nhint: chmod 600 own.key\n";
    assert!(text.contains(expected), "{text}");
    let text = fails(&context, &["keygen", "own"]);
    assert!(text.contains("Error: own.key already exists\n"), "{text}");
}

#[test]
fn packages_are_compared_and_extracted() {
    let context = with_images();
    run(&context, &["build", "demo", "--to", "one.tar.zst"]);
    write_images(&context, b"other layer");
    let values = context.directory().join("demo/values.yaml");
    let text = fs_err::read_to_string(&values).unwrap();
    fs_err::write(values, text + "zone: north\n").unwrap();
    run(&context, &["build", "demo", "--to", "two.tar.zst"]);
    insta::assert_snapshot!(run(&context, &["diff", "one.tar.zst", "two.tar.zst"]));
    let text = run(&context, &["diff", "one.tar.zst", "one.tar.zst"]);
    assert!(
        text.ends_with("the packages have the same content\n"),
        "{text}"
    );
    run(&context, &["extract", "two.tar.zst", "--to", "copy"]);
    run(&context, &["build", "copy", "--to", "again.tar.zst"]);
    let read = |name: &str| fs_err::read(context.directory().join(name)).unwrap();
    assert!(read("again.tar.zst") == read("two.tar.zst"));
    let text = fails(&context, &["extract", "two.tar.zst", "--to", "copy"]);
    assert!(text.contains("Error: copy already exists\n"), "{text}");
    let text = fails(&context, &["diff", "one.tar.zst", "demo"]);
    assert!(
        text.contains("Error: demo is not a built package: it is a folder\nhint: "),
        "{text}"
    );
}

#[test]
fn a_delta_needs_its_base_and_chunks_need_each_other() {
    let context = with_images();
    run(&context, &["build", "demo", "--to", "one.tar.zst"]);
    write_images(&context, b"other layer");
    let delta = [
        "build",
        "demo",
        "--to",
        "delta.tar.zst",
        "--delta-from",
        "one.tar.zst",
    ];
    let text = run(&context, &delta);
    assert!(text.contains("Delta of  demo 0.1.0, which has "), "{text}");
    let text = fails(&context, &["check", "delta.tar.zst"]);
    assert!(
        text.contains("hint: pass the base with --base; its root document has"),
        "{text}"
    );
    run(
        &context,
        &["check", "delta.tar.zst", "--base", "one.tar.zst"],
    );
    run(
        &context,
        &[
            "verify",
            "delta.tar.zst",
            "--base",
            "one.tar.zst",
            "--allow-unsigned",
        ],
    );
    let chunked = ["build", "demo", "--to", "c.tar.zst", "--chunk-size", "4Ki"];
    let layer: Vec<u8> = (0..20_000_u32)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    write_images(&context, &layer);
    let text = run(&context, &chunked);
    assert!(text.contains("c.tar.zst.001 … c.tar.zst.0"), "{text}");
    run(&context, &["check", "c.tar.zst.002"]);
    fs_err::remove_file(context.directory().join("c.tar.zst.002")).unwrap();
    let text = fails(&context, &["check", "c.tar.zst.001"]);
    assert!(text.contains("chunks 2 of "), "{text}");
}

#[test]
fn a_package_that_is_still_needed_is_not_replaced() {
    let context = with_images();
    run(&context, &["build", "demo", "--to", "a.tar.zst"]);
    let delta = ["build", "demo", "--delta-from"];
    let text = fails(
        &context,
        &[&delta[..], &["a.tar.zst", "--to", "a.tar.zst"]].concat(),
    );
    let expected =
        "Error: a.tar.zst would replace its base a.tar.zst\nhint: choose another name with --to\n";
    assert!(text.contains(expected), "{text}");
    let chunked = ["build", "demo", "--chunk-size", "4Ki", "--to"];
    let text = fails(&context, &[&chunked[..], &["a.tar.zst"]].concat());
    assert!(
        text.contains("Error: a.tar.zst exists, and chunks would not replace it\n"),
        "{text}"
    );
    run(&context, &[&chunked[..], &["b.tar.zst"]].concat());
    let text = fails(
        &context,
        &[&delta[..], &["b.tar.zst.001", "--to", "b.tar.zst"]].concat(),
    );
    assert!(text.contains("would replace its base"), "{text}");
}

#[test]
fn targets_that_cannot_be_meant_are_refused() {
    let context = with_images();
    let usage = |args: &[&str]| {
        let text = context
            .run([&["expansion", "build", "demo"], args].concat())
            .unwrap();
        assert!(text.starts_with("exit code: 2\n"), "{args:?}: {text}");
        text
    };
    let text = usage(&["--to", "demo.tgz"]);
    assert!(text.contains("it must end in .tar.zst"), "{text}");
    let text = usage(&["--to", "demo.tar.zst", "--chunk-size", "1Ki"]);
    assert!(
        text.contains("--chunk-size must be at least 4.0 KiB"),
        "{text}"
    );
    let text = fails(&context, &["build", "demo", "--to", "demo/x.tar.zst"]);
    assert!(
        text.contains("Error: demo/x.tar.zst would be part of the package itself"),
        "{text}"
    );
    let text = fails(&context, &["build", "demo", "--to", "no/x.tar.zst"]);
    assert!(text.contains("Error: no is not a folder\n"), "{text}");
    context.write("demo/stray", "").unwrap();
    let text = fails(&context, &["build", "demo", "--to", "x.tar.zst"]);
    assert!(
        text.contains("fatal: stray: is not part of a package\n"),
        "{text}"
    );
    assert!(!context.directory().join("x.tar.zst").exists());
}

#[test]
fn two_packages_become_one_and_conflicts_name_both() {
    let context = with_images();
    let other = "name: other\nversion: 2.0.0\nfiles: [etc/other.conf]\n";
    context.write("other/expansion.yaml", other).unwrap();
    context.write("other/files/etc/other.conf", "on\n").unwrap();
    let merge = [
        "merge",
        "demo",
        "other",
        "--to",
        "both.tar.zst",
        "--name",
        "both",
        "--version",
        "1.0.0",
    ];
    let text = run(&context, &merge);
    assert!(text.contains("Package   both 1.0.0\n"), "{text}");
    let text = run(&context, &["check", "both.tar.zst"]);
    assert!(
        text.contains("package both 1.0.0 (1 chart, 1 image, 2 files, 1 hook): no findings"),
        "{text}"
    );
    context
        .write(
            "other/expansion.yaml",
            format!("{other}values: {{site: x}}\n"),
        )
        .unwrap();
    insta::assert_snapshot!(fails(
        &context,
        &["merge", "demo", "other", "--to", "x.tar.zst"]
    ));
    assert!(!context.directory().join("x.tar.zst").exists());
    let text = fails(
        &context,
        &["merge", "demo", "both.tar.zst", "--to", "x.tar.zst"],
    );
    assert!(
        text.contains("hint: `outrigger expansion extract` makes a folder of a package\n"),
        "{text}"
    );
}

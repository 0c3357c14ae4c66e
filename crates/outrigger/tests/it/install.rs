//! `outrigger install` on stand-in machines: what is refused, what is repeated and what is not.

use outrigger_oci::Digest;
use outrigger_testing::TestContext;
use serde_json::{Value, json};

const HOOK: &str = "#!/bin/sh\necho \"$OUTRIGGER_HOOK\" >>\"$OUTRIGGER_DATA/ran\"\n";

/// A site with a cluster on one machine. Each test has an address of its own.
fn site(number: u8) -> TestContext {
    let context = TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap();
    let cluster = format!(
        "apiVersion: outrigger.dev/v1beta1\nkind: Cluster\nmetadata:\n  name: site\n  annotations: {{outrigger.dev/stand-in-machines: \"true\"}}\n\
         spec:\n  version: 1.36.4\n  clusterCIDR: 10.244.0.0/16\n  machines:\n    - {{ip: 127.0.82.{number}, port: 2282, password: b3V0cmlnZ2Vy}}\n"
    );
    context.write("cluster.yaml", cluster).unwrap();
    context
}

/// A package in the folder that is used by default.
fn with_package(context: &TestContext) {
    let definition =
        "name: demo\nversion: 1.0.0\nfiles: [etc/demo.conf]\nhooks: [pre-install, post-install]\n";
    context
        .write("expansion/expansion.yaml", definition)
        .unwrap();
    context
        .write("expansion/values.yaml", "zone: south\n")
        .unwrap();
    let file = "zone = {{ .Values.zone }}\n";
    context
        .write("expansion/files/etc/demo.conf", file)
        .unwrap();
    for hook in ["pre-install", "post-install"] {
        context
            .write(&format!("expansion/hooks/{hook}"), HOOK)
            .unwrap();
    }
}

const INSTALL: [&str; 3] = ["install", "--config", "cluster.yaml"];

fn install(context: &TestContext, flags: &[&str]) -> String {
    let args = INSTALL.into_iter().chain(flags.iter().copied());
    context.run(args).unwrap()
}

#[track_caller]
fn assert_success(text: &str) {
    assert!(text.starts_with("exit code: 0"), "{text}");
}

#[track_caller]
fn assert_failure(text: &str, message: &str) {
    assert!(
        text.starts_with("exit code: 1") && text.contains(message),
        "{text}"
    );
}

fn ran(context: &TestContext) -> Vec<String> {
    let path = context.directory().join("outrigger-data/ran");
    let text = fs_err::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The steps that would run.
fn planned(context: &TestContext, flags: &[&str]) -> Vec<String> {
    let text = install(context, &[&["--plan"], flags].concat());
    assert_success(&text);
    let rows = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let step = words.next()?;
        (words.next()? == "run").then(|| step.to_owned())
    });
    rows.collect()
}

#[test]
fn help_of_install() {
    insta::assert_snapshot!(site(0).run(["install", "--help"]).unwrap());
}

#[test]
fn nothing_is_changed_if_something_is_wrong() {
    let context = site(1);
    with_package(&context);
    let data = context.directory().join("outrigger-data");
    context.write("expansion/hooks/post-instal", HOOK).unwrap();
    assert_failure(&install(&context, &[]), "is not listed under hooks");
    fs_err::remove_file(context.directory().join("expansion/hooks/post-instal")).unwrap();
    context.write("values.yaml", "zone: {a: 1").unwrap();
    assert_failure(
        &install(&context, &["--values", "values.yaml"]),
        "values.yaml",
    );
    let text = install(&context, &["--skip", "CreateGlobalCluster"]);
    assert_failure(&text, "step CreateGlobalCluster cannot be skipped");
    let text = install(&context, &["--skip", "LoadImage"]);
    assert!(text.contains("did you mean LoadImages?"), "{text}");
    context.write("hooks/pre-instal", HOOK).unwrap();
    assert_failure(
        &install(&context, &["--hooks", "hooks"]),
        "is not a hook of the installer",
    );
    let newer = "name: demo\nrequires: {outrigger: \">=99.0.0\"}\nfiles: [etc/demo.conf]\nhooks: [pre-install, post-install]\n";
    context.write("expansion/expansion.yaml", newer).unwrap();
    assert_failure(
        &install(&context, &[]),
        "the package needs Outrigger >=99.0.0",
    );
    assert!(!data.exists());
}

#[test]
fn a_built_package_needs_a_trusted_signature() {
    let context = site(2);
    with_package(&context);
    for name in ["own", "other"] {
        assert_success(&context.run(["expansion", "keygen", name]).unwrap());
    }
    let build = ["expansion", "build", "expansion", "--to", "demo.tar.zst"];
    assert_success(&context.run(build).unwrap());
    let missing = install(&context, &["--expansion", "nope", "--plan"]);
    assert_failure(&missing, "nope does not exist");
    let plan = |flags: &[&str]| {
        let package = ["--expansion", "demo.tar.zst", "--plan"];
        install(&context, &[&package, flags].concat())
    };
    assert_failure(&plan(&[]), "no key is trusted");
    assert_success(&plan(&["--allow-unsigned"]));
    assert_failure(&plan(&["--trusted-key", "own.pub"]), "not signed");
    let sign = ["expansion", "sign", "--key", "own.key", "demo.tar.zst"];
    assert_success(&context.run(sign).unwrap());
    assert_success(&plan(&["--trusted-key", "own.pub"]));
    assert_failure(&plan(&["--trusted-key", "other.pub"]), "trusted");
    let text = install(&context, &["--trusted-key", "own.pub"]);
    assert_failure(&text, "expansion is a folder, which nobody can sign");
}

#[test]
fn a_failed_hook_is_tried_again_and_finished_ones_are_not() {
    let context = site(3);
    with_package(&context);
    let script = "#!/bin/sh\ntest -e \"$OUTRIGGER_DATA/fixed\" || { echo broken; exit 7; }\n";
    let script = format!("{script}{}", HOOK.trim_start_matches("#!/bin/sh\n"));
    context
        .write("expansion/hooks/post-install", script)
        .unwrap();
    let text = install(&context, &[]);
    assert_failure(&text, "post-install exited with code 7: broken");
    assert_eq!(ran(&context), ["pre-install"]);
    assert_eq!(planned(&context, &[]), ["ExecutePostInstallHook"]);
    context.write("outrigger-data/fixed", "").unwrap();
    assert_success(&install(&context, &[]));
    assert_eq!(ran(&context), ["pre-install", "post-install"]);
    assert_eq!(planned(&context, &[]), [""; 0]);
}

#[test]
fn only_steps_between_from_and_until_run() {
    let context = site(4);
    with_package(&context);
    assert_success(&install(&context, &["--until", "ExecutePreInstallHook"]));
    assert_eq!(ran(&context), ["pre-install"]);
    let left = [
        "CreateGlobalCluster",
        "WriteKubeconfig",
        "ExecutePostInstallHook",
    ];
    assert_eq!(planned(&context, &[]), left);
    assert_success(&install(&context, &[]));
    assert_success(&install(&context, &["--from", "ExecutePostInstallHook"]));
    assert_eq!(
        ran(&context),
        ["pre-install", "post-install", "post-install"]
    );
    let text = install(
        &context,
        &["--from", "LoadImages", "--until", "PatchHookFiles"],
    );
    assert!(text.starts_with("exit code: 2"), "{text}");
}

#[test]
fn a_new_version_repeats_only_what_changed() {
    let context = site(5);
    with_package(&context);
    assert_success(&install(&context, &[]));
    context.write("values.yaml", "zone: north\n").unwrap();
    assert_eq!(
        planned(&context, &["--values", "values.yaml"]),
        ["PatchHookFiles"]
    );
    assert_success(&install(&context, &["--values", "values.yaml"]));
    let staged = "outrigger-data/files/demo/files/etc/demo.conf";
    let staged = fs_err::read_to_string(context.directory().join(staged)).unwrap();
    assert_eq!(staged, "zone = north\n");
    let changed = format!("{HOOK}# changed\n");
    context
        .write("expansion/hooks/pre-install", changed)
        .unwrap();
    let expected = ["PatchHookFiles", "ExecutePreInstallHook"];
    assert_eq!(planned(&context, &["--values", "values.yaml"]), expected);
    assert_success(&install(&context, &["--values", "values.yaml"]));
    assert_eq!(
        ran(&context),
        ["pre-install", "post-install", "pre-install"]
    );
}

#[test]
fn hooks_of_the_site_run_without_a_package() {
    let context = site(6);
    for hook in ["pre-install", "post-cluster-ready", "post-install"] {
        context.write(&format!("hooks/{hook}"), HOOK).unwrap();
    }
    assert_success(&install(&context, &["--hooks", "hooks"]));
    assert_eq!(
        ran(&context),
        ["pre-install", "post-cluster-ready", "post-install"]
    );
    let folder = context.directory().join("outrigger-data/registry");
    assert!(!folder.exists());
}

#[test]
fn what_package_and_configuration_disagree_about_is_refused() {
    let context = site(7);
    with_package(&context);
    let cluster = fs_err::read_to_string(context.directory().join("cluster.yaml")).unwrap();
    let cluster =
        format!("{cluster}  features:\n    files: [{{src: own.conf, dst: /etc/demo.conf}}]\n");
    context.write("cluster.yaml", cluster).unwrap();
    context.write("own.conf", "own\n").unwrap();
    let text = install(&context, &[]);
    assert_failure(&text, "package demo conflicts with cluster.yaml");
    assert!(text.contains("conflict: spec.features.files"), "{text}");
}

#[test]
fn up_installs_a_package_on_the_local_cluster() {
    let context = site(8);
    with_package(&context);
    let args = [
        "up",
        "--expansion",
        "expansion",
        "--cluster",
        "cluster.yaml",
        "--once",
    ];
    let text = context
        .run(args.into_iter().chain(["--data", "outrigger-data"]))
        .unwrap();
    assert_success(&text);
    assert_eq!(ran(&context), ["pre-install", "post-install"]);
    let file = "outrigger-data/machines/machine-127-0-82-8/etc/demo.conf";
    let file = fs_err::read_to_string(context.directory().join(file)).unwrap();
    assert_eq!(file, "zone = south\n");
}

/// Writes an OCI layout with one image to the package.
fn with_image(context: &TestContext, name: &str) {
    let blob = |content: &[u8], kind: &str| -> Value {
        let digest = Digest::of(content);
        let path = format!("expansion/images/blobs/sha256/{}", digest.hex());
        context.write(&path, content).unwrap();
        json!({"mediaType": kind, "digest": digest.to_string(), "size": content.len()})
    };
    let kind = |name: &str| format!("application/vnd.oci.image.{name}");
    let config = json!({"architecture": "amd64", "os": "linux"}).to_string();
    let config = blob(config.as_bytes(), &kind("config.v1+json"));
    let layer = blob(b"layer", &kind("layer.v1.tar"));
    let manifest_kind = kind("manifest.v1+json");
    let manifest = json!({
        "schemaVersion": 2, "mediaType": manifest_kind, "config": config, "layers": [layer],
    });
    let mut entry = blob(manifest.to_string().as_bytes(), &manifest_kind);
    entry["annotations"] = json!({"io.containerd.image.name": name});
    let index = json!({"schemaVersion": 2, "manifests": [entry]}).to_string();
    context.write("expansion/images/index.json", index).unwrap();
    let layout = r#"{"imageLayoutVersion":"1.0.0"}"#;
    context
        .write("expansion/images/oci-layout", layout)
        .unwrap();
}

#[test]
fn a_package_that_is_removed_meanwhile_is_missed_once_and_then_resumed() {
    let context = site(9);
    with_package(&context);
    with_image(&context, "registry.test/a/b:1");
    let definition = "name: demo\nversion: 1.0.0\nfiles: [etc/demo.conf]\nhooks: [pre-install, post-install]\nimages: ['registry.test/a/b:1']\n";
    context
        .write("expansion/expansion.yaml", definition)
        .unwrap();
    let script = format!("{HOOK}mv \"$OUTRIGGER_DATA/../expansion\" \"$OUTRIGGER_DATA/../gone\"\n");
    context
        .write("expansion/hooks/pre-install", script)
        .unwrap();
    let text = install(&context, &[]);
    assert_failure(&text, "LoadImages: expansion/images does not exist");
    let root = context.directory();
    fs_err::rename(root.join("gone"), root.join("expansion")).unwrap();
    assert_success(&install(&context, &[]));
    assert_eq!(ran(&context), ["pre-install", "post-install"]);
    let tag = root.join("outrigger-data/registry/repositories/a/b/_tags/1");
    assert!(tag.exists());
}

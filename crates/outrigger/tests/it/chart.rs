//! Output and errors of the chart commands, with a small chart.

use outrigger_testing::TestContext;

const CHART: &str = "apiVersion: v2\nname: small\ndescription: A small chart\nversion: 1.2.3\nappVersion: \"4.5\"\n";
const VALUES: &str = "# How many.\nreplicas: 2\nimage: example.com/web:1\n";
const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-web
  namespace: {{ .Release.Namespace }}
spec:
  replicas: {{ .Values.replicas }}
  template:
    spec:
      containers:
        - name: web
          image: {{ required \"an image is needed\" .Values.image | quote }}
";

fn context() -> TestContext {
    let context = TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap();
    context.write("small/Chart.yaml", CHART).unwrap();
    context.write("small/values.yaml", VALUES).unwrap();
    context
        .write("small/templates/deployment.yaml", DEPLOYMENT)
        .unwrap();
    context
        .write("small/templates/NOTES.txt", "Have fun.\n")
        .unwrap();
    context
}

fn run(args: &[&str]) -> String {
    context().run(args.iter().copied()).unwrap()
}

#[test]
fn template_prints_manifests_with_their_source() {
    insta::assert_snapshot!(run(&[
        "chart",
        "template",
        "rel",
        "small",
        "-n",
        "shop",
        "--set",
        "replicas=3"
    ]));
}

#[test]
fn template_without_a_name_uses_helms_default() {
    assert!(run(&["chart", "template", "small"]).contains("name: release-name-web"));
}

#[test]
fn template_of_an_upgrade_is_not_an_install() {
    let context = context();
    let release = "release: {{ .Release.IsInstall }} {{ .Release.IsUpgrade }}\n";
    context.write("small/templates/r.yaml", release).unwrap();
    let render = |flags: &[&str]| {
        let args = ["chart", "template", "rel", "small"];
        context.run(args.iter().chain(flags).copied()).unwrap()
    };
    let text = render(&[]);
    assert!(text.contains("release: true false"), "{text}");
    let text = render(&["--is-upgrade"]);
    assert!(text.contains("release: false true"), "{text}");
}

#[test]
fn template_writes_files_to_the_output_dir() {
    let context = context();
    let text = context
        .run(["chart", "template", "rel", "small", "--output-dir", "out"])
        .unwrap();
    assert!(
        text.contains("wrote out/small/templates/deployment.yaml"),
        "{text}"
    );
    assert!(
        context
            .directory()
            .join("out/small/templates/deployment.yaml")
            .is_file()
    );
}

#[test]
fn output_dir_prints_a_line_per_manifest_and_an_empty_line() {
    let context = context();
    let two = "kind: ConfigMap\nmetadata: {name: a}\n---\nkind: ConfigMap\nmetadata: {name: b}\n";
    context.write("small/templates/two.yaml", two).unwrap();
    let text = context
        .run(["chart", "template", "rel", "small", "--output-dir", "out"])
        .unwrap();
    let two = "wrote out/small/templates/two.yaml\n";
    let expected = format!("{two}{two}wrote out/small/templates/deployment.yaml\n\n");
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn generate_name_renders_helms_default_name() {
    let text = run(&["chart", "template", "small", "-g"]);
    assert!(text.contains("name: release-name-web"), "{text}");
    let text = run(&["chart", "template", "small", "--name-template", "x"]);
    assert!(text.contains("name: x-web"), "{text}");
}

#[test]
fn a_mistyped_hook_is_a_warning() {
    let context = context();
    let hook = "kind: ConfigMap\nmetadata:\n  name: a\n  annotations: {helm.sh/hook: pre-instal}\n";
    context.write("small/templates/hook.yaml", hook).unwrap();
    let text = context.run(["chart", "template", "rel", "small"]).unwrap();
    let warning = "\nwarning: skipping ConfigMap \"a\" of small/templates/hook.yaml: unknown hook \"pre-instal\"\n";
    assert!(text.contains(warning), "{text}");
}

#[test]
fn lint_prints_messages_of_fail_and_required() {
    let context = context();
    let failing = "a: {{ fail \"no a\" }}\nb: {{ required \"need b\" .Values.b }}\n";
    context.write("small/templates/f.yaml", failing).unwrap();
    let text = context.run(["chart", "lint", "small"]).unwrap();
    assert!(text.contains("warning: fail: no a\n"), "{text}");
    let required = "warning: missing required value: need b\n";
    assert!(text.contains(required), "{text}");
}

#[test]
fn debug_prints_rendered_text_that_is_invalid_yaml() {
    let context = context();
    let invalid = "a: {{ .Release.Name }}: c\n";
    context.write("small/templates/bad.yaml", invalid).unwrap();
    let text = context.run(["chart", "template", "rel", "small"]).unwrap();
    assert!(text.contains("hint: use --debug"), "{text}");
    let text = context
        .run(["chart", "template", "rel", "small", "--debug"])
        .unwrap();
    let rendered = "---\n# Source: small/templates/bad.yaml\na: rel: c\n";
    assert!(text.contains(rendered), "{text}");
}

#[test]
fn flags_of_helm_without_effect_on_a_local_chart_are_accepted() {
    let expected = run(&["chart", "template", "rel", "small"]);
    for flag in ["--wait", "--create-namespace", "--timeout=5m", "--atomic"] {
        let text = run(&["chart", "template", "rel", "small", flag]);
        assert_eq!(text, expected, "{flag}");
    }
}

#[test]
fn a_registry_that_refuses_connections_is_named() {
    for verb in [&["template"][..], &["images"], &["show", "values"]] {
        let text = run(&[&["chart"], verb, &["oci://127.0.0.1:1/web"]].concat());
        assert!(text.starts_with("exit code: 1"), "{text}");
        assert!(text.contains("127.0.0.1:1"), "{text}");
    }
}

#[test]
fn commands_on_local_charts_name_the_download_that_is_needed() {
    let text = run(&["chart", "package", "oci://127.0.0.1:1/web"]);
    let hint = "run `outrigger chart pull oci://127.0.0.1:1/web` first";
    assert!(text.contains(hint), "{text}");
    let text = run(&["chart", "pull", "bitnami/redis"]);
    assert!(text.starts_with("exit code: 2"), "{text}");
    assert!(text.contains("hint: add --repo URL"), "{text}");
}

#[test]
fn a_chart_without_dependencies_gets_no_lock() {
    let context = context();
    let text = context
        .run(["chart", "dependency", "update", "small"])
        .unwrap();
    assert!(text.starts_with("exit code: 0"), "{text}");
    assert!(!context.directory().join("small/Chart.lock").exists());
}

#[test]
fn unsupported_flags_of_helm_say_what_to_use_instead() {
    for (flag, hint) in [
        ("--validate", "kubectl apply --dry-run=server"),
        ("--dry-run=server", "kubectl apply --dry-run=server"),
        ("--dependency-update", "outrigger chart dependency update"),
        ("--post-renderer=cat", "pipe the output"),
    ] {
        let text = run(&["chart", "template", "rel", "small", flag]);
        assert!(text.starts_with("exit code: 2"), "{flag}: {text}");
        assert!(text.contains("unsupported flag"), "{flag}: {text}");
        assert!(text.contains(hint), "{flag}: {text}");
    }
    for flag in ["--generate-name", "--name-template=x"] {
        let text = run(&["chart", "template", "rel", "small", flag]);
        assert!(text.starts_with("exit code: 2"), "{flag}: {text}");
    }
    let text = run(&["chart", "template", "rel", "small", "--dry-run"]);
    assert!(text.starts_with("exit code: 0"), "{text}");
}

#[test]
fn lint_names_the_absolute_path_of_a_chart_without_its_dependencies() {
    let context = context();
    let chart = format!("{CHART}dependencies:\n- name: gone\n  version: 1.0.0\n");
    context.write("small/Chart.yaml", chart).unwrap();
    let text = context.run(["chart", "lint", "small"]).unwrap();
    let warning = "/small: chart directory is missing these dependencies: gone";
    assert!(text.contains(warning), "{text}");
}

#[test]
fn a_stale_lock_and_a_third_argument_name_the_right_usage() {
    let context = context();
    let chart = format!("{CHART}dependencies:\n- name: gone\n  version: 1.0.0\n");
    context.write("small/Chart.yaml", chart).unwrap();
    let lock = "dependencies: []\ndigest: sha256:1\ngenerated: \"2024-01-01T00:00:00Z\"\n";
    context.write("small/Chart.lock", lock).unwrap();
    let text = context
        .run(["chart", "dependency", "build", "small"])
        .unwrap();
    let hint = "with 'outrigger chart dependency update'";
    assert!(text.contains(hint), "{text}");
    let text = context
        .run(["chart", "template", "a", "small", "c"])
        .unwrap();
    assert!(text.starts_with("exit code: 2"), "{text}");
    assert!(
        text.contains("outrigger chart template [OPTIONS] [NAME] CHART"),
        "{text}"
    );
}

#[test]
fn a_warning_is_printed_once_without_the_time() {
    let context = context();
    let values = format!("{VALUES}t: {{a: {{b: 1}}}}\n");
    context.write("small/values.yaml", values).unwrap();
    let text = context
        .run(["chart", "template", "rel", "small", "--set", "t.a=1"])
        .unwrap();
    let warning = "\nwarning: cannot overwrite table with non table for small.t.a";
    assert!(text.contains(warning), "{text}");
}

#[test]
fn a_failing_template_names_its_location() {
    insta::assert_snapshot!(run(&[
        "chart",
        "template",
        "rel",
        "small",
        "--set",
        "image=null"
    ]));
}

#[test]
fn errors_of_a_missing_chart_and_invalid_flags_are_those_of_helm() {
    let text = run(&["chart", "template", "rel", "nowhere"]);
    assert!(text.starts_with("exit code: 1"), "{text}");
    assert!(text.contains("Error: path \"nowhere\" not found"), "{text}");
    let text = run(&["chart", "template", "rel", "small", "--set", "a=b,c"]);
    assert!(
        text.contains("Error: failed parsing --set data: key \"c\" has no value"),
        "{text}"
    );
    let text = run(&["chart", "template", "rel", "small", "-f", "nowhere.yaml"]);
    assert!(
        text.contains("Error: open nowhere.yaml: no such file or directory"),
        "{text}"
    );
}

#[test]
fn invalid_yaml_names_file_and_line() {
    let context = context();
    context.write("invalid.yaml", "a: 1\nb: c: d\n").unwrap();
    insta::assert_snapshot!(
        context
            .run(["chart", "template", "rel", "small", "-f", "invalid.yaml"])
            .unwrap()
    );
}

#[test]
fn images_lists_images_with_object_and_field() {
    insta::assert_snapshot!(run(&["chart", "images", "small"]));
}

#[test]
fn package_is_reproducible_and_renders_like_the_folder() {
    let context = context();
    let package = |folder: &str| {
        let text = context
            .run(["chart", "package", "small", "-d", folder])
            .unwrap();
        assert!(
            text.contains(&format!("saved it to: {folder}/small-1.2.3.tgz")),
            "{text}"
        );
        fs_err::read(context.directory().join(folder).join("small-1.2.3.tgz")).unwrap()
    };
    assert_eq!(package("one"), package("two"));
    let from_folder = context.run(["chart", "template", "rel", "small"]).unwrap();
    assert_eq!(
        context
            .run(["chart", "template", "rel", "one/small-1.2.3.tgz"])
            .unwrap(),
        from_folder
    );
}

#[test]
fn a_file_over_the_size_limit_of_the_process_is_an_error() {
    let context = TestContext::new("/bin/sh").unwrap();
    context.write("large/Chart.yaml", CHART).unwrap();
    // Does not compress.
    let mut state = 1u32;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    });
    let noise: Vec<u8> = noise.take(100_000).collect();
    context.write("large/noise", noise).unwrap();
    let binary = env!("CARGO_BIN_EXE_outrigger");
    let script = format!("ulimit -f 10; exec {binary} chart package large -d out");
    let text = context.run(["-c", &script]).unwrap();
    assert!(text.starts_with("exit code: 1"), "{text}");
    assert!(text.contains("File too large"), "{text}");
    let left = fs_err::read_dir(context.directory().join("out"));
    assert_eq!(left.map_or(0, Iterator::count), 0, "nothing is left behind");
}

#[test]
fn show_prints_values_with_their_comments() {
    let text = run(&["chart", "show", "values", "small"]);
    assert!(text.contains(VALUES), "{text}");
}

#[test]
fn lint_prints_findings_and_a_summary() {
    insta::assert_snapshot!(run(&["chart", "lint", "small"]));
}

#[test]
fn show_values_prints_what_a_jsonpath_selects() {
    let context = context();
    let values = "image: {name: web, tag: 1.5}\nports: [80, 1000000]\n";
    context.write("small/values.yaml", values).unwrap();
    for (template, stdout) in [
        ("{.image.name}:{.image.tag}", "web:1.5"),
        ("{.ports[*]}", "80 1e+06"),
        ("{.image}", r#"{"name":"web","tag":1.5}"#),
        ("{.missing}", ""),
    ] {
        let text = context.run(["chart", "show", "values", "small", "--jsonpath", template]);
        let text = text.unwrap();
        assert!(text.starts_with("exit code: 0"), "{template}: {text}");
        assert!(text.contains(stdout), "{template}: {text}");
    }
    let text = context
        .run(["chart", "show", "values", "small", "--jsonpath", "{.image"])
        .unwrap();
    assert!(text.starts_with("exit code: 1"), "{text}");
    let error = "Error: error parsing jsonpath {.image: unclosed action";
    assert!(text.contains(error), "{text}");
}

#[test]
fn dependency_update_packages_a_local_chart_whose_own_dependencies_are_missing() {
    let context = context();
    let depending = |name: &str, on: &str| {
        format!(
            "apiVersion: v2\nname: {name}\nversion: 1.0.0\ndependencies:\n- name: {on}\n  version: 1.x\n  repository: file://../{on}\n"
        )
    };
    context
        .write("middle/Chart.yaml", depending("middle", "small"))
        .unwrap();
    context
        .write("parent/Chart.yaml", depending("parent", "middle"))
        .unwrap();
    let update = |chart: &str| {
        let text = context.run(["chart", "dependency", "update", chart]);
        let text = text.unwrap();
        assert!(text.starts_with("exit code: 0"), "{text}");
        let text = context.run(["chart", "template", "rel", "parent"]);
        text.unwrap().contains("parent/charts/middle/charts/small")
    };
    assert!(!update("parent"), "the dependency of middle is missing");
    update("middle");
    assert!(update("parent"), "the dependency of middle is packaged");
}

#[test]
fn dependency_update_packages_and_locks_local_charts() {
    let context = context();
    let parent = format!(
        "{CHART}dependencies:\n- name: small\n  version: 1.x\n  repository: file://../small\n"
    );
    context
        .write(
            "parent/Chart.yaml",
            parent.replace("name: small\ndesc", "name: parent\ndesc"),
        )
        .unwrap();
    let text = context
        .run(["chart", "dependency", "update", "parent"])
        .unwrap();
    assert!(text.starts_with("exit code: 0"), "{text}");
    assert!(
        context
            .directory()
            .join("parent/charts/small-1.2.3.tgz")
            .is_file()
    );
    assert!(context.directory().join("parent/Chart.lock").is_file());
    let text = context
        .run(["chart", "dependency", "list", "parent"])
        .unwrap();
    assert!(text.contains("ok"), "{text}");
    assert!(
        context
            .run(["chart", "template", "rel", "parent"])
            .unwrap()
            .contains("parent/charts/small/templates")
    );
}

/// As both Helms: a lock of Helm 2, one with fields that Helm does not write, and one with another notation of a version.
#[test]
fn dependency_build_leaves_the_lock_as_it_is() {
    const DECLARED: &str =
        "dependencies:\n- name: small\n  version: 1.x\n  repository: file://../small\n";
    let locked = |entry: &str, digest: &str| {
        format!(
            "# by hand\ndependencies:\n- {{name: small, repository: file://../small, {entry}}}\ndigest: sha256:{digest}\ngenerated: \"2020-01-01T00:00:00Z\"\n"
        )
    };
    for (api, entry, digest) in [
        (
            "v1",
            "version: 1.2.3",
            "28a5867772ad95225f81c44053615ba08c997689b1bfda6d9d9f91e51683139d",
        ),
        (
            "v2",
            "version: 1.2.3, alias: other",
            "d0db6ababa77aa87fbddaa9d08f5fb243f30ed896bccb2ba14e4051e50ab244b",
        ),
        (
            "v2",
            "version: '1.2'",
            "4337cf2158dcee1cc4d9c780c5432bbddcd3fb1ac3f3be7a97e1c3cae69ba914",
        ),
    ] {
        let context = context();
        let chart = format!("apiVersion: {api}\nname: parent\nversion: 1.0.0\n");
        let lock = locked(entry, digest);
        let name = if api == "v1" {
            context.write("parent/Chart.yaml", chart).unwrap();
            context.write("parent/requirements.yaml", DECLARED).unwrap();
            "parent/requirements.lock"
        } else {
            let chart = format!("{chart}{DECLARED}");
            context.write("parent/Chart.yaml", chart).unwrap();
            "parent/Chart.lock"
        };
        context.write(name, &lock).unwrap();
        let text = context.run(["chart", "dependency", "build", "parent"]);
        let text = text.unwrap();
        assert!(text.starts_with("exit code: 0"), "{entry}: {text}");
        let archive = context.directory().join("parent/charts/small-1.2.3.tgz");
        assert!(archive.is_file(), "{entry}");
        let after = fs_err::read_to_string(context.directory().join(name)).unwrap();
        assert_eq!(after, lock);
    }
}

#[test]
fn dependency_build_reports_a_lock_of_a_chart_that_declares_nothing() {
    let context = context();
    let lock = "dependencies: []\ndigest: sha256:1\ngenerated: \"2024-01-01T00:00:00Z\"\n";
    context.write("small/Chart.lock", lock).unwrap();
    let run = |verb| context.run(["chart", "dependency", verb, "small"]).unwrap();
    let text = run("build");
    assert!(text.starts_with("exit code: 1"), "{text}");
    assert!(text.contains("is out of sync"), "{text}");
    let text = run("update");
    assert!(text.starts_with("exit code: 0"), "{text}");
    let after = fs_err::read_to_string(context.directory().join("small/Chart.lock")).unwrap();
    assert_eq!(after, lock);
}

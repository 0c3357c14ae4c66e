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
fn show_prints_values_with_their_comments() {
    let text = run(&["chart", "show", "values", "small"]);
    assert!(text.contains(VALUES), "{text}");
}

#[test]
fn lint_prints_findings_and_a_summary() {
    insta::assert_snapshot!(run(&["chart", "lint", "small"]));
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

//! `tests/golden/<case>`: a chart, optional `values.yaml` and `args`, and the output of Helm 3.17.3 and Helm 4.2.4 for
//! `helm template rel chart --namespace ns [ARGS] [-f values.yaml]`: `expected.helm3.yaml`, or `expected.helm3.err`
//! with the message after `Error: `.

use std::path::Path;

use outrigger_chart::{
    KubeVersion, Operation, PrintOptions, Profile, RenderOptions, ValuesOptions, load_path,
    print_template, render,
};

use outrigger_chart::values::ReadFileError;
use outrigger_gotmpl::function::NullHost;

#[derive(Default)]
struct Flags {
    values: ValuesOptions,
    print: PrintOptions,
    kube_version: Option<String>,
    api_versions: Vec<String>,
    is_upgrade: bool,
    skip_schema: bool,
}

impl Flags {
    fn read(case: &Path) -> Self {
        let mut flags = Self::default();
        let text = fs_err::read_to_string(case.join("args")).unwrap_or_default();
        let mut args = text.lines();
        while let Some(flag) = args.next() {
            let mut value = || args.next().unwrap().to_owned();
            match flag {
                "--set" => flags.values.set.push(value()),
                "--set-string" => flags.values.string.push(value()),
                "--set-json" => flags.values.json.push(value()),
                "--set-literal" => flags.values.literal.push(value()),
                "--include-crds" => flags.print.include_crds = true,
                "--no-hooks" => flags.print.no_hooks = true,
                "--skip-tests" => flags.print.skip_tests = true,
                "--show-only" => flags.print.show_only.push(value()),
                "--kube-version" => flags.kube_version = Some(value()),
                "--api-versions" => {
                    flags.api_versions = value().split(',').map(str::to_owned).collect();
                }
                "--is-upgrade" => flags.is_upgrade = true,
                "--skip-schema-validation" => flags.skip_schema = true,
                other => panic!("unknown flag {other}"),
            }
        }
        if let Ok(data) = fs_err::read(case.join("values.yaml")) {
            flags.values.files.push(("values.yaml".to_owned(), data));
        }
        flags
    }
}

fn run(case: &Path, profile: Profile) -> Result<Vec<u8>, String> {
    let flags = Flags::read(case);
    let mut options = RenderOptions::new(profile, "rel", "ns");
    if let Some(version) = &flags.kube_version {
        options.capabilities.kube_version =
            KubeVersion::parse(version, profile).map_err(|error| error.to_string())?;
    }
    options.capabilities.api_versions.extend(flags.api_versions);
    if flags.is_upgrade {
        options.release.operation = Some(Operation::Upgrade);
    }
    options.skip_schema = flags.skip_schema;
    let mut read_file = |name: &str| {
        let message = format!("open {name}: no such file or directory");
        Err(ReadFileError(message))
    };
    let values = flags
        .values
        .merge(profile, &mut read_file)
        .map_err(|error| error.to_string())?;
    let chart =
        load_path(&case.join("chart"), profile, &mut |_| {}).map_err(|error| error.to_string())?;
    let rendered = render(&chart, &values, &options, &NullHost, &mut |_| {})
        .map_err(|error| error.template_text())?;
    print_template(&rendered, &flags.print, profile).map_err(|error| error.to_string())
}

fn compare(case: &Path, profile: Profile, name: &str) -> Result<(), String> {
    let found = run(case, profile);
    let output = fs_err::read(case.join(format!("expected.{name}.yaml")));
    match (output, found) {
        (Ok(expected), Ok(found)) => assert_same(&expected, &found),
        (Ok(_), Err(error)) => Err(format!("failed: {error}")),
        (Err(_), found) => {
            let expected = fs_err::read_to_string(case.join(format!("expected.{name}.err")))
                .map_err(|error| error.to_string())?;
            match found {
                Ok(_) => Err(format!("rendered, but Helm fails with {expected}")),
                Err(error) => {
                    assert_same(expected.trim_end().as_bytes(), error.trim_end().as_bytes())
                }
            }
        }
    }
}

fn assert_same(expected: &[u8], found: &[u8]) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    let (expected, found) = (
        String::from_utf8_lossy(expected),
        String::from_utf8_lossy(found),
    );
    Err(format!("--- Helm\n{expected}\n--- ours\n{found}"))
}

#[test]
fn charts_render_as_with_both_helm_versions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut cases: Vec<_> = fs_err::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    assert!(cases.len() >= 25, "golden cases are missing");
    let mut failures = Vec::new();
    for case in cases {
        for (profile, name) in [(Profile::Helm3, "helm3"), (Profile::Helm4, "helm4")] {
            if let Err(difference) = compare(&case, profile, name) {
                let case = case.file_name().unwrap().to_string_lossy().into_owned();
                failures.push(format!("{case} {name}: {difference}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

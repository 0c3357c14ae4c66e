//! Renders that fail.

use outrigger_chart::{Chart, File, Profile, RenderOptions, from_files, render};
use outrigger_gotmpl::function::{CallError, Host};
use outrigger_gotmpl::value::{Map, Value};

/// A host with a bug.
#[derive(Debug)]
struct PanickingHost;

impl Host for PanickingHost {
    fn now(&self) -> i128 {
        panic!("there is no clock")
    }

    fn fill_random(&self, _: &mut [u8]) {}

    fn lookup(&self, _: &str, _: &str, _: &str, _: &str) -> Result<Value, CallError> {
        Ok(Value::Nil)
    }

    fn host_by_name(&self, _: &str) -> String {
        String::new()
    }

    fn rsa_key(&self, _: usize) -> Result<Vec<u8>, CallError> {
        Ok(Vec::new())
    }
}

fn error(template: &str) -> String {
    let mut chart = Chart::default();
    "c".clone_into(&mut chart.metadata.name);
    chart
        .templates
        .push(File::new("templates/a.yaml", template));
    let mut options = RenderOptions::new(Profile::Helm4, "r", "ns");
    options.limits.memory_bytes = 1 << 20;
    let rendered = render(
        &chart,
        &Map::default(),
        &options,
        &PanickingHost,
        &mut |_| {},
    );
    rendered.unwrap_err().to_string()
}

#[test]
fn a_panic_is_an_error_of_the_render() {
    assert_eq!(error("{{ now }}"), "render panicked: there is no clock");
}

#[test]
fn parsed_templates_are_part_of_the_memory_limit() {
    let template = "{{1}}".repeat(100_000);
    assert_eq!(
        error(&template),
        "parsed templates need more than 1048576 bytes of memory"
    );
}

/// Renders a chart on a thread with the stack of a server's.
fn render_files(files: Vec<File>) -> Result<String, String> {
    let work = move || -> Result<String, String> {
        let chart = from_files(files, Profile::Helm4, &mut |_| {}).map_err(|e| e.to_string())?;
        let options = RenderOptions::new(Profile::Helm4, "r", "ns");
        let values = Map::default();
        let rendered = render(&chart, &values, &options, &PanickingHost, &mut |_| {});
        let rendered = rendered.map_err(|error| error.to_string())?;
        Ok(rendered
            .manifests
            .iter()
            .map(|m| m.content.clone())
            .collect())
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    let joined = thread
        .spawn(work)
        .map_err(|error| error.to_string())?
        .join();
    joined.unwrap_or_else(|_| Err("panic".to_owned()))
}

#[test]
fn deeply_nested_files_do_not_overflow_the_stack() {
    let chart_yaml = "apiVersion: v2\nname: c\nversion: 1.0.0\n";
    let subchart =
        format!("{chart_yaml}dependencies: [{{name: d, version: 1.0.0, import-values: [x]}}]\n");
    let lists = |depth: usize| format!("a: {}{}\n", "[".repeat(depth), "]".repeat(depth));
    let maps = |depth: usize| format!("{}1{}\n", "{a: ".repeat(depth), "}".repeat(depth));
    let json = |depth: usize| {
        format!(
            "{}true{}",
            "{\"properties\":{\"a\":".repeat(depth),
            "}}".repeat(depth)
        )
    };
    let template = "a: {{ toJson .Values | len }}\nb: {{ toYaml .Values | len }}\n\
                    c: {{ printf \"%v\" .Values | len }}\nd:\n{{ toYaml .Values | indent 2 }}";
    let unresolved = r##"{"properties": {"a": {"$ref": "#/x"}}, "x": {}}"##.to_owned();
    for depth in [100, 1000, 9_900] {
        for values in [lists(depth), maps(depth)] {
            for schema in [
                Some(unresolved.clone()),
                Some(json(50)),
                Some(json(depth)),
                None,
            ] {
                let mut files = vec![
                    File::new("Chart.yaml", subchart.as_str()),
                    File::new(
                        "charts/d/Chart.yaml",
                        chart_yaml.replace("name: c", "name: d"),
                    ),
                    File::new("charts/d/values.yaml", values.as_str()),
                    File::new("values.yaml", values.as_str()),
                    File::new("templates/a.yaml", template),
                ];
                files.extend(schema.map(|schema| File::new("values.schema.json", schema)));
                // Any result is fine.
                let _ = render_files(files);
            }
        }
    }
}

#[test]
fn a_template_in_utf_16_is_an_error_that_names_the_file() {
    let text =
        "\u{feff}apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}\"}\n";
    for encode in [u16::to_le_bytes, u16::to_be_bytes] {
        let template: Vec<u8> = text.encode_utf16().flat_map(encode).collect();
        let error = render_files(vec![
            File::new("Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n"),
            File::new("templates/a.yaml", template),
        ]);
        let error = error.unwrap_err();
        let expected = "YAML parse error on c/templates/a.yaml: ";
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn globals_that_many_subcharts_copy_exceed_the_memory_limit() {
    let chart_yaml = |name: &str| format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n");
    let keys: String = (0..40_000).map(|n| format!("    k{n}: 1\n")).collect();
    let mut files = vec![
        File::new("Chart.yaml", chart_yaml("c")),
        File::new("values.yaml", format!("global:\n  table:\n{keys}")),
    ];
    for number in 0..400 {
        let name = format!("s{number}");
        files.push(File::new(
            format!("charts/{name}/Chart.yaml"),
            chart_yaml(&name),
        ));
    }
    assert_eq!(
        render_files(files).unwrap_err(),
        "the values of all subcharts exceed the maximum memory of 536870912 bytes"
    );
}

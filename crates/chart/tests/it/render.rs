//! Renders that fail.

use outrigger_chart::{Chart, File, Profile, RenderOptions, render};
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
    chart.metadata.name = "c".to_owned();
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

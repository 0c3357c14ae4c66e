//! Templates with values that are small and endless.

use crate::function::Dialect;
use crate::functions::tests::host::FixedHost;
use crate::value::Value;
use crate::{Engine, Limits, parse};

/// Forty levels of two: a small value that is endless to walk.
const SHARED: &str =
    "{{ $x := dict \"k\" 1 }}{{ range until 40 }}{{ $x = dict \"a\" $x \"b\" $x }}{{ end }}";
/// The same, built apart.
const OTHER: &str =
    "{{ $y := dict \"k\" 1 }}{{ range until 40 }}{{ $y = dict \"a\" $y \"b\" $y }}{{ end }}";
/// A map that holds itself twice.
const KNOT: &str = "{{ $x := dict }}{{ $_ := set $x \"a\" $x }}{{ $_ := set $x \"b\" $x }}";

/// Ends, well or not.
fn run(template: &str) {
    let dialect = Dialect::HELM_4;
    let mut engine = Engine::new(dialect.clone(), Limits::default());
    engine.add(parse("t", template, &dialect).expect("it parses"));
    let mut out = Vec::new();
    let _ = engine.execute(
        "t",
        &Value::map(Vec::new()),
        &FixedHost::default(),
        &mut out,
    );
}

#[test]
fn walks_through_values_that_share_parts_or_hold_themselves_end() {
    let uses = [
        "{{ $x }}",
        "{{ print $x | len }}",
        "{{ toYaml $x | nindent 2 }}",
        "{{ toYaml $x | len }}",
        "{{ toYamlPretty $x | len }}",
        "{{ toJson $x | len }}",
        "{{ toRawJson $x | len }}",
        "{{ toToml $x | len }}",
        "{{ deepCopy $x | len }}",
        "{{ deepEqual $x $y }}",
        "{{ merge $x $y | len }}",
        "{{ mergeOverwrite $x $y | len }}",
        "{{ list $x | uniq | len }}",
        "{{ list $x | has $y }}",
    ];
    for (start, usage) in [SHARED, KNOT]
        .iter()
        .flat_map(|start| uses.map(|u| (start, u)))
    {
        let template = format!("{start}{OTHER}{usage}");
        run(&template);
    }
}

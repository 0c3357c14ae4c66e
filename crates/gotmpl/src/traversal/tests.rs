//! Templates with values that are small but take forever to traverse.

use super::{MAX_DEPTH, MAX_TEXT, MAX_VISITS};
use crate::function::Dialect;
use crate::functions::tests::host::FixedHost;
use crate::value::Value;
use crate::{Engine, Limits, parse};

/// Forty levels of two references each: a small value with 2^40 paths.
const SHARED: &str =
    "{{ $x := dict \"k\" 1 }}{{ range until 40 }}{{ $x = dict \"a\" $x \"b\" $x }}{{ end }}";
/// An equal value that shares nothing with it.
const OTHER: &str =
    "{{ $y := dict \"k\" 1 }}{{ range until 40 }}{{ $y = dict \"a\" $y \"b\" $y }}{{ end }}";
/// A map that contains itself twice.
const KNOT: &str = "{{ $x := dict }}{{ $_ := set $x \"a\" $x }}{{ $_ := set $x \"b\" $x }}";

/// Forty levels of lists, in a map.
const SHARED_LISTS: &str =
    "{{ $l := list 1 }}{{ range until 40 }}{{ $l = list $l $l }}{{ end }}{{ $x := dict \"l\" $l }}";
/// A map that contains itself in a list, beside a value that is not a table.
const KNOT_IN_LIST: &str = "{{ $x := dict }}{{ $_ := set $x \"a\" (list 1 $x $x) }}";
/// A value that is nested more deeply than any stack allows.
const DEEP: &str =
    "{{ $x := dict \"k\" 1 }}{{ range until 100000 }}{{ $x = dict \"a\" (list 1 $x) }}{{ end }}";

/// Terminates, with or without an error.
fn run(template: &str) -> Result<(), String> {
    let dialect = Dialect::HELM_4;
    let mut engine = Engine::new(dialect.clone(), Limits::default());
    engine.add(parse("t", template, &dialect).map_err(|error| error.to_string())?);
    let mut out = Vec::new();
    let executed = engine.execute(
        "t",
        &Value::map(Vec::new()),
        &FixedHost::default(),
        &mut out,
    );
    executed.map_err(|error| error.to_string())
}

#[test]
fn errors_about_values_that_are_too_large_name_the_limits() {
    let traversal =
        format!("value contains itself, or has more than {MAX_VISITS} parts or {MAX_DEPTH} levels");
    let size = format!("exceeded maximum size of a value ({MAX_TEXT} bytes)");
    for (start, usage, expected) in [
        (KNOT, "{{ deepCopy $x | len }}", &traversal),
        (SHARED, "{{ deepCopy $x | len }}", &traversal),
        (SHARED, "{{ merge $x $y | len }}", &traversal),
        (SHARED, "{{ mustToJson $x | len }}", &size),
        (SHARED, "{{ mustToToml $x | len }}", &size),
    ] {
        let error = run(&format!("{start}{OTHER}{usage}")).unwrap_err();
        assert!(error.ends_with(expected), "{usage}: {error}");
    }
}

#[test]
fn traversals_of_shared_and_cyclic_values_terminate() {
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
        "{{ values $x | join \",\" | len }}",
        "{{ values $x | toStrings | len }}",
        "{{ eq $x $y }}",
        "{{ compact (values $x) | len }}",
        "{{ printf \"%#v %s %d\" $x $x $x | len }}",
        "{{ html $x | len }}",
    ];
    for (start, usage) in [SHARED, KNOT, SHARED_LISTS, KNOT_IN_LIST, DEEP]
        .iter()
        .flat_map(|start| uses.map(|u| (start, u)))
    {
        let template = format!("{start}{OTHER}{usage}");
        let _ = run(&template);
    }
}

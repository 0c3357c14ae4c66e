//! Templates that would run forever or exhaust memory fail with an error.

use outrigger_gotmpl::function::{CallError, Dialect, Host};
use outrigger_gotmpl::value::Value;
use outrigger_gotmpl::{Engine, Limits, parse};

use outrigger_gotmpl::function::NullHost;

fn small() -> Limits {
    Limits {
        output_bytes: 1 << 20,
        value_bytes: 1 << 20,
        memory_bytes: 64 << 20,
        steps: 1_000_000,
        ..Limits::default()
    }
}

/// Executes a template on a thread with the given stack, most of which it may use.
fn run_with_stack(template: &'static str, limits: &Limits, stack: usize) -> Result<String, String> {
    let limits = Limits {
        stack_bytes: stack / 2,
        ..limits.clone()
    };
    let thread = std::thread::Builder::new().stack_size(stack);
    let run = thread.spawn(move || run(template, limits, &NullHost));
    let joined = run.map_err(|error| error.to_string())?.join();
    joined.unwrap_or_else(|_| Err("panic".into()))
}

fn run(template: &str, limits: Limits, host: &dyn Host) -> Result<String, String> {
    let dialect = Dialect::HELM_4;
    let parsed = parse("t", template, &dialect).map_err(|error| error.to_string())?;
    let mut engine = Engine::new(dialect, limits);
    engine.add(parsed);
    let mut out = Vec::new();
    engine
        .execute("t", &Value::map(Vec::new()), host, &mut out)
        .map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

#[track_caller]
fn check_error(template: &'static str, expected: &str) {
    let error = run_with_stack(template, &small(), 2 << 20).expect_err(template);
    assert!(error.ends_with(expected), "{template}: {error:.2000}");
}

#[test]
fn rejects_endless_recursion() {
    let depth_error = |template| {
        let error = run_with_stack(template, &small(), 2 << 20).expect_err(template);
        let message = "exceeded maximum template depth (";
        assert!(error.contains(message), "{template}: {error:.2000}");
    };
    depth_error(r#"{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}"#);
    depth_error(
        r#"{{ define "a" }}{{ include "b" . }}{{ end }}{{ define "b" }}{{ include "a" . }}{{ end }}{{ include "a" . }}"#,
    );
    depth_error(
        r#"{{ define "a" }}{{ if true }}{{ with 1 }}{{ range list 1 }}{{ $x := include "a" . | len }}{{ end }}{{ end }}{{ end }}{{ end }}{{ include "a" . }}"#,
    );
    depth_error(r#"{{ $t := "{{ tpl .t . }}" }}{{ tpl $t (dict "t" $t) }}"#);
    depth_error(r#"{{ tpl "{{ template \"gotpl\" . }}" . }}"#);
}

#[test]
fn accepts_a_thousand_nested_includes() {
    let template = r#"{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}"#;
    let error = run_with_stack(template, &small(), 256 << 20).expect_err("it never ends");
    let message = "rendering template has a nested reference name: a: unable to execute template";
    assert!(error.ends_with(message), "{error:.2000}");
    assert_eq!(error.matches("error calling include").count(), 1002);
}

/// Executes a template with the default limits on a thread with a small stack.
fn run_on_small_thread(template: String) -> Result<String, String> {
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    let run = thread.spawn(move || run(&template, Limits::default(), &NullHost));
    let joined = run.map_err(|error| error.to_string())?.join();
    joined.unwrap_or_else(|_| Err("panic".into()))
}

#[test]
fn statements_and_expressions_nest_thousands_of_levels() {
    for (open, inner, close) in [
        ("{{ if true }}", "x", "{{ end }}"),
        ("{{ with 1 }}", "x", "{{ end }}"),
        ("{{ range list 1 }}", "x", "{{ end }}"),
        ("{{ if false }}{{ else }}", "x", "{{ end }}"),
    ] {
        let template = open.repeat(2_000) + inner + &close.repeat(2_000);
        assert_eq!(run_on_small_thread(template).as_deref(), Ok("x"), "{open}");
    }
    let sum = format!("{{{{ {}0{} }}}}", "(add1 ".repeat(2_000), ")".repeat(2_000));
    assert_eq!(run_on_small_thread(sum).as_deref(), Ok("2000"));
}

#[test]
fn values_nest_as_deeply_as_in_go() {
    for (levels, usage, expected) in [
        (9000, "toJson $d | len", "54007"),
        (9000, "print $d | len", "63008"),
        (5000, "toYaml $d | len", "25020004"),
        (9000, "deepCopy $d | len", "1"),
        (9000, "toJson $d | fromJson | len", "1"),
        (9000, "deepEqual $d (deepCopy $d)", "true"),
    ] {
        let nested = format!(
            r#"{{{{ $d := dict "a" 1 }}}}{{{{ range until {levels} }}}}{{{{ $d = dict "a" $d }}}}{{{{ end }}}}"#
        );
        let found = run_on_small_thread(format!("{nested}{{{{ {usage} }}}}"));
        assert_eq!(found.as_deref(), Ok(expected), "{usage}");
    }
}

#[test]
fn rejects_endless_loops() {
    check_error(
        "{{ range 1000000000 }}{{ end }}",
        "exceeded maximum of 1000000 steps",
    );
    check_error(
        "{{ range 10000 }}{{ range 10000 }}{{ $x := . }}{{ end }}{{ end }}",
        "exceeded maximum of 1000000 steps",
    );
}

#[test]
fn rejects_endless_output() {
    check_error(
        "{{ range 1000000000 }}0123456789{{ print . }}{{ end }}",
        "exceeded maximum output of 1048576 bytes",
    );
    check_error(
        r#"{{ define "a" }}{{ range 1000000000 }}0123456789{{ end }}{{ end }}{{ $x := include "a" . }}"#,
        "exceeded maximum output of 1048576 bytes",
    );
}

#[test]
fn rejects_long_text_in_a_loop_before_it_is_written_many_times() {
    let template = format!(
        "{{{{ range 1000000 }}}}{}{{{{ end }}}}",
        "x".repeat(1 << 20)
    );
    let mut engine = Engine::new(Dialect::HELM_4, small());
    engine.add(parse("t", template.as_str(), &Dialect::HELM_4).expect("it parses"));
    let mut out = Vec::new();
    let result = engine.execute("t", &Value::map(Vec::new()), &NullHost, &mut out);
    assert!(result.is_err() && out.len() < 4 << 20, "{}", out.len());
}

#[test]
fn rejects_values_that_keep_doubling() {
    check_error(
        r#"{{ $x := "0123456789" }}{{ range 100 }}{{ $x = print $x $x }}{{ end }}"#,
        "exceeded maximum size of a value (1048576 bytes)",
    );
    check_error(
        r#"{{ define "a" }}{{ repeat 100000 "\n" }}{{ end }}{{ include "a" . | indent 200 | len }}"#,
        "exceeded maximum size of a value (1048576 bytes)",
    );
    check_error(
        "{{ $x := list 1 }}{{ range 100 }}{{ $x = concat $x $x }}{{ end }}",
        "exceeded maximum size of a value (1048576 bytes)",
    );
    check_error(
        r#"{{ $x := "0123456789" | repeat 10000 }}{{ $d := dict }}{{ range $i := 10000 }}{{ $_ := set $d (toString $i) (print $x $i) }}{{ end }}"#,
        OUT_OF_MEMORY,
    );
}

const OUT_OF_MEMORY: &str = "exceeded maximum memory of values (67108864 bytes)";

#[test]
fn rejects_small_values_that_accumulate() {
    for template in [
        "{{ $l := list }}{{ range until 2000 }}{{ range until 2000 }}{{ $l = list $l (until 100) }}{{ end }}{{ end }}",
        "{{ $d := dict }}{{ range $i := 1000000 }}{{ $_ := set $d (print $i) (list $i) }}{{ end }}",
        r#"{{ $d := dict }}{{ range $i := 1000000 }}{{ $_ := set $d (print "a long key on the heap " $i) 1 }}{{ end }}"#,
        r"{{ $l := list }}{{ range $i := 1000000 }}{{ $l = list $l (semver `1.2.3`) }}{{ end }}",
        r"{{ $l := list }}{{ range $i := 1000000 }}{{ $l = list $l now }}{{ end }}",
        r#"{{ define "a" }}{{ with splitList "," (repeat 2000 "x,") }}{{ template "a" $ }}{{ end }}{{ end }}{{ template "a" . }}"#,
        r#"{{ define "a" }}{{ range $k, $v := . }}{{ include "a" $ }}{{ end }}{{ end }}{{ $d := dict }}{{ range $i := 40000 }}{{ $_ := set $d (print $i) 1 }}{{ end }}{{ include "a" $d }}"#,
    ] {
        let limits = Limits {
            steps: 100_000_000,
            memory_bytes: 8 << 20,
            ..small()
        };
        let error = run_with_stack(template, &limits, 2 << 20).expect_err(template);
        let expected = "exceeded maximum memory of values (8388608 bytes)";
        assert!(error.ends_with(expected), "{template}: {error:.2000}");
    }
}

#[test]
fn a_long_render_that_holds_little_is_not_rejected() {
    let template = r#"{{ range until 3000 }}{{ $x := list }}{{ range until 40 }}{{ $x = append $x (dict "a" (print "some longer text " .)) }}{{ end }}{{ end }}done"#;
    assert_eq!(run(template, small(), &NullHost).as_deref(), Ok("done"));
}

#[test]
fn functions_reserve_memory_before_they_allocate() {
    let text = r#"{{ $t := repeat 1000000 "x" }}"#;
    let list = "{{ $l := until 40000 }}";
    for (start, usage) in [
        (text, r#"{{ splitList "" $t | len }}"#),
        (text, r#"{{ split "" $t | len }}"#),
        (text, r#"{{ regexFindAll "" $t -1 | len }}"#),
        (text, r#"{{ regexSplit "" $t -1 | len }}"#),
        (
            text,
            r#"{{ $f := replace "x" "%[1]s" (trunc 100000 $t) }}{{ printf $f $t | len }}"#,
        ),
        (text, r#"{{ printf (repeat 1000 "%1000000d") 1 | len }}"#),
        (
            text,
            r#"{{ regexReplaceAll "^.*$" $t (repeat 1000 "$0") | len }}"#,
        ),
        (
            text,
            r#"{{ $j := print "[" (repeat 300000 "[],") "[]]" }}{{ fromJsonArray $j | len }}"#,
        ),
        (
            text,
            r#"{{ $j := print "[" (repeat 300000 "{},") "{}]" }}{{ fromYamlArray $j | len }}"#,
        ),
        (
            list,
            "{{ $c := list }}{{ range until 10000 }}{{ $c = list $c (rest $l) }}{{ end }}",
        ),
        (
            list,
            "{{ $c := list }}{{ range until 10000 }}{{ $c = list $c (chunk 1 $l) }}{{ end }}",
        ),
        (
            list,
            "{{ $c := list }}{{ range until 10000 }}{{ $c = list $c (deepCopy (list $l $l)) }}{{ end }}",
        ),
        (
            list,
            "{{ concat $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l $l | len }}",
        ),
    ] {
        let template = format!("{start}{usage}");
        // The error of a function, of the executor, or a value with the error: any is fine.
        let result = run(&template, small(), &NullHost);
        let shown = format!("{result:.2000?}");
        let is_refused = result.is_err() || shown.len() < 20;
        assert!(is_refused, "{template:.200}: {shown}");
    }
}

#[test]
fn handles_values_that_contain_themselves() {
    for template in [
        r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ toYaml $d }}"#,
        r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ toYamlPretty $d | len }}"#,
        r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ toJson $d }}"#,
        r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $d | quote | len }}"#,
        r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ deepCopy $d | len }}"#,
        r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ deepEqual $d (deepCopy $d) }}"#,
        r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ merge (dict) $d | len }}"#,
        r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $d }}"#,
        r#"{{ $d := dict }}{{ range 100000 }}{{ $d = dict "d" $d }}{{ end }}{{ toYaml $d | len }}"#,
        r"{{ $d := dict }}{{ range 100000 }}{{ $d = list $d }}{{ end }}{{ print $d | len }}",
    ] {
        // Any result is fine as long as it terminates. Functions traverse values a thousand levels deep.
        let _ = run_with_stack(template, &small(), 16 << 20);
    }
}

#[test]
fn rejects_templates_that_are_nested_too_deeply() {
    let deep = |open: &str, close: &str, count: usize| {
        format!("{}{}", open.repeat(count), close.repeat(count))
    };
    for template in [
        format!("{{{{ {} }}}}", deep("(", ")", 100_000)),
        format!("{{{{ {} }}}}", deep("(print ", ")", 100_000)),
        deep("{{ if true }}", "{{ end }}", 100_000),
        format!(
            "{{{{ if 0 }}}}{}{{{{ end }}}}",
            "{{ else if 0 }}".repeat(100_000)
        ),
    ] {
        let error = parse("t", template.as_str(), &Dialect::HELM_4).expect_err("it is too deep");
        assert!(error.message.contains("max expression depth"), "{error}");
    }
}

/// Interrupts at the third check.
#[derive(Debug)]
struct Impatient(std::cell::Cell<u32>);

impl Host for Impatient {
    fn now(&self) -> i128 {
        0
    }

    fn fill_random(&self, _: &mut [u8]) {}

    fn lookup(&self, _: &str, _: &str, _: &str, _: &str) -> Result<Value, CallError> {
        Ok(Value::Nil)
    }

    fn host_by_name(&self, _: &str) -> String {
        String::new()
    }

    fn rsa_key(&self, _: usize) -> Result<Vec<u8>, CallError> {
        Err(CallError::returned("no keys here"))
    }

    fn interrupted(&self) -> bool {
        self.0.set(self.0.get() + 1);
        self.0.get() >= 3
    }
}

#[test]
fn the_host_can_interrupt_an_execution() {
    let host = Impatient(std::cell::Cell::new(0));
    let error = run("{{ range 1000000000 }}{{ end }}", Limits::default(), &host);
    assert!(error.expect_err("it is stopped").ends_with("interrupted"));
}

//! For any text, parsing does not panic and execution terminates.

use proptest::prelude::*;

use outrigger_gotmpl::function::Dialect;
use outrigger_gotmpl::value::Value;
use outrigger_gotmpl::{Engine, Limits, json, parse};

use outrigger_gotmpl::function::NullHost;

fn limits() -> Limits {
    Limits {
        stack_bytes: 512 << 10,
        output_bytes: 1 << 16,
        value_bytes: 1 << 16,
        memory_bytes: 1 << 20,
        steps: 20_000,
        ..Limits::default()
    }
}

/// Parses a text and, if that succeeds, executes it in both dialects.
fn run(text: &[u8]) {
    let values =
        json::decode(include_bytes!("templates/values.json")).expect("the values are JSON");
    for dialect in [Dialect::HELM_3, Dialect::HELM_4] {
        let parsed = match parse("t", text, &dialect) {
            Ok(parsed) => parsed,
            Err(error) => {
                let _ = error.helm_text();
                continue;
            }
        };
        let mut engine = Engine::new(dialect, limits());
        engine.add(parsed);
        let data = Value::map(vec![("Values".into(), values.clone())]);
        let mut out = Vec::new();
        if let Err(error) = engine.render("t", &data, &NullHost, &mut out) {
            let _ = (error.helm3_text(), error.helm4_text());
        }
    }
}

/// Fragments of templates, so that random sequences of them often parse.
const PIECES: &[&str] = &[
    "{{",
    "}}",
    "{{-",
    "-}}",
    " ",
    "\n",
    "(",
    ")",
    "|",
    ":=",
    "=",
    ",",
    ".",
    "$",
    "$x",
    "$y",
    "\"a\"",
    "`b`",
    "'c'",
    "1",
    "-2",
    "3.5",
    "0x1F",
    "true",
    "nil",
    ".Values",
    ".Values.map",
    ".Values.list",
    ".Values.str",
    ".Values.nope",
    ".Values.int",
    ".a.b",
    "if ",
    "else",
    "end",
    "with ",
    "range ",
    "range $x, $y := ",
    "define \"d\"",
    "block \"d\" ",
    "template \"d\" ",
    "break",
    "continue",
    "include \"d\" ",
    "tpl \"{{ . }}\" ",
    "print ",
    "printf \"%v %d\" ",
    "eq ",
    "lt ",
    "and ",
    "or ",
    "not ",
    "len ",
    "index ",
    "call ",
    "dict ",
    "list ",
    "set ",
    "nindent 2",
    "indent 4",
    "quote",
    "toYaml ",
    "fromYaml ",
    "trunc 3",
    "default ",
    "required \"m\" ",
    "upper",
    "int ",
    "until 3",
    "/*",
    "*/",
    "text",
    "\u{e9}",
    "\u{1f600}",
    "\\",
];

/// Complete statements, so that executions get far.
const STATEMENTS: &[&str] = &[
    "{{ $x := .Values.list }}",
    "{{ $x = dict \"a\" 1 }}",
    "{{ $y := 2 }}",
    "{{ $x }}",
    "{{ $y }}",
    "{{ . }}",
    "{{ if .Values.t }}",
    "{{ if .Values.nope }}",
    "{{ else }}",
    "{{ end }}",
    "{{ end }}",
    "{{ end }}",
    "{{ range .Values.list }}",
    "{{ range $k, $v := .Values.map }}",
    "{{ range 3 }}",
    "{{ with .Values.map }}",
    "{{ break }}",
    "{{ continue }}",
    "{{ define \"d\" }}",
    "{{ include \"d\" . }}",
    "{{ include \"d\" . | nindent 2 }}",
    "{{ template \"d\" . }}",
    "{{ tpl .Values.tplstr $ }}",
    "{{ toYaml . | indent 3 }}",
    "{{ .Values.str | upper | quote }}",
    "{{ index .Values.list 1 }}",
    "{{ (index .Values.nested 0).name }}",
    "{{ .a.b }}",
    "{{ .Values.map.c.d }}",
    "{{ set $ \"k\" 1 }}",
    "{{ printf \"%s-%d\" .Values.str 5 }}",
    "{{ fail \"x\" }}",
    "text\n",
    "{{- /* c */ -}}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_parse_or_fail(text in prop::collection::vec(any::<u8>(), 0..200)) {
        run(&text);
    }

    #[test]
    fn any_text_in_an_action_parses_or_fails(text in "\\PC{0,60}") {
        run(format!("a {{{{ {text} }}}} b").as_bytes());
    }

    #[test]
    fn any_pieces_parse_and_end(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..40)) {
        run(pieces.concat().as_bytes());
    }

    #[test]
    fn any_pieces_in_actions_parse_and_end(
        actions in prop::collection::vec(prop::collection::vec(prop::sample::select(PIECES), 1..6), 1..8)
    ) {
        let actions: Vec<String> = actions.iter().map(|pieces| pieces.join(" ")).collect();
        run(format!("{{{{ {} }}}}", actions.join(" }}{{ ")).as_bytes());
    }

    #[test]
    fn any_statements_end(statements in prop::collection::vec(prop::sample::select(STATEMENTS), 0..30)) {
        let open = statements.iter().filter(|s| ["{{ if", "{{ range", "{{ with", "{{ define"].iter().any(|k| s.starts_with(k)));
        let ends = statements.iter().filter(|s| **s == "{{ end }}").count();
        let missing = open.count().saturating_sub(ends);
        run(format!("{}{}", statements.concat(), "{{ end }}".repeat(missing)).as_bytes());
    }

    #[test]
    fn a_real_template_with_a_wound_parses_or_fails(cut in 0..TEMPLATE.len(), byte in any::<u8>(), drop in any::<bool>()) {
        let mut text = TEMPLATE.as_bytes().to_vec();
        if drop {
            text.truncate(cut);
        } else {
            text[cut] = byte;
        }
        run(&text);
    }
}

const TEMPLATE: &str = r#"{{- define "app.labels" -}}
app: {{ .Values.str | default "x" | trunc 63 | trimSuffix "-" }}
{{- with .Values.map }}
{{ toYaml . | nindent 0 }}
{{- end }}
{{- end -}}
apiVersion: v1
metadata:
  name: {{ printf "%s-%d" .Values.str (int .Values.int) | quote }}
  labels: {{- include "app.labels" . | nindent 4 }}
data:
  {{- range $i, $e := .Values.nested }}
  {{ $e.name }}-{{ $i }}: {{ $e.v | squote }} {{/* a comment */}}
  {{- else }}
  none: true
  {{- end }}
  {{- if and .Values.t (not .Values.f) (or (eq .Values.str "a") (gt (len .Values.list) 2)) }}
  tpl: {{ tpl .Values.tplstr $ }}
  {{- end }}
"#;

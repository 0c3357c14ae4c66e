//! Templates without end.

use std::path::Path;

use super::{Attack, Expected, write_chart};

/// A template and what it must get.
macro_rules! template {
    ($name:literal, $expected:expr, $template:expr) => {
        Attack::new(
            $name,
            |directory: &Path| write_chart(directory, &$template),
            $expected,
        )
    };
}

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: done}\n";

#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn attacks() -> Vec<Attack> {
    vec![
        template!(
            "lists nested in lists",
            Expected::Limit,
            "{{ $l := list }}{{ range until 2000 }}{{ range until 2000 }}{{ $l = list $l (until 100) }}{{ end }}{{ end }}"
        ),
        template!(
            "dictionary that doubles, copied deeply",
            Expected::Limit,
            "{{ $d := dict \"x\" \"y\" }}{{ range until 40 }}{{ $d = dict \"a\" $d \"b\" $d }}{{ end }}{{ $e := deepCopy $d }}"
        ),
        template!(
            "dictionary that doubles, as JSON",
            Expected::Limit,
            "{{ $d := dict \"x\" \"y\" }}{{ range until 40 }}{{ $d = dict \"a\" $d \"b\" $d }}{{ end }}{{ $d | toJson }}"
        ),
        template!(
            "string that doubles",
            Expected::Limit,
            "{{ $s := \"x\" }}{{ range until 60 }}{{ $s = print $s $s }}{{ end }}"
        ),
        template!("repeat of a gigabyte", Expected::Limit, "{{ repeat 2000000000 \"x\" }}"),
        template!(
            "width of a gigabyte",
            Expected::Error("attack.yaml"),
            "{{ printf \"%2000000000d\" 1 | len | printf \"%d\" | fail }}"
        ),
        template!("until a billion", Expected::Limit, "{{ until 2000000000 | len }}"),
        template!(
            "output without end",
            Expected::Limit,
            "{{ range until 20000 }}{{ range until 20000 }}{{ repeat 1000 \"x\" }}{{ end }}{{ end }}"
        ),
        template!(
            "fromToml of a header of 100,000 parts",
            Expected::Output("done"),
            format!("{{{{ $t := fromToml \"[a{}]\" }}}}{MAP}", ".a".repeat(100_000))
        ),
        template!(
            "fromYaml with aliases that double",
            Expected::Output("done"),
            format!("{{{{ $y := fromYaml {:?} }}}}{MAP}", aliases())
        ),
        template!(
            "include of itself",
            Expected::Error("attack.yaml"),
            "{{ define \"a\" }}{{ include \"a\" . }}{{ end }}{{ include \"a\" . }}"
        ),
        template!(
            "tpl of itself",
            Expected::Error("attack.yaml"),
            "{{ define \"a\" }}{{ tpl \"{{ include \\\"a\\\" . }}\" . }}{{ end }}{{ include \"a\" . }}"
        ),
        template!(
            "parentheses of 100,000 levels",
            Expected::Error("attack.yaml"),
            format!("{{{{ {}1{} }}}}", "(".repeat(100_000), ")".repeat(100_000))
        ),
        template!(
            "300,000 set calls",
            Expected::Output("done"),
            format!("{{{{ $d := dict }}}}{{{{ range until 300000 }}}}{{{{ $_ := set $d (printf \"k%d\" .) . }}}}{{{{ end }}}}{MAP}")
        )
        .memory(600),
        template!(
            "100,000 append calls",
            Expected::Output("done"),
            format!("{{{{ $l := list }}}}{{{{ range until 100000 }}}}{{{{ $l = append $l . }}}}{{{{ end }}}}{MAP}")
        )
        .memory(600),
        template!(
            "random text of a gigabyte",
            Expected::Limit,
            "{{ randAlphaNum 2000000000 | len }}"
        ),
        template!(
            "indentation of a gigabyte",
            Expected::Limit,
            "{{ \"a\\nb\" | nindent 2000000000 | len }}"
        ),
        template!(
            "replacement that grows",
            Expected::Limit,
            "{{ $s := repeat 100000 \"x\" }}{{ $t := repeat 100000 \"y\" }}{{ $s | replace \"x\" $t | len }}"
        ),
        template!(
            "regular expression that explodes",
            Expected::Error("attack.yaml"),
            "{{ mustRegexMatch \"(((a{1000}){1000}){1000})\" \"a\" }}"
        ),
    ]
}

/// Aliases in YAML: 2 to the power of 40 values, which the value shares.
fn aliases() -> String {
    let mut text = "a0: &a0 [x]\n".to_owned();
    for level in 1..40 {
        let below = level - 1;
        text += &format!("a{level}: &a{level} [*a{below}, *a{below}]\n");
    }
    text
}

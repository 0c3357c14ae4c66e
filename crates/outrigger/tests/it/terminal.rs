//! What charts say cannot change the terminal that shows it.

use crate::local_cluster::LocalCluster;

const NOISY: &str = "\
apiVersion: v2
name: noisy
version: 1.0.0
appVersion: \"7\\e[31m\\u009b2J\\u202e\"
description: \"a\\e]0;title\\a chart\\r\"
";
const FAILING: &str = "apiVersion: v2\nname: failing\nversion: 1.0.0\n";
const NOTES: &str = "first\x1b]52;c;eA==\x07 line\nsecond\u{9b}2J line\rthird\u{202e}\n";
const CONFIG_MAP: &str = "\
# \u{202e}comment
apiVersion: v1
kind: ConfigMap
metadata: {name: noisy}
";
const FAIL: &str = r#"{{ fail "bad\x1b[2J\u009b1A\u202e\a\rReady\nplugin default/other ready" }}"#;

/// Whether a terminal does something else with a character than to show it.
fn is_obeyed(c: char) -> bool {
    !matches!(c, '\n' | '\t')
        && (c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
}

#[test]
fn messages_of_charts_are_printed_without_escape_sequences() {
    let cluster = LocalCluster::start();
    for (path, text) in [
        ("charts/noisy/Chart.yaml", NOISY),
        ("charts/noisy/templates/NOTES.txt", NOTES),
        ("charts/noisy/templates/config.yaml", CONFIG_MAP),
        ("charts/failing/Chart.yaml", FAILING),
        ("charts/failing/templates/fail.yaml", FAIL),
    ] {
        cluster.context.write(path, text).unwrap();
    }
    let run = |line: &str| cluster.output(&mut cluster.context.command(line.split(' ')));
    for line in [
        "plugin install noisy ./charts/noisy --wait",
        "plugin install failing ./charts/failing --wait",
        "plugin wait failing",
        "plugin list",
        "plugin list -o wide",
        "plugin show noisy",
        "plugin show failing",
        "plugin history noisy",
        "plugin diff noisy --set a=b",
        "plugin diff failing",
        "repository add local ./charts",
        "repository search noisy",
        "chart lint ./charts/failing",
    ] {
        let output = run(line);
        assert!(!output.contains(is_obeyed), "{line}: {output:?}");
    }
    // Notes keep their lines. The message of a failure is one line, so that it cannot be taken for another message.
    let notes = run("plugin show noisy");
    assert!(
        notes.ends_with("Notes:\nfirst line\nsecond linethird\n"),
        "{notes}"
    );
    let failure = run("plugin wait failing");
    assert!(failure.contains("bad"), "{failure}");
    assert!(!failure.contains("\nplugin default/other"), "{failure}");
    // Data for other programs is not changed.
    let template = run("chart template ./charts/noisy");
    assert!(template.contains("# \u{202e}comment"), "{template}");
}

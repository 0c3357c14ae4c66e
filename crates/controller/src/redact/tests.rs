//! What is redacted, and when messages are withheld.

use serde_json::json;

use super::*;

/// A redactor of the data of one Secret.
fn redactor_of(data: &[&str]) -> Redactor {
    let data = data.iter().map(|data| data.as_bytes().to_vec()).collect();
    Redactor::new(vec![Arc::new(SecretValues::new(data))])
}

#[track_caller]
fn check(data: &str, text: &str, expected: &str) {
    let redactor = redactor_of(&[data]);
    assert_eq!(redactor.text(text), expected);
}

#[test]
fn values_are_redacted_in_every_form_in_which_they_are_quoted() {
    check("hunter2", "bad: hunter2!", "bad: [redacted]!");
    check("auth: {password: hunter2}", "hunter2", "[redacted]");
    check("pin: 4711", "pin 4711", "pin [redacted]");
    check("hunter2", "aHVudGVyMg==", "[redacted]==");
    check("pass\"word", r#"got "pass\"word""#, r#"got "[redacted]""#);
    check("-----KEY\nabcdef\n", "line abcdef", "line [redacted]");
    check("enabled: true\nn: 1", "true, 1 of 2", "true, 1 of 2");
}

#[test]
fn values_are_redacted_in_every_form_that_the_engine_produces() {
    // toJson, toRawJson, %q, %+q
    check("amp&sec<99", r"amp\u0026sec\u003c99", "[redacted]");
    check("sch\u{fc}tz9", r"sch\u00fctz9", "[redacted]");
    // html, urlquery, js
    check(
        "lt<secret>\"9'",
        "lt&lt;secret&gt;&#34;9&#39;",
        "[redacted]",
    );
    check("amp&secret 99", "amp%26secret+99", "[redacted]");
    check("it's<99=", r"it\'s\u003C99\u003D", "[redacted]");
    // regexQuoteMeta, nospace
    check("a.b*c99", r"a\.b\*c99", "[redacted]");
    check("correct horse 9", "correcthorse9", "[redacted]");
    // b32enc, b64enc of a text that contains the value
    check("hunter2", "NB2W45DFOIZA====", "[redacted]====");
    check("hunter2", "dXNlcjpodW50ZXIy", "dXNlcjp[redacted]");
    check("hunter2", "dTpodW50ZXIyQHg=", "dTp[redacted]QHg=");
    // title, untitle, swapcase
    check("hunter2", "Hunter2 hUNTER2", "[redacted] [redacted]");
    // % x, %# x
    check("hunter2", "68 75 6e 74 65 72 32", "[redacted]");
    check(
        "hunter2",
        "0x68 0x75 0x6e 0x74 0x65 0x72 0x32",
        "0x[redacted]",
    );
    // toYaml, upper, lower, %x
    check("it's secret", "'it''s secret'", "'[redacted]'");
    check("Hunter2", "HUNTER2 hunter2", "[redacted] [redacted]");
    check(
        "hunter2",
        "68756e74657232 68756E74657232",
        "[redacted] [redacted]",
    );
    // Numbers in values are floats.
    check("pin: 123456789", "1.23456789e+08", "[redacted]");
    check("pin: 123456789", "123456789.000000", "[redacted].000000");
    check(
        "pin: 98765.4321",
        "98765.4321 9.87654321e+04",
        "[redacted] [redacted]",
    );
    check("pin: 1.5e300", "1.5e+300", "[redacted]");
}

#[test]
fn values_that_overlap_leave_nothing_of_either() {
    let redactor = redactor_of(&["abc123", "123defgh"]);
    assert_eq!(redactor.text("-abc123defgh-"), "-[redacted]-");
    // A placeholder is not searched for values.
    let redactor = redactor_of(&["hunter2", "acted"]);
    assert_eq!(redactor.text("hunter2 acted"), "[redacted] [redacted]");
}

#[test]
fn debug_output_omits_the_values() {
    let redactor = redactor_of(&["hunter2"]);
    assert!(!format!("{redactor:?}").contains("hunter2"));
}

#[test]
fn names_with_values_are_secret_unless_these_are_words() {
    let redactor = redactor_of(&["{token: hunter2-hunter2, user: admin, site: berlin-east}"]);
    let secret = |name: &str, release: &str| redactor.secret_names(&[name], release);
    assert_eq!(secret("web-hunter2-hunter2", "web"), [true]);
    assert_eq!(secret("admin-web", "web"), [false]);
    assert_eq!(secret("berlin-east-web", "berlin-east"), [false]);
}

#[test]
fn a_redacted_message_is_not_redacted_again() {
    let redactor = redactor_of(&["acted", "withheld"]);
    let once = redactor.text("it reacted");
    assert_eq!(once, "it re[redacted]");
    assert_eq!(redactor.text(&once), once);
    assert_eq!(redactor.text(WITHHELD), WITHHELD);
}

#[test]
fn values_of_earlier_versions_are_redacted_too() {
    let redactor = redactor_of(&["new-value"]).with_earlier(&redactor_of(&["old-value"]));
    assert_eq!(
        redactor.text("old-value, new-value"),
        "[redacted], [redacted]"
    );
    let many = (0..20).fold(redactor, |redactor, n| {
        redactor_of(&[&format!("value-{n}")]).with_earlier(&redactor)
    });
    assert_eq!(many.secrets.len(), 1 + MAX_EARLIER);
}

#[test]
fn messages_that_may_quote_unknown_values_are_withheld() {
    let plugin = |from: serde_json::Value| {
        let spec = serde_json::from_value(json!({"valuesFrom": from})).unwrap();
        Redactor::unresolved(&Plugin::new("web", spec))
    };
    let secret = plugin(json!([{"kind": "Secret", "name": "s"}]));
    assert_eq!(secret.message(Reason::Unhealthy, "hunter2"), WITHHELD);
    let missing = "Secret s does not exist";
    assert_eq!(secret.message(Reason::ValuesMissing, missing), missing);
    assert_eq!(secret.message(Reason::Rendered, "1 object"), "1 object");
    let map = plugin(json!([{"kind": "ConfigMap", "name": "s"}]));
    assert_eq!(map.message(Reason::Unhealthy, "crashes"), "crashes");
}

#[test]
fn a_secret_that_is_too_large_to_be_searched_for_withholds_messages() {
    let redactor = redactor_of(&[&"x".repeat(3 << 20)]);
    assert_eq!(redactor.text("any"), TOO_LARGE);
    assert_eq!(redactor.secret_names(&["a", "b"], "web"), [true, true]);
}

//! Duplicate keys, with the errors of `YAMLToJSONStrict` of sigs.k8s.io/yaml 1.6.0.

use outrigger_goyaml::check_strict;

#[test]
fn reports_duplicate_keys_with_the_lines_of_their_values() {
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        ("a: 1\nb: 2\n", &[]),
        ("a: 1\nb: 2\na: 3\n", &[r#"line 3: key "a""#]),
        (
            "a: {k: 1}\na: {k: 2, k: 3}\na:\n  x: 1\n",
            &[
                r#"line 2: key "k""#,
                r#"line 2: key "a""#,
                r#"line 4: key "a""#,
            ],
        ),
        (
            "m:\n  - k: 1\n    k:\n    k: |\n      text\n      more\nm: &x\n  - 1\n",
            &[
                r#"line 3: key "k""#,
                r#"line 4: key "k""#,
                r#"line 7: key "m""#,
            ],
        ),
        (
            "base: &b {a: 1}\nuse:\n  <<: *b\n  a: 2\n",
            &[r#"line 4: key "a""#],
        ),
        (
            "base: &b {a: 1}\nuse:\n  a: 2\n  <<: *b\n",
            &[r#"line 1: key "a""#],
        ),
        (
            "1: a\n1: b\ntrue: c\nyes: d\n\"q\\n\": 1\n\"q\\n\": 2\n",
            &["line 2: key 1", "line 4: key true", r#"line 6: key "q\n""#],
        ),
        (
            "a:\n  - b\na:\n- c\n\n\na:\n\n  # note\n  d: e\n",
            &[r#"line 4: key "a""#, r#"line 10: key "a""#],
        ),
        ("[{a: 1,\n a:\n  2}, x: 1]\n", &[r#"line 3: key "a""#]),
        (
            "{\"a\": 1, \"b\": {\"c\": 1, \"c\": 2},\n\"a\": 2}",
            &[r#"line 1: key "c""#, r#"line 2: key "a""#],
        ),
        (
            "a: \"x\n  y\"\na: !!str\n  z\na: &k\n  - 1\na: *k\n",
            &[
                r#"line 3: key "a""#,
                r#"line 5: key "a""#,
                r#"line 7: key "a""#,
            ],
        ),
    ];
    for (text, expected) in cases {
        let found = check_strict(text.as_bytes()).map_err(|error| error.to_string());
        let lines: Vec<_> = expected
            .iter()
            .map(|line| format!("\n  {line} already set in map"))
            .collect();
        let told = match lines.as_slice() {
            [] => Ok(()),
            lines => Err(format!("yaml: unmarshal errors:{}", lines.concat())),
        };
        assert_eq!(found, told, "{text}");
    }
}

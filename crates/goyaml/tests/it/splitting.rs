//! Splitting values files into documents like Helm 4.

use outrigger_goyaml::documents;

#[test]
fn splits_documents_at_separator_lines() {
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        ("a: 1", &["a: 1\n"]),
        ("a: 1\n---\nb: 2\n", &["a: 1\n", "b: 2\n"]),
        ("---\na: 1\n---\nb: 2", &["---\na: 1\n", "b: 2\n"]),
        (
            "a: 1\r\n--- # c\r\nb: |\r\n  x\r\n",
            &["a: 1\n", "b: |\n  x\n"],
        ),
        ("---\n---\na: 1\n", &["---\n", "a: 1\n"]),
        ("a: 1\n---\n", &["a: 1\n"]),
        ("a: |\n  x\n  ---\n", &["a: |\n  x\n  ---\n"]),
        ("\n", &["\n"]),
    ];
    for (input, expected) in cases {
        let found: Vec<String> = documents(input.as_bytes())
            .map(|document| String::from_utf8(document.unwrap().into_owned()).unwrap())
            .collect();
        assert_eq!(found, *expected, "{input:?}");
    }
}

#[test]
fn rejects_content_after_a_separator() {
    let mut documents = documents(b"a: 1\n---b\nc: 2\n");
    let error = documents.next().unwrap().expect_err("it is no separator");
    assert_eq!(error.to_string(), "invalid Yaml document separator: b");
    assert!(documents.next().is_none());
}

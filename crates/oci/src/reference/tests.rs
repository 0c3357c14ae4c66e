//! References as Docker and the distribution specification write them.

use super::*;

const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[test]
fn short_names_are_those_of_docker_hub() {
    let rows = [
        ("nginx", "docker.io/library/nginx:latest"),
        ("nginx:1.27", "docker.io/library/nginx:1.27"),
        ("docker.io/nginx", "docker.io/library/nginx:latest"),
        (
            "index.docker.io/bitnami/redis:7",
            "docker.io/bitnami/redis:7",
        ),
        ("bitnami/redis:7", "docker.io/bitnami/redis:7"),
        ("localhost/a", "localhost/a:latest"),
        ("reg:5000/a/b:v1", "reg:5000/a/b:v1"),
        ("[::1]:5000/a:v1", "[::1]:5000/a:v1"),
        ("QUAY.io/a/b__c/d--e.f:V1", "quay.io/a/b__c/d--e.f:V1"),
    ];
    for (text, canonical) in rows {
        assert_eq!(text.parse::<Reference>().unwrap().to_string(), canonical);
    }
}

#[test]
fn a_reference_has_a_tag_a_digest_or_both() {
    let both: Reference = format!("quay.io/a/b:1@{DIGEST}").parse().unwrap();
    assert_eq!(
        (both.tag(), both.identifier().as_str()),
        (Some("1"), DIGEST)
    );
    let pinned: Reference = format!("quay.io/a/b@{DIGEST}").parse().unwrap();
    assert_eq!(pinned.tag(), None);
    assert_eq!(pinned.to_string(), format!("quay.io/a/b@{DIGEST}"));
    let moved = pinned.moved("r.local/x".parse().unwrap());
    assert_eq!(moved.to_string(), format!("r.local/x@{DIGEST}"));
}

#[test]
fn what_is_not_a_reference_is_rejected() {
    let long = format!("quay.io/{}", "a".repeat(256));
    let long_tag = format!("a:{}", "t".repeat(129));
    let rows = [
        "",
        "/",
        "a/",
        "/a",
        "a//b",
        "https://quay.io/a",
        "oci://quay.io/a",
        "a:",
        "a:-1",
        "a b",
        "A/B",
        "quay.io/A",
        "quay.io:0/a",
        "quay.io:99999/a",
        "quay.io:+80/a",
        "a@",
        "a@sha256:00",
        "a/../b",
        "quay.io/..",
        "quay.io/a/.b",
        "quay.io/a_",
        "quay.io/a___b",
        "quay.io/a..b",
        "-a.b/c",
        "a.-b/c",
        "[::1/a",
        "user@quay.io/a",
        "quay.io/a:b:c",
        "\u{e9}.io/a",
        "quay.io/\u{e9}",
        &long,
        &long_tag,
    ];
    for text in rows {
        assert!(text.parse::<Reference>().is_err(), "{text}");
    }
}

//! Tests of the index, with results of Helm.

use super::*;

const INDEX: &str = "
apiVersion: v1
entries:
  web:
    - {name: web, version: 1.2.0, urls: [web-1.2.0.tgz], digest: 'sha256:AB'}
    - {name: web, version: 2.0.0-rc.1, urls: [web-2.0.0-rc.1.tgz]}
    - {name: web, version: 1.10.0, urls: ['https://cdn.example.com/web-1.10.0.tgz'], appVersion: 7}
    - {name: web, version: nonsense, urls: [x]}
    - null
    - {name: web, version: v0.9, urls: [web-0.9.tgz]}
  broken: null
generated: '2026-01-01T00:00:00Z'
";

fn index() -> Index {
    Index::parse(INDEX.as_bytes(), "repo").unwrap()
}

fn selected(version: Option<&str>) -> Result<String, Error> {
    index()
        .get("web", version, "repo")
        .map(|entry| entry.version.clone())
}

#[test]
fn sorts_by_semver_and_skips_invalid_versions() {
    let index = index();
    let versions: Vec<_> = index.charts["web"]
        .iter()
        .map(|entry| entry.version.as_str())
        .collect();
    assert_eq!(versions, ["2.0.0-rc.1", "1.10.0", "1.2.0", "v0.9"]);
    assert_eq!(index.charts["web"][2].digest.as_deref(), Some("ab"));
    assert_eq!(index.charts["web"][1].app_version, "7");
}

#[test]
fn selects_versions_as_helm_does() {
    assert_eq!(selected(None).unwrap(), "1.10.0");
    assert_eq!(selected(Some("")).unwrap(), "1.10.0");
    assert_eq!(selected(Some("1.2.0")).unwrap(), "1.2.0");
    assert_eq!(selected(Some("v1.2.0")).unwrap(), "1.2.0");
    assert_eq!(selected(Some("~1.2")).unwrap(), "1.2.0");
    assert_eq!(selected(Some("<1.10")).unwrap(), "1.2.0");
    assert_eq!(selected(Some("0.9")).unwrap(), "v0.9");
    assert_eq!(selected(Some("2.0.0-rc.1")).unwrap(), "2.0.0-rc.1");
    assert_eq!(selected(Some(">0.0.0-0")).unwrap(), "2.0.0-rc.1");
}

#[test]
fn a_missing_chart_or_version_is_reported_with_suggestions() {
    let message = selected(Some("^3")).unwrap_err().to_string();
    assert_eq!(
        message,
        "repo has no chart web of version \"^3\"; nearest: 2.0.0-rc.1, 1.10.0, 1.2.0, v0.9"
    );
    let message = index().get("wbe", None, "repo").unwrap_err().to_string();
    assert_eq!(message, "repo has no chart wbe; nearest: web");
    assert!(matches!(
        selected(Some("one")),
        Err(Error::InvalidRange { .. })
    ));
}

#[test]
fn the_error_of_an_invalid_index_has_the_line() {
    let error = Index::parse(b"apiVersion: v1\nentries:\n  a: b: c\n", "repo").unwrap_err();
    assert!(
        matches!(error, Error::InvalidIndex { line: Some(3), .. }),
        "{error:?}"
    );
    for (text, reason) in [
        ("entries: {}", "no API version specified"),
        ("[]", "not a map"),
        ("<html>", "not a map"),
    ] {
        let error = Index::parse(text.as_bytes(), "repo")
            .unwrap_err()
            .to_string();
        assert!(error.ends_with(reason), "{error}");
    }
}

#[test]
fn resolves_relative_and_absolute_archive_urls() {
    let repository = Url::parse("https://a/charts?key=1").unwrap();
    let resolved = |reference: &str| resolve(&repository, reference).map(|url| url.to_string());
    assert_eq!(
        resolved("web-1.tgz").unwrap(),
        "https://a/charts/web-1.tgz?key=1"
    );
    assert_eq!(resolved("/web-1.tgz").unwrap(), "https://a/web-1.tgz?key=1");
    assert_eq!(
        resolved("https://b/web-1.tgz?x=2").unwrap(),
        "https://b/web-1.tgz?x=2"
    );
    assert!(resolved("ftp://b/web-1.tgz").is_err());
    assert_eq!(
        url(&repository).as_str(),
        "https://a/charts/index.yaml?key=1"
    );
}

#[test]
fn a_chart_without_a_valid_version_is_not_reported_as_missing() {
    let text = "apiVersion: v1\nentries: {x: [{version: 99999999999999999999.0.0}], xy: []}\n";
    let index = Index::parse(text.as_bytes(), "repo").unwrap();
    let message = index.get("x", None, "repo").unwrap_err().to_string();
    assert_eq!(
        message,
        "repo has chart x, but none of its versions is a valid semantic version"
    );
}

#[test]
fn a_similar_name_is_suggested_once_and_never_the_name_itself() {
    let names = ["good", "good", "../charts/good"].map(str::to_owned);
    assert_eq!(similar_names("../charts/good", names.iter()), ["good"]);
}

#[test]
fn charts_may_have_the_names_of_fields() {
    let text = "
apiVersion: v1
entries:
  urls:
    - {version: 1.0.0, urls: [a.tgz], annotations: {version: '1', urls: x}}
  version:
    - {version: 2, urls: [b.tgz], deprecated: true, maintainers: [{name: a, urls: [x], version: 3}]}
    - {version: 1.0.0}
";
    let index = Index::parse(text.as_bytes(), "repo").unwrap();
    assert_eq!(index.charts["urls"][0].url.as_deref(), Some("a.tgz"));
    let versions = &index.charts["version"];
    assert_eq!(
        (versions[0].version.as_str(), versions[0].deprecated),
        ("2", true)
    );
    assert_eq!(versions[0].url.as_deref(), Some("b.tgz"));
    assert_eq!(versions[1].version, "1.0.0");
    assert_eq!(versions[1].url, None);
}

#[test]
fn the_size_of_an_index_follows_its_content() {
    let entry = |text: &str| Entry {
        description: text.to_owned(),
        ..Entry::default()
    };
    let index = |entries: Vec<Entry>| Index {
        charts: BTreeMap::from([("web".to_owned(), entries)]),
    };
    let small = index(vec![entry("")]).size();
    assert!(small > size_of::<Entry>());
    assert_eq!(index(vec![entry(&"x".repeat(1000))]).size(), small + 1000);
    assert!(index(vec![entry(""), entry("")]).size() > 2 * size_of::<Entry>());
}

/// 16 MB of any of these fit twice into the memory of a small container.
#[test]
fn the_memory_of_dense_indexes_is_bounded_and_counted() {
    let entries = |entry: &dyn Fn(usize) -> String| -> String { (0..10_000).map(entry).collect() };
    let cases = [
        (
            "versions",
            entries(&|n| format!("  - {{version: 1.0.{n}, urls: [a]}}\n")),
            10_000,
            128,
        ),
        ("charts", entries(&|n| format!("  c{n}: []\n")), 10_000, 48),
        (
            "annotations",
            entries(&|n| {
                format!("  - {{version: 1.0.{n}, urls: [a, b, c], annotations: {{a: b, c: d}}}}\n")
            }),
            10_000,
            128,
        ),
    ];
    for (name, text, count, overhead) in cases {
        let chart = if name == "charts" { "" } else { "  web:\n" };
        let text = format!("apiVersion: v1\nentries:\n{chart}{text}");
        let size = Index::parse(text.as_bytes(), "repo").unwrap().size();
        assert!(size >= count * overhead, "{name}: {size}");
        assert!(size <= 6 * text.len(), "{name}: {size} of {}", text.len());
    }
}

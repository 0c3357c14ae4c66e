//! Tests of release records: encoding and decoding, of any size.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use outrigger_chart::{Chart, File};
use serde_json::json;

use super::chart::ChartCache;
use super::secret::{self, Write};
use super::*;

/// A record of release `web` in namespace `shop`.
pub(crate) fn record(revision: u32, status: Status, manifest: &str) -> Record {
    Record {
        id: ReleaseId::new("shop", "web"),
        revision,
        info: Info {
            status,
            first_deployed: Some(Timestamp::UNIX_EPOCH),
            ..Info::default()
        },
        chart: StoredChart::from_summary(ChartSummary {
            name: "web".to_owned(),
            version: "1.0.0".to_owned(),
            app_version: "2".to_owned(),
        }),
        config: Map::new(),
        manifest: manifest.to_owned(),
        hooks: Vec::new(),
        apply_method: SERVER_SIDE.to_owned(),
        labels: BTreeMap::new(),
        is_truncated: false,
        is_foreign: false,
        resource_version: None,
    }
}

fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

#[test]
fn an_encoded_record_decodes_to_the_same_record() {
    let mut record = record(3, Status::PendingUpgrade, "---\n# Source: a\nb: 1\n");
    record.config = json!({"a": {"b": [1, 2.5, "x", null]}})
        .as_object()
        .unwrap()
        .clone();
    record.hooks = vec![Hook {
        name: "h".to_owned(),
        events: vec!["pre-install".to_owned()],
        ..Hook::default()
    }];
    record.labels.insert("team".to_owned(), "red".to_owned());
    let encoded = secret::encode(&record, Write::Create, now());
    assert!(encoded.parts.is_empty());
    let labels = &encoded.secret["metadata"]["labels"];
    assert_eq!(labels["status"], "pending-upgrade");
    assert_eq!(labels["version"], "3");
    assert_eq!(labels["createdAt"], "0");
    assert_eq!(
        encoded.secret["metadata"]["name"],
        "sh.helm.release.v1.web.v3"
    );
    let decoded = secret::decode(&encoded.secret).unwrap();
    assert_eq!(decoded.info, record.info);
    assert_eq!(decoded.config, record.config);
    assert_eq!(decoded.hooks, record.hooks);
    assert_eq!(decoded.labels, record.labels);
    assert_eq!(decoded.manifest, record.manifest);
    assert_eq!(decoded.chart.summary(), record.chart.summary());
    assert_eq!(decoded.apply_method, "ssa");
    assert!(decoded.has_same_contents(&record));
}

#[test]
fn uncompressed_records_of_helm_3_are_decoded() {
    let json = json!({
        "name": "web", "namespace": "shop", "version": 1, "manifest": "a: 1",
        "info": {"first_deployed": "2026-01-01T00:00:00Z", "deleted": "", "status": "deployed"},
        "chart": {"metadata": {"name": "c", "version": "1.2.3", "appVersion": "4"}, "values": {"a": 1}},
        "hooks": null,
    });
    let record = payload::decode(STANDARD.encode(json.to_string()).as_bytes()).unwrap();
    assert_eq!(record.info.status, Status::Deployed);
    assert_eq!(record.info.deleted, None);
    assert_eq!(record.apply_method, "");
    assert_eq!(record.chart.summary().version, "1.2.3");
}

#[test]
fn a_stored_chart_has_all_fields_that_helm_needs() {
    let files = vec![
        File::new(
            "Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 1.0.0\nappVersion: '7'\nkeywords: [a]\n",
        ),
        File::new("values.yaml", "a: 1\nb: {c: [x]}\n"),
        File::new("templates/x.yaml", "kind: X"),
        File::new("README.md", "words"),
    ];
    let chart = outrigger_chart::from_files(files, Profile::Helm4, &mut |_| {}).unwrap();
    let chart = Arc::new(chart);
    let cache = ChartCache::default();
    let stored = cache.encode(&chart, None);
    let json: Value = serde_json::from_str(stored.json()).unwrap();
    assert_eq!(json["metadata"]["apiVersion"], "v2");
    assert_eq!(json["metadata"]["keywords"], json!(["a"]));
    assert_eq!(json["values"], json!({"a": 1, "b": {"c": ["x"]}}));
    assert_eq!(json["templates"][0]["name"], "templates/x.yaml");
    assert_eq!(json["templates"][0]["data"], STANDARD.encode("kind: X"));
    assert_eq!(json["files"][0]["name"], "README.md");
    assert_eq!(
        cache.encode(&chart, None).json().as_ptr(),
        stored.json().as_ptr()
    );
    drop(chart);
    let other = Arc::new(Chart::default());
    assert_eq!(cache.encode(&other, None).summary().name, "");
}

/// Text that hardly compresses.
fn noise(bytes: usize, seed: u64) -> String {
    let mut state = seed;
    let mut text = String::new();
    while text.len() < bytes {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!("{:016x}", state ^ (state >> 29)));
    }
    text
}

#[test]
fn a_record_over_the_limit_is_stored_without_the_files_of_its_chart() {
    let mut record = record(1, Status::Deployed, "---\n# Source: a\nkind: A\n");
    let chart = json!({
        "metadata": {"name": "web", "version": "1.0.0"}, "values": {"a": 1},
        "templates": [{"name": "t", "data": noise(60_000, 1)}], "files": [{"name": "f", "data": noise(60_000, 2)}],
    });
    record.chart = StoredChart::from_json(chart.to_string());
    let encoded = secret::encode_within(&record, Write::Update, now(), 10_000);
    assert!(encoded.parts.is_empty());
    assert_eq!(encoded.secret["metadata"]["labels"]["modifiedAt"], "0");
    let decoded = secret::decode(&encoded.secret).unwrap();
    let chart: Value = serde_json::from_str(decoded.chart.json()).unwrap();
    assert_eq!(chart["values"], json!({"a": 1}));
    assert_eq!(chart["templates"], json!([]));
    assert_eq!(decoded.manifest, record.manifest);
}

fn large_record() -> Record {
    let mut manifest = String::new();
    for number in 0..20 {
        let content = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{number}, namespace: other}}\ndata: {{a: \"{}\"}}",
            noise(5_000, number)
        );
        push_document(&mut manifest, "web/templates/a.yaml", &content);
    }
    push_document(
        &mut manifest,
        "web/templates/b.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}",
    );
    record(2, Status::PendingUpgrade, &manifest)
}

#[test]
fn a_truncated_record_lists_all_objects_and_is_completed_by_its_parts() {
    let record = large_record();
    let encoded = secret::encode_within(&record, Write::Create, now(), 20_000);
    assert!(encoded.parts.len() > 1);
    let first = secret::decode(&encoded.secret).unwrap();
    assert!(first.is_truncated);
    let names = |record: &Record| -> Vec<String> {
        let documents = record.documents();
        let ids = documents.iter().map(|(source, content)| {
            let object = outrigger_goyaml::parse_json(content.as_bytes()).unwrap();
            format!("{source} {}", crate::id::ObjectId::of(&object))
        });
        ids.collect()
    };
    assert_eq!(names(&first), names(&record));
    assert_eq!(secret::part_count(&encoded.secret), encoded.parts.len());
    let complete = secret::merge_parts(first, &encoded.parts).unwrap();
    assert_eq!(complete.manifest, record.manifest);
    assert!(!complete.is_truncated);
}

/// A Secret can hold 256 MiB of spaces.
#[test]
fn a_record_that_decompresses_to_more_than_the_limit_is_rejected() {
    let spaces = " ".repeat(payload::MAX_DECOMPRESSED_BYTES);
    let bomb = payload::encode(&chart::gzip(&[b"{}", spaces.as_bytes()]));
    let error = payload::decode(bomb.as_bytes()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the record has more than 32 MiB when it is decompressed"
    );
    let fits = payload::encode(&chart::gzip(&[b"{}", &spaces.as_bytes()[2..]]));
    payload::decode(fits.as_bytes()).unwrap();
}

#[test]
fn no_record_is_written_that_would_not_be_read() {
    let text = "a".repeat(payload::MAX_DECOMPRESSED_BYTES / 2);
    let mut manifest = String::new();
    for name in ["a", "b", "c"] {
        let content = format!("kind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: {text}}}");
        push_document(&mut manifest, "web/templates/a.yaml", &content);
    }
    let record = record(1, Status::Deployed, &manifest);
    let encoded = secret::encode(&record, Write::Create, now());
    let decoded = secret::decode(&encoded.secret).unwrap();
    assert!(decoded.is_truncated);
    assert_eq!(decoded.documents().len(), 3);
}

#[test]
fn the_number_of_parts_that_are_read_is_limited() {
    let secret = json!({"metadata": {"annotations": {"outrigger.dev/parts": "4000000000"}}});
    assert!(secret::part_count(&secret) < 40);
}

#[test]
fn parts_are_owned_by_the_first_secret_and_ignored_by_helm() {
    let record = large_record();
    let owner = json!({"metadata": {"name": "sh.helm.release.v1.web.v2", "uid": "u"}});
    let part = secret::part(&record, 1, b"data", &owner);
    assert_ne!(part["metadata"]["labels"]["owner"], "helm");
    assert_eq!(part["metadata"]["ownerReferences"][0]["uid"], "u");
    assert_eq!(secret::part_data(&part).unwrap(), b"data");
}

#[test]
fn statuses_have_helms_names() {
    assert_eq!(Status::parse("pending-rollback"), Status::PendingRollback);
    assert_eq!(Status::parse("strange"), Status::Unknown);
    assert_eq!(
        serde_json::to_value(Status::PendingInstall).unwrap(),
        "pending-install"
    );
}

#[test]
fn debug_output_contains_no_secrets() {
    let mut record = record(1, Status::Deployed, "password: hunter2");
    record
        .config
        .insert("password".to_owned(), json!("hunter2"));
    record.hooks = vec![Hook {
        manifest: "hunter2".to_owned(),
        ..Hook::default()
    }];
    assert!(!format!("{record:?} {:?}", record.hooks).contains("hunter2"));
}

//! How many requests things take.

use outrigger_release::Options;
use serde_json::json;

use crate::charts::chart;
use crate::stage::{Stage, deploy};

/// Ten objects, of which one has what the user says.
const MAPS: &str = r"{{- range $i := until 10 }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: m{{ $i }}}
data: {text: {{ if eq $i 0 }}{{ $.Values.v | quote }}{{ else }}same{{ end }}}
{{- end }}
";

#[tokio::test]
async fn an_object_costs_one_read_and_one_write_and_nothing_more() {
    let stage = Stage::open().await;
    let chart = chart(&[("templates/maps.yaml", MAPS)]);
    let (cluster, connection) = stage.recording();
    let options = Options::default();
    cluster.capabilities().await.unwrap();
    connection.take_requests();
    let run = |v: &'static str| {
        let (cluster, chart, options, id) = (&cluster, &chart, &options, &stage.id);
        async move {
            let values = json!({"v": v});
            deploy(cluster, id, chart, &values, options, &|_| {})
                .await
                .unwrap();
        }
    };
    run("1").await;
    let sent = connection.take_requests();
    let count = |verb: &str| {
        sent.iter()
            .filter(|request| request.starts_with(verb))
            .count()
    };
    // One list of records and ten reads; one record, ten objects, and the record once more.
    assert_eq!(
        (
            count("GET"),
            count("PATCH"),
            count("POST"),
            count("PUT"),
            sent.len()
        ),
        (11, 10, 1, 1, 23),
        "{sent:#?}"
    );
    run("1").await;
    let sent = connection.take_requests();
    // Nothing to do: the records, the objects, and no write.
    assert_eq!(sent.len(), 12, "{sent:#?}");
    assert!(sent.iter().all(|request| request.starts_with("GET")));
    run("2").await;
    let sent = connection.take_requests();
    let count = |verb: &str| {
        sent.iter()
            .filter(|request| request.starts_with(verb))
            .count()
    };
    // One object changed: one write for it, three for records.
    assert_eq!(
        (count("PATCH"), count("POST"), count("PUT")),
        (1, 1, 2),
        "{sent:#?}"
    );
    stage.close().await;
}

//! The number of requests per action.

use outrigger_release::Options;
use serde_json::json;

use crate::charts::chart;
use crate::harness::{Harness, deploy};

/// Ten objects of kind ConfigMap; the first contains a value.
const MAPS: &str = r"{{- range $i := until 10 }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: m{{ $i }}}
data: {text: {{ if eq $i 0 }}{{ $.Values.v | quote }}{{ else }}same{{ end }}}
{{- end }}
";

fn count(requests: &[String], verb: &str) -> usize {
    requests
        .iter()
        .filter(|request| request.starts_with(verb))
        .count()
}

#[tokio::test]
async fn a_changed_object_costs_one_read_and_one_write() {
    let harness = Harness::start().await;
    let chart = chart(&[("templates/maps.yaml", MAPS)]);
    let (cluster, connection) = harness.recording();
    let options = Options::default();
    cluster.capabilities().await.unwrap();
    connection.take_requests();
    let deploy_value = |v: &'static str| {
        let (cluster, chart, options, id) = (&cluster, &chart, &options, &harness.id);
        async move {
            let values = json!({"v": v});
            deploy(cluster, id, chart, &values, options, &|_| {})
                .await
                .unwrap();
        }
    };
    deploy_value("1").await;
    let sent = connection.take_requests();
    // A list of records, ten reads; the pending record, ten objects, the deployed record.
    assert_eq!(
        (
            count(&sent, "GET"),
            count(&sent, "PATCH"),
            count(&sent, "POST"),
            count(&sent, "PUT"),
            sent.len()
        ),
        (11, 10, 1, 1, 23),
        "{sent:#?}"
    );
    deploy_value("1").await;
    let sent = connection.take_requests();
    // Up to date: the list of records, one record, ten reads.
    assert_eq!(sent.len(), 12, "{sent:#?}");
    assert!(sent.iter().all(|request| request.starts_with("GET")));
    deploy_value("2").await;
    let sent = connection.take_requests();
    // One changed object; the pending, the deployed and the superseded record.
    assert_eq!(
        (
            count(&sent, "PATCH"),
            count(&sent, "POST"),
            count(&sent, "PUT")
        ),
        (1, 1, 2),
        "{sent:#?}"
    );
    harness.stop().await;
}

//! CRDs of the `crds` directories of several charts.

use std::sync::Arc;

use outrigger_chart::Chart;
use outrigger_release::{ActionError, CrdPolicy, Options, ReleaseId};
use serde_json::json;

use crate::charts::chart;
use crate::harness::{Harness, deploy};

const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/dings.ex.io";

fn definition(field: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: dings.ex.io}}\nspec: \
         {{group: ex.io, scope: Namespaced, names: {{kind: Ding, plural: dings}}, versions: [{{name: v1, served: true, \
         storage: true, schema: {{openAPIV3Schema: {{type: object, properties: {{{field}: {{type: string}}}}}}}}}}]}}\n"
    )
}

/// A chart whose `crds` directory defines a kind with this field.
fn with_crd(name: &str, field: &str) -> Arc<Chart> {
    let map = format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}\n");
    chart(&[
        ("crds/c.yaml", &definition(field)),
        ("templates/m.yaml", &map),
    ])
}

async fn field(harness: &Harness) -> String {
    let crd = harness.get(CRD).await.unwrap();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    schema.as_object().unwrap().keys().next().unwrap().clone()
}

fn options() -> Options {
    Options {
        crds: CrdPolicy::Replace,
        ..Options::default()
    }
}

async fn deploy_as(harness: &Harness, name: &str, field: &str) -> Result<(), ActionError> {
    let (id, values) = (ReleaseId::new("default", name), json!({}));
    let chart = with_crd(name, field);
    let deployed = deploy(&harness.cluster, &id, &chart, &values, &options(), &|_| {}).await;
    deployed.map(drop)
}

#[tokio::test]
async fn a_crd_that_another_release_replaces_is_refused() {
    let harness = Harness::start().await;
    deploy_as(&harness, "first", "a").await.unwrap();
    let error = deploy_as(&harness, "second", "b").await.unwrap_err();
    assert!(matches!(error, ActionError::Rejected(_)), "{error:?}");
    let text = error.full_message();
    assert!(
        text.contains("\"dings.ex.io\"") && text.contains("it belongs to release default/first"),
        "{text}"
    );
    assert_eq!(field(&harness).await, "a");
    assert_eq!(
        harness
            .get("/api/v1/namespaces/default/configmaps/second")
            .await,
        None
    );
    // The same definition is no conflict, and the owner may change its own.
    deploy_as(&harness, "third", "a").await.unwrap();
    deploy_as(&harness, "first", "c").await.unwrap();
    assert_eq!(field(&harness).await, "c");
    // A definition whose owner is gone may be replaced.
    let first = ReleaseId::new("default", "first");
    let (cluster, options) = (&harness.cluster, options());
    let uninstalled = outrigger_release::uninstall(cluster, &first, &[], &options, &|_| {});
    uninstalled.await.unwrap();
    deploy_as(&harness, "second", "b").await.unwrap();
    assert_eq!(field(&harness).await, "b");
    harness.stop().await;
}

#[tokio::test]
async fn a_crd_in_the_templates_of_another_release_is_not_replaced() {
    let harness = Harness::start().await;
    let owner = chart(&[("templates/c.yaml", &definition("a"))]);
    harness
        .deploy(&owner, &json!({}), &Options::default())
        .await
        .unwrap();
    let error = deploy_as(&harness, "second", "b").await.unwrap_err();
    assert!(matches!(error, ActionError::Rejected(_)), "{error:?}");
    assert_eq!(field(&harness).await, "a");
    harness.stop().await;
}

//! Our CRDs on a real and on the embedded API server: both accept them and enforce their validation rules.

use std::time::Duration;

use anyhow::{Context as _, bail};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, PostParams};
use kube::core::ApiResource;
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::cluster::Cluster;
use outrigger_api::compat::ForeignKind;
use outrigger_api::plugin::Plugin;
use outrigger_api::{compat, definitions};
use outrigger_apiserver::server::{self, Server};
use outrigger_testing::kubernetes::{Options, RealKubernetes};
use serde_json::{Value, json};

const TIMEOUT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_real_api_server_enforces_the_rules_of_our_crds() -> anyhow::Result<()> {
    let kubernetes = RealKubernetes::start(Options::default()).await?;
    check_crds(&kubernetes.client()).await
}

#[tokio::test]
async fn the_embedded_api_server_enforces_the_rules_of_our_crds() -> anyhow::Result<()> {
    let server = Server::open(server::Options::in_memory()).await?;
    check_crds(&Client::new(server.service(), "default")).await?;
    server.close().await;
    Ok(())
}

async fn check_crds(client: &Client) -> anyhow::Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let ours = definitions().into_iter().chain(compat::definitions());
    for definition in ours {
        let name = definition.name_any();
        api.create(&PostParams::default(), &definition)
            .await
            .with_context(|| format!("{name} is rejected"))?;
        let established = await_condition(api.clone(), &name, conditions::is_crd_established());
        tokio::time::timeout(TIMEOUT, established).await??;
    }
    check_rules(client).await?;
    check_foreign_objects(client).await
}

/// Checks that invalid plugins are rejected with the right message.
async fn check_rules(client: &Client) -> anyhow::Result<()> {
    let plugins: Api<Plugin> = Api::default_namespaced(client.clone());
    let values = json!([{"kind": "Secret", "name": "s", "key": "k", "targetPath": "a"}]);
    let spec = json!({"repo": "https://charts.example.com", "valuesFrom": values});
    let valid = plugin("valid", &spec)?;
    let created = plugins.create(&PostParams::default(), &valid).await?;
    assert!(created.spec.enabled);
    let invalid = [
        (json!({"timeout": "5 minutes"}), "spec.timeout"),
        (json!({"releaseName": "Web"}), "spec.releaseName"),
        (
            json!({"dependencies": [{"name": ""}]}),
            "spec.dependencies[0].name",
        ),
        (json!({"history": 0}), "spec.history"),
        (
            json!({"required": true, "enabled": false}),
            "a required plugin cannot be disabled",
        ),
        (
            json!({"resources": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}]}),
            "resources are only allowed for plugins of kind manifests",
        ),
        (
            json!({"valuesFrom": [{"kind": "Secret", "name": "s", "targetPath": "a"}]}),
            "targetPath requires key",
        ),
        (
            json!({"valuesFrom": [{"kind": "Secret", "name": "s", "key": "k", "prefix": "p"}]}),
            "prefix applies to all keys",
        ),
    ];
    for (spec, message) in invalid {
        let created = plugins
            .create(&PostParams::default(), &plugin("invalid", &spec)?)
            .await;
        ensure_rejected(created.err(), message)?;
    }
    for field in ["releaseName", "installNamespace"] {
        let mut changed = serde_json::to_value(plugins.get("valid").await?)?;
        changed["spec"][field] = json!("other");
        let changed: Plugin = serde_json::from_value(changed)?;
        let replaced = plugins
            .replace("valid", &PostParams::default(), &changed)
            .await;
        ensure_rejected(replaced.err(), &format!("{field} is immutable"))?;
    }
    check_timeouts(client).await
}

/// Checks that hooks cannot have a timeout that no clock measures.
async fn check_timeouts(client: &Client) -> anyhow::Result<()> {
    let clusters: Api<Cluster> = Api::all(client.clone());
    for (timeout, message) in [
        ("0s", "must be greater than zero, and at most 8760h"),
        ("8761h", "must be greater than zero, and at most 8760h"),
        ("9999999999h", "spec.features.hookTimeout"),
        ("soon", "spec.features.hookTimeout"),
    ] {
        let cluster = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "a"},
            "spec": {
                "version": "1.0.0", "features": {"hookTimeout": timeout},
                "machines": [{"ip": "10.0.0.1", "password": "eA=="}],
            },
        });
        let cluster: Cluster = serde_json::from_value(cluster)?;
        let created = clusters.create(&PostParams::default(), &cluster).await;
        ensure_rejected(created.err(), message)?;
    }
    Ok(())
}

fn plugin(name: &str, spec: &Value) -> anyhow::Result<Plugin> {
    let object = json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin",
        "metadata": {"name": name}, "spec": spec,
    });
    Ok(serde_json::from_value(object)?)
}

fn ensure_rejected(error: Option<kube::Error>, message: &str) -> anyhow::Result<()> {
    match error {
        Some(kube::Error::Api(status))
            if status.code == 422 && status.message.contains(message) =>
        {
            Ok(())
        }
        other => bail!("not rejected with {message:?}, but {other:?}"),
    }
}

/// Checks that objects of other systems are stored without changes and can be converted.
async fn check_foreign_objects(client: &Client) -> anyhow::Result<()> {
    let app = json!({"type": "HelmV3", "name": "demo", "targetCluster": "global", "chart": {"chartName": "web"}});
    let specs = [
        (
            ForeignKind::KubeGemsPlugin,
            json!({"enabled": true, "kind": "helm", "repo": "https://charts.example.com", "name": "component-a", "version": "v1.0.0", "values": {"a": {"b": 1}}}),
        ),
        (
            ForeignKind::KubeGemsPlugin,
            json!({"disabled": false, "url": "https://charts.example.com", "chart": "x", "dependencies": [{"kind": "Plugin", "name": "a"}]}),
        ),
        (
            ForeignKind::KubeGemsBundle,
            json!({"url": "https://charts.example.com", "chart": "x"}),
        ),
        (ForeignKind::TkestackApp, app),
    ];
    for (index, (foreign, spec)) in specs.into_iter().enumerate() {
        let resource: ApiResource = foreign.resource();
        let api: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
        let mut object = DynamicObject::new(&format!("foreign-{index}"), &resource);
        object.data = json!({"spec": spec});
        let stored = api.create(&PostParams::default(), &object).await?;
        assert_eq!(stored.data["spec"], spec);
        foreign.convert(serde_json::to_value(&stored)?)?;
    }
    Ok(())
}

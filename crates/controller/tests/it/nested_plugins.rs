//! Charts that render plugins, which form trees of plugins.

use std::collections::BTreeMap;

use kube::ResourceExt as _;
use outrigger_api::plugin::Phase;
use outrigger_testing::embedded_api::charts;
use serde_json::json;

use crate::harness::Harness;

const CHILDREN: &str = "\
{{- range .Values.children }}
---
apiVersion: outrigger.dev/v1beta1
kind: Plugin
metadata:
  name: {{ .name }}
spec:
  {{- toYaml .spec | nindent 2 }}
{{- end }}
";

/// Creates a tree of three levels with two leaves, one of which depends on the other.
async fn create_tree(harness: &Harness) {
    charts::write(
        harness.charts.path(),
        "bundle",
        "1.0.0",
        &[("plugins.yaml", CHILDREN)],
    );
    let repo = harness.repo();
    let leaf = |dependencies: serde_json::Value| json!({"repo": repo, "chart": "web", "dependencies": dependencies});
    let inner = json!({"kind": "template", "repo": repo, "chart": "bundle", "values": {"children": [
        {"name": "leaf-one", "spec": leaf(json!([]))},
        {"name": "leaf-two", "spec": leaf(json!([{"name": "leaf-one"}]))},
    ]}});
    let spec =
        json!({"kind": "template", "values": {"children": [{"name": "inner", "spec": inner}]}});
    harness.create("outer", "bundle", spec).await;
}

#[tokio::test]
async fn a_tree_becomes_ready_from_the_leaves_and_counts_its_children() {
    // With one slot, a parent that waits for its children must not occupy it.
    let harness = Harness::with(|options| options.max_concurrent_reconciles = 1).await;
    create_tree(&harness).await;
    let outer = harness.until_ready("outer").await;
    let inner = harness.get("inner").await;
    assert_eq!(inner.phase(), Phase::Ready);
    assert_eq!(harness.get("leaf-two").await.phase(), Phase::Ready);
    let children = |plugin: &outrigger_api::plugin::Plugin| plugin.status.clone().unwrap().children;
    assert_eq!(children(&outer), BTreeMap::from([("Ready".to_owned(), 1)]));
    assert_eq!(children(&inner), BTreeMap::from([("Ready".to_owned(), 2)]));

    harness.delete("outer").await;
    for name in ["outer", "inner", "leaf-one", "leaf-two"] {
        harness.until_deleted(name).await;
    }
    assert_eq!(harness.release_objects().await, [""; 0]);
    harness.close().await;
}

#[tokio::test]
async fn an_unhealthy_child_degrades_its_ancestors() {
    let harness = Harness::new().await;
    create_tree(&harness).await;
    harness.until_ready("outer").await;
    let deployments = harness.objects("apps/v1", "Deployment");
    let patch = json!({"spec": {"template": {"metadata": {"annotations": {"outrigger.dev/simulate": "never-ready"}}}}});
    let patch = kube::api::Patch::Merge(patch);
    deployments
        .patch("leaf-one", &Default::default(), &patch)
        .await
        .unwrap();
    let outer = harness.until_phase("outer", Phase::Degraded).await;
    let message = &outer.condition("Healthy").unwrap().message;
    assert!(message.contains("Plugin default/inner"), "{message}");
    harness.close().await;
}

#[tokio::test]
async fn a_child_that_is_no_longer_rendered_is_deleted() {
    let harness = Harness::new().await;
    charts::write(
        harness.charts.path(),
        "bundle",
        "1.0.0",
        &[("plugins.yaml", CHILDREN)],
    );
    let child =
        |name: &str| json!({"name": name, "spec": {"repo": harness.repo(), "chart": "config"}});
    let children = |names: &[&str]| {
        let children: Vec<_> = names.iter().map(|name| child(name)).collect();
        json!({"kind": "template", "values": {"children": children}})
    };
    harness
        .create("all", "bundle", children(&["one", "two"]))
        .await;
    harness.until_ready("all").await;
    harness
        .patch("all", json!({"spec": children(&["one"])}))
        .await;
    harness.until_deleted("two").await;
    let all = harness.until_ready("all").await;
    assert_eq!(all.status.unwrap().inventory.len(), 1);
    assert_eq!(
        harness.get("one").await.annotations()["meta.helm.sh/release-name"],
        "all"
    );
    harness.close().await;
}

/// Each plugin of this chart creates another one of it.
const RECURSIVE: &str = "\
apiVersion: outrigger.dev/v1beta1
kind: Plugin
metadata:
  name: {{ .Release.Name }}-a
spec:
  kind: template
  repo: {{ .Values.repo }}
  chart: recursive
  values: {repo: {{ .Values.repo | quote }}}
";

#[tokio::test]
async fn a_chart_that_creates_itself_stops_at_a_depth_and_is_named() {
    let harness = Harness::new().await;
    let files = [("plugin.yaml", RECURSIVE)];
    charts::write(harness.charts.path(), "recursive", "1.0.0", &files);
    let spec = json!({"kind": "template", "values": {"repo": harness.repo()}});
    harness.create("x", "recursive", spec).await;
    let deepest = "x-a-a-a-a-a-a-a-a";
    let message = harness.until_reason(deepest, "NestingTooDeep").await;
    assert_eq!(
        message,
        "its chart would create plugins 9 levels below plugin default/x, more than 8: x → x-a → x-a-a → x-a-a-a → \
         x-a-a-a-a → x-a-a-a-a-a → x-a-a-a-a-a-a → x-a-a-a-a-a-a-a → x-a-a-a-a-a-a-a-a"
    );
    assert_eq!(harness.get(deepest).await.phase(), Phase::Failed);
    // The plugin of the user repeats the reason.
    let root = harness.until_phase("x", Phase::Failed).await;
    let message = &root.condition("Ready").unwrap().message;
    assert!(message.contains("more than 8"), "{message}");
    harness.close().await;
}

#[tokio::test]
async fn a_plugin_has_a_limited_number_of_descendants() {
    let harness = Harness::new().await;
    let template = "\
{{- range until 501 }}
---
apiVersion: outrigger.dev/v1beta1
kind: Plugin
metadata:
  name: child-{{ . }}
spec: {enabled: false}
{{- end }}
";
    let files = [("plugins.yaml", template)];
    charts::write(harness.charts.path(), "many", "1.0.0", &files);
    harness
        .create("x", "many", json!({"kind": "template"}))
        .await;
    let message = harness.until_reason("x", "TooManyPlugins").await;
    assert_eq!(
        message,
        "its chart would create 501 plugins, and plugin default/x 501 on all levels, more than 500"
    );
    let plugins = harness.plugins().list(&Default::default()).await.unwrap();
    assert_eq!(plugins.items.len(), 1);
    harness.close().await;
}

#[tokio::test]
async fn a_hook_cannot_create_a_plugin() {
    let harness = Harness::new().await;
    let template = "\
apiVersion: outrigger.dev/v1beta1
kind: Plugin
metadata:
  name: child
  annotations: {helm.sh/hook: post-install}
spec: {enabled: false}
";
    charts::write(
        harness.charts.path(),
        "hook",
        "1.0.0",
        &[("plugin.yaml", template)],
    );
    harness.create("x", "hook", json!({})).await;
    let message = harness.until_reason("x", "HooksRefused").await;
    assert_eq!(
        message,
        "Plugin child is a hook, but hooks cannot create plugins"
    );
    harness.close().await;
}

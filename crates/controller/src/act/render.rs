//! Renders the fetched chart, or parses the manifests, into the desired release.

use outrigger_api::plugin::{Plugin, PluginKind};
use outrigger_api::reason::Reason;
use outrigger_chart::manifest::hook::Event;
use outrigger_release::{ChartSummary, Desired, History, RenderOptions};
use outrigger_repository::Manifests;
use serde_json::Value;

use super::{crd_policy, release_id};
use crate::conditions::{Cause, RENDERED};
use crate::error::ReconcileError;
use crate::file_overrides;
use crate::observe::ResolvedInputs;
use crate::sources::SourceContent;

/// The history of a release, and its desired state.
pub(super) struct Rendered {
    pub(super) history: History,
    pub(super) desired: Desired,
}

pub(super) async fn render(
    controller: &crate::Options,
    plugin: &Plugin,
    inputs: &ResolvedInputs,
) -> Result<Rendered, ReconcileError> {
    let cluster = &inputs.target.cluster;
    let history = outrigger_release::load_history_cached(cluster, &release_id(plugin)).await;
    let history = history.map_err(|error| render_failed(&error))?;
    let mut desired = match &inputs.content {
        SourceContent::Chart(fetched) => {
            let chart = file_overrides::apply(&fetched.chart, &plugin.spec.file_overrides)?;
            let options = RenderOptions {
                crds: crd_policy(plugin),
                image_registry: inputs.image_registry.clone(),
                // The definitions may come with a plugin that this one renders.
                defer_unknown_kinds: plugin.spec.kind == PluginKind::Template,
                now: controller.now,
            };
            let values = &inputs.values.0;
            outrigger_release::render(cluster, &history, &chart, values, &options).await
        }
        SourceContent::Manifests(files) => {
            let objects = parse_manifests(plugin, files.as_ref())?;
            let summary = ChartSummary {
                name: plugin.chart_name().to_owned(),
                version: plugin
                    .spec
                    .version
                    .clone()
                    .unwrap_or_else(|| "0.0.0".to_owned()),
                app_version: String::new(),
            };
            outrigger_release::from_manifests(cluster, &history, summary, objects).await
        }
    }
    .map_err(|error| render_failed(&error))?;
    if let (SourceContent::Manifests(_), Some(registry)) = (&inputs.content, &inputs.image_registry)
    {
        let relocated = desired.relocate_images(registry);
        relocated.map_err(|error| render_failed(&error))?;
    }
    reject_hooks(plugin, &desired)?;
    Ok(Rendered { history, desired })
}

fn render_failed(error: &outrigger_release::Error) -> ReconcileError {
    ReconcileError::from_release(RENDERED, Reason::RenderFailed, error)
}

/// Plugins of kind `template` cannot run hooks. A chart that has some is rejected, not installed without them.
fn reject_hooks(plugin: &Plugin, desired: &Desired) -> Result<(), ReconcileError> {
    if plugin.spec.kind != PluginKind::Template {
        return Ok(());
    }
    let hooks = desired
        .hooks()
        .iter()
        .filter(|hook| !hook.runs_at(Event::Test));
    let names: Vec<String> = hooks
        .map(|hook| format!("{} {}", hook.kind, hook.name))
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(ReconcileError::Rejected(Cause::new(
        Reason::HooksRefused,
        format!(
            "plugins of kind template cannot have hooks, but the chart has {}; use kind helm",
            names.join(", ")
        ),
    )))
}

/// The objects of the files, then those in the spec.
fn parse_manifests(
    plugin: &Plugin,
    files: Option<&Manifests>,
) -> Result<Vec<Value>, ReconcileError> {
    let mut objects = Vec::new();
    for file in files.iter().flat_map(|files| &files.files) {
        for document in outrigger_goyaml::documents(&file.data) {
            let text = document.map_err(|error| invalid_manifest(&file.name, &error))?;
            let value = outrigger_goyaml::parse_json(&text)
                .map_err(|error| invalid_manifest(&file.name, &error))?;
            push_objects(&mut objects, value);
        }
    }
    for object in &plugin.spec.resources {
        push_objects(&mut objects, object.clone());
    }
    Ok(objects)
}

/// Adds an object, or the items of a list. Skips empty documents.
fn push_objects(objects: &mut Vec<Value>, value: Value) {
    let is_list = value["kind"]
        .as_str()
        .is_some_and(|kind| kind.ends_with("List"));
    match value {
        Value::Null => {}
        Value::Object(mut list) if is_list && list.contains_key("items") => {
            if let Some(Value::Array(items)) = list.remove("items") {
                objects.extend(items);
            }
        }
        value => objects.push(value),
    }
}

fn invalid_manifest(file: &str, error: &dyn std::error::Error) -> ReconcileError {
    ReconcileError::Failed {
        condition: RENDERED,
        cause: Cause::new(
            Reason::BadManifest,
            format!("failed to parse {file}: {error}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use outrigger_api::plugin::PluginSpec;
    use outrigger_chart::File;
    use serde_json::json;

    use super::*;

    #[test]
    fn files_come_before_inline_resources_and_lists_are_flattened() {
        let plugin = Plugin::new(
            "a",
            PluginSpec {
                resources: vec![json!({"kind": "Secret"})],
                ..PluginSpec::default()
            },
        );
        let text =
            "kind: ConfigMap\n---\n\n---\nkind: List\nitems: [{kind: Role}, {kind: Service}]\n";
        let files = Manifests {
            files: vec![File::new("a.yaml", text.as_bytes())],
            digest: String::new(),
        };
        let objects = parse_manifests(&plugin, Some(&files)).unwrap();
        let kinds: Vec<&str> = objects
            .iter()
            .filter_map(|object| object["kind"].as_str())
            .collect();
        assert_eq!(kinds, ["ConfigMap", "Role", "Service", "Secret"]);
    }
}

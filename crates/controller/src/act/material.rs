//! From what a plugin is made of to the objects that it should have.

use outrigger_api::plugin::{Plugin, PluginKind};
use outrigger_chart::manifest::hook::Event;
use outrigger_release::{ChartSummary, Desired, History, RenderOptions};
use outrigger_repository::Manifests;
use serde_json::Value;

use super::{crds, not_rendered, release_id};
use crate::conditions::RENDERED;
use crate::decide::Obstacle;
use crate::file_overrides;
use crate::observe::Wanted;
use crate::sources::Material;
use crate::trouble::Trouble;

/// What a release was and what it should be.
pub(super) struct Made {
    pub(super) past: History,
    pub(super) desired: Desired,
}

/// Renders the chart, or reads the manifests.
pub(super) async fn desired(
    controller: &crate::Options,
    plugin: &Plugin,
    wanted: &Wanted,
) -> Result<Made, Trouble> {
    let cluster = &wanted.target.cluster;
    let past = outrigger_release::load_history_cached(cluster, &release_id(plugin)).await;
    let past = past.map_err(|error| not_rendered(&error))?;
    let mut desired = match &wanted.material {
        Material::Chart(fetched) => {
            let chart = file_overrides::put(&fetched.chart, &plugin.spec.file_overrides)?;
            let rendering = RenderOptions {
                crds: crds(plugin),
                image_registry: wanted.image_registry.clone(),
                now: controller.now,
            };
            let values = &wanted.values.0;
            outrigger_release::render(cluster, &past, &chart, values, &rendering).await
        }
        Material::Manifests(files) => {
            let objects = objects(plugin, files.as_ref())?;
            let title = ChartSummary {
                name: plugin.chart_name().to_owned(),
                version: plugin
                    .spec
                    .version
                    .clone()
                    .unwrap_or_else(|| "0.0.0".to_owned()),
                app_version: String::new(),
            };
            outrigger_release::from_manifests(cluster, &past, title, objects).await
        }
    }
    .map_err(|error| not_rendered(&error))?;
    if let (Material::Manifests(_), Some(registry)) = (&wanted.material, &wanted.image_registry) {
        let relocated = desired.relocate_images(registry);
        relocated.map_err(|error| not_rendered(&error))?;
    }
    refuse_hooks(plugin, &desired)?;
    Ok(Made { past, desired })
}

/// Plugins of kind `template` have no hooks; they are not left out in silence.
fn refuse_hooks(plugin: &Plugin, desired: &Desired) -> Result<(), Trouble> {
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
    Err(Trouble::Refuse(Obstacle::new(
        "HooksRefused",
        format!(
            "plugins of kind template cannot have hooks, but the chart has {}; use kind helm",
            names.join(", ")
        ),
    )))
}

/// The objects of the files, then those of the plugin itself.
fn objects(plugin: &Plugin, files: Option<&Manifests>) -> Result<Vec<Value>, Trouble> {
    let mut objects = Vec::new();
    for file in files.iter().flat_map(|files| &files.files) {
        for document in outrigger_goyaml::documents(&file.data) {
            let value = document
                .map_err(|error| error.to_string())
                .and_then(|text| {
                    outrigger_goyaml::parse_json(&text).map_err(|error| error.to_string())
                })
                .map_err(|why| bad_manifest(&file.name, &why))?;
            add(&mut objects, value);
        }
    }
    for object in &plugin.spec.resources {
        add(&mut objects, object.clone());
    }
    Ok(objects)
}

/// A list stands for its items; an empty document for nothing.
fn add(objects: &mut Vec<Value>, value: Value) {
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

fn bad_manifest(file: &str, why: &str) -> Trouble {
    Trouble::Failed {
        condition: RENDERED,
        obstacle: Obstacle::new("BadManifest", format!("{file} cannot be read: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use outrigger_api::plugin::PluginSpec;
    use outrigger_chart::File;
    use serde_json::json;

    use super::*;

    #[test]
    fn files_come_before_inline_objects_and_lists_are_opened() {
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
        let objects = objects(&plugin, Some(&files)).unwrap();
        let kinds: Vec<&str> = objects
            .iter()
            .filter_map(|object| object["kind"].as_str())
            .collect();
        assert_eq!(kinds, ["ConfigMap", "Role", "Service", "Secret"]);
    }
}

//! The lint rules for templates and rendered manifests.

use outrigger_gotmpl::ParseCache;
use outrigger_gotmpl::function::Host;
use outrigger_gotmpl::value::Map;

use super::{LintOptions, Linter, Severity, deprecation, object_name};
use crate::chart::Chart;
use crate::chart_tree::ChartTree;
use crate::coalesce::Nulls;
use crate::context::Release;
use crate::decode::{Decoder, TypeError};
use crate::profile::Profile;
use crate::render::{RenderOptions, render_files};
use crate::yaml_value::YamlValue;
use crate::{coalesce, dependencies, schema, yaml};
use outrigger_gostd::path;

const FOLDER: &str = "templates/";

/// Renders the chart in lint mode and checks each of its templates.
pub(super) fn check(
    linter: &mut Linter,
    chart: &Chart,
    values: &Map,
    options: &LintOptions,
    host: &dyn Host,
) {
    let profile = options.profile;
    let mut quiet = |_: String| {};
    let mut tree = ChartTree::new(chart);
    if dependencies::process(&mut tree, values, profile, &mut quiet).is_err() {
        return;
    }
    let Ok(values) = coalesce::coalesce(
        &tree,
        ChartTree::ROOT,
        values,
        Nulls::Remove,
        profile,
        &mut quiet,
    ) else {
        return;
    };
    let values = match coalesce::coalesce(
        &tree,
        ChartTree::ROOT,
        &values,
        Nulls::Remove,
        profile,
        &mut quiet,
    ) {
        Ok(values) => values,
        Err(error) => return linter.push(Severity::Error, FOLDER, error.to_string()),
    };
    if !options.skip_schema
        && let Err(error) = schema::validate(&tree, &values, profile)
    {
        return linter.push(Severity::Error, FOLDER, error.to_string());
    }
    let mut render = RenderOptions::new(profile, "test-release", options.namespace.as_str());
    render.release = Release {
        revision: 0,
        operation: None,
        ..render.release
    };
    render.lint = true;
    if let Some(kube_version) = &options.kube_version {
        render.capabilities.kube_version = kube_version.clone();
    }
    let rendered = match render_files(&tree, &values, &render, host, &mut ParseCache::default()) {
        Ok(rendered) => rendered,
        Err(error) => return linter.push(Severity::Error, FOLDER, error.to_string()),
    };
    for template in &chart.templates {
        let text = rendered.get(&path::join(chart.name(), &template.name));
        let text = text.map_or_else(String::new, |text| {
            String::from_utf8_lossy(text).into_owned()
        });
        check_source(linter, &template.name, &template.data, profile);
        if is_manifest(&template.name, profile)
            && !text.trim().is_empty()
            && !check_manifest(linter, &template.name, &text, &render, profile)
        {
            return;
        }
    }
}

fn check_source(linter: &mut Linter, name: &str, data: &[u8], profile: Profile) {
    let extension = path::ext(name);
    if ![".yaml", ".yml", ".tpl", ".txt"].contains(&extension) {
        linter.push(
            Severity::Error,
            name,
            format!("file extension '{extension}' not valid. Valid extensions are .yaml, .yml, .tpl, or .txt"),
        );
    }
    if profile == Profile::Helm4 {
        return;
    }
    let text = String::from_utf8_lossy(data);
    if has_crd_hook(&text) {
        linter.push(Severity::Warning, name, "manifest is a crd-install hook. This hook is no longer supported in v3 and all CRDs should also exist the crds/ directory at the top level of the chart".to_owned());
    }
    if text.contains(".Release.Time") {
        linter.push(Severity::Error, name, ".Release.Time has been removed in v3, please replace with the `now` function in your templates".to_owned());
    }
}

fn has_crd_hook(text: &str) -> bool {
    text.match_indices("helm.sh/hook").any(|(start, key)| {
        let rest = &text[start + key.len()..];
        let rest = rest.strip_prefix('"').unwrap_or(rest);
        rest.strip_prefix(':').is_some_and(|rest| {
            rest.starts_with(|c: char| c.is_ascii_whitespace())
                && rest.trim_ascii_start().starts_with("crd-install")
        })
    })
}

fn is_manifest(name: &str, profile: Profile) -> bool {
    let extension = path::ext(name);
    match profile {
        Profile::Helm3 => extension == ".yaml",
        Profile::Helm4 => [".yaml", ".yml"]
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known)),
    }
}

/// Returns false if the YAML does not parse, which stops the linting of templates.
fn check_manifest(
    linter: &mut Linter,
    name: &str,
    text: &str,
    render: &RenderOptions,
    profile: Profile,
) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty());
    if let Some(line) = first.filter(|line| line.starts_with([' ', '\t'])) {
        let line = outrigger_gostd::strconv::quote(line);
        let text = format!(
            "document starts with an illegal indent: {line}, which may cause parsing problems"
        );
        linter.push(Severity::Warning, name, text);
    }
    for document in objects(text.as_bytes()) {
        let object = match document {
            Ok(Some(object)) => object,
            Ok(None) => continue,
            Err(error) => {
                linter.push(
                    Severity::Error,
                    name,
                    format!("unable to parse YAML: {error}"),
                );
                return false;
            }
        };
        if let Some(error) = object_name::error(&object.kind, &object.name) {
            linter.push(Severity::Warning, name, error);
        }
        let kube = &render.capabilities.kube_version;
        if let Some(warning) =
            deprecation::warning(&object.api_version, &object.kind, kube, profile)
        {
            linter.push(Severity::Warning, name, warning);
        }
        if let Some(error) = missing_selector(&object, text) {
            linter.push(Severity::Error, name, error);
        }
        if object.kind == "List" && has_annotated_items(text) {
            let annotation = profile.rules().list_annotation_word;
            let text =
                format!("{annotation} 'helm.sh/resource-policy' within List objects are ignored");
            linter.push(Severity::Error, name, text);
        }
    }
    true
}

/// The fields of an object that the rules check.
#[derive(Debug, Default)]
pub(super) struct Object {
    pub(super) api_version: String,
    pub(super) kind: String,
    name: String,
}

/// Why an object of a file cannot be read, with Helm's message.
#[derive(Debug, thiserror::Error)]
pub(super) enum ObjectError {
    #[error(transparent)]
    Separator(#[from] outrigger_goyaml::SeparatorError),
    #[error(transparent)]
    Yaml(#[from] yaml::ReadError),
    #[error(transparent)]
    Type(#[from] TypeError),
}

/// The objects of a file; `None` for an empty document.
pub(super) fn objects(text: &[u8]) -> impl Iterator<Item = Result<Option<Object>, ObjectError>> {
    outrigger_goyaml::documents(text).map(|document| {
        let node = yaml::read(&document?)?;
        if node == YamlValue::Null {
            return Ok(None);
        }
        let mut object = Object::default();
        let mut decoder = Decoder::default();
        decoder.object(
            &node,
            "K8sYamlStruct",
            "rules.K8sYamlStruct",
            |decoder, key, value| match key.to_ascii_lowercase().as_str() {
                "apiversion" => decoder.string("apiVersion", value, &mut object.api_version),
                "kind" => decoder.string("Kind", value, &mut object.kind),
                "metadata" => decoder.object(
                    value,
                    "k8sYamlMetadata",
                    "rules.k8sYamlMetadata",
                    |decoder, key, value| {
                        if key.eq_ignore_ascii_case("name") {
                            decoder.string("Name", value, &mut object.name);
                        }
                    },
                ),
                _ => {}
            },
        );
        Ok(decoder.finish(Some(object))?)
    })
}

fn missing_selector(object: &Object, text: &str) -> Option<String> {
    let requires_selector = matches!(
        object.kind.as_str(),
        "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet"
    );
    let has_selector = text.contains("matchLabels") || text.contains("matchExpressions");
    (requires_selector && !has_selector).then(|| {
        let name = outrigger_gostd::strconv::quote(&object.name);
        format!(
            "a {} must contain matchLabels or matchExpressions, and {name} does not",
            object.kind
        )
    })
}

fn has_annotated_items(text: &str) -> bool {
    let Ok(node) = yaml::read(text.as_bytes()) else {
        return false;
    };
    let items = node
        .get("items")
        .and_then(YamlValue::as_list)
        .unwrap_or_default();
    items.iter().any(|item| {
        let annotations = item
            .get("metadata")
            .and_then(|metadata| metadata.get("annotations"));
        annotations.is_some_and(|annotations| annotations.get("helm.sh/resource-policy").is_some())
    })
}

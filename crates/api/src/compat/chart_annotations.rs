//! Converts charts of KubeGems' catalog to plugins, from the annotations of their `Chart.yaml`.

use outrigger_chart::Metadata;
use outrigger_gostd::semver::Constraint;

use super::Error;
use crate::plugin::{Dependency, PluginKind, PluginSpec, ValuesFrom, ValuesKind};

const PREFIX: &str = "plugins.kubegems.io/";

/// The plugin whose values all others receive.
const GLOBAL: &str = "global";

/// The plugin that installs a chart of the catalog. `None` if the chart is not annotated as a plugin.
///
/// `health-check` is ignored, since every object is watched; `category` and `description` are only for display.
pub fn plugin(chart: &Metadata, repo: &str) -> Result<Option<PluginSpec>, Error> {
    if annotation(chart, "is-plugin") != Some("true") {
        return Ok(None);
    }
    let mut values_from = Vec::new();
    if chart.name != GLOBAL {
        values_from.push(exported_by(GLOBAL));
    }
    let sources = annotation(chart, "values-from").unwrap_or_default();
    for source in items(sources) {
        let name = source.rsplit('/').next().unwrap_or(source);
        values_from.push(exported_by(name));
    }
    Ok(Some(PluginSpec {
        enabled: true,
        kind: kind(chart)?,
        repo: Some(repo.to_owned()),
        chart: Some(chart.name.clone()),
        version: Some(chart.version.clone()),
        install_namespace: annotation(chart, "install-namespace").map(ToOwned::to_owned),
        dependencies: requirements(chart)?,
        values_from,
        required: annotation(chart, "required") == Some("true"),
        ..PluginSpec::default()
    }))
}

fn annotation<'a>(chart: &'a Metadata, name: &str) -> Option<&'a str> {
    let mut all = chart.annotations.iter();
    let (_, value) = all.find(|(key, _)| key.strip_prefix(PREFIX) == Some(name))?;
    Some(value.trim()).filter(|value| !value.is_empty())
}

fn path(name: &str) -> String {
    format!("annotations[{PREFIX}{name}]")
}

fn items(list: &str) -> impl Iterator<Item = &str> {
    list.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
}

fn kind(chart: &Metadata) -> Result<PluginKind, Error> {
    match annotation(chart, "render-by") {
        None | Some("template") => Ok(PluginKind::Template),
        Some("helm") => Ok(PluginKind::Helm),
        Some("kustomize") => Ok(PluginKind::Kustomize),
        Some("native") => Ok(PluginKind::Manifests),
        Some(other) => Err(Error::invalid(
            path("render-by"),
            format!("{other:?} is not a plugin kind"),
        )),
    }
}

/// A plugin exports values to others in a ConfigMap with its name.
fn exported_by(plugin: &str) -> ValuesFrom {
    ValuesFrom {
        kind: ValuesKind::ConfigMap,
        name: format!("kubegems-{plugin}-values"),
        key: None,
        target_path: None,
        prefix: Some(format!("{plugin}.")),
        optional: true,
    }
}

/// Parses a comma-separated list of `name op version`. An item that begins with an operator extends the previous range,
/// so that `a >=1, <2` is one requirement.
fn requirements(chart: &Metadata) -> Result<Vec<Dependency>, Error> {
    let mut dependencies: Vec<Dependency> = Vec::new();
    for item in items(annotation(chart, "requirements").unwrap_or_default()) {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        let end = item.find(|c| !is_name(c)).unwrap_or(item.len());
        let (name, range) = item.split_at(end);
        let range = range.trim();
        match dependencies.last_mut() {
            Some(last) if name.is_empty() => {
                let previous = last.version.take().unwrap_or_default();
                last.version = Some(
                    format!("{previous}, {range}")
                        .trim_start_matches(", ")
                        .to_owned(),
                );
            }
            None if name.is_empty() => {
                return Err(Error::invalid(
                    path("requirements"),
                    format!("{item:?} does not name a plugin"),
                ));
            }
            _ => dependencies.push(Dependency {
                name: name.to_owned(),
                namespace: None,
                version: Some(range.to_owned()).filter(|range| !range.is_empty()),
            }),
        }
    }
    for dependency in &dependencies {
        check_range(dependency.version.as_deref())?;
    }
    Ok(dependencies)
}

fn check_range(range: Option<&str>) -> Result<(), Error> {
    let Some(range) = range else {
        return Ok(());
    };
    match Constraint::parse(range) {
        Ok(_) => Ok(()),
        Err(reason) => Err(Error::Range {
            path: path("requirements"),
            text: range.to_owned(),
            reason: reason.to_string(),
        }),
    }
}

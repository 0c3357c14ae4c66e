//! What an API server cannot judge of a plugin, judged before anything is done with it.

use std::fmt;

use outrigger_gotmpl::semver::Constraint;
use serde_json::Value;

use super::{Plugin, PluginKind, ValuesFrom};
use crate::duration;

/// One thing that is wrong with an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The path of the field, such as `spec.dependencies[0].version`
    pub field: String,
    /// What is wrong with it
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// Helm's limit for the names of releases.
const MAX_RELEASE_NAME: usize = 53;

/// Everything that is wrong with a plugin, in the order of its fields.
pub fn check(plugin: &Plugin) -> Vec<Problem> {
    let mut problems = Problems::default();
    check_source(plugin, &mut problems);
    check_names(plugin, &mut problems);
    check_dependencies(plugin, &mut problems);
    check_values(plugin, &mut problems);
    check_files(plugin, &mut problems);
    check_resources(plugin, &mut problems);
    check_settings(plugin, &mut problems);
    problems.found
}

#[derive(Default)]
struct Problems {
    found: Vec<Problem>,
}

impl Problems {
    fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.found.push(Problem {
            field: field.into(),
            message: message.into(),
        });
    }

    fn check_range(&mut self, field: impl Into<String>, range: Option<&str>) {
        let Some(range) = range.filter(|range| !range.is_empty()) else {
            return;
        };
        if let Err(reason) = Constraint::parse(range) {
            self.add(field, format!("{range:?} is no version or range: {reason}"));
        }
    }
}

fn check_source(plugin: &Plugin, problems: &mut Problems) {
    let repo = plugin.spec.repo.as_deref().unwrap_or_default();
    let scheme = repo.split_once("://").map(|(scheme, _)| scheme);
    if scheme.is_some_and(|scheme| !["http", "https", "file", "oci"].contains(&scheme)) {
        problems.add(
            "spec.repo",
            format!("{repo:?} has an unknown scheme; use https, http, file or oci"),
        );
    }
    if has_credentials(repo) {
        problems.add(
            "spec.repo",
            "has a password in it; make a Repository with a secretRef and name it here",
        );
    }
    problems.check_range("spec.version", plugin.spec.version.as_deref());
    if plugin.spec.path.as_deref().is_some_and(escapes) {
        problems.add("spec.path", "must stay inside the source");
    }
}

/// Whether a URL has `user:password@` before its host.
fn has_credentials(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else {
        return false;
    };
    let authority = rest.split('/').next().unwrap_or_default();
    authority.contains('@')
}

fn escapes(path: &str) -> bool {
    path.starts_with('/') || path.split('/').any(|part| part == "..")
}

fn check_names(plugin: &Plugin, problems: &mut Problems) {
    let name = plugin.release_name();
    if name.len() > MAX_RELEASE_NAME {
        let field = match plugin.spec.release_name {
            Some(_) => "spec.releaseName",
            None => "metadata.name",
        };
        problems.add(
            field,
            format!("{name:?} is longer than {MAX_RELEASE_NAME} letters, which a release cannot be; set spec.releaseName"),
        );
    }
}

fn check_dependencies(plugin: &Plugin, problems: &mut Problems) {
    let mut seen = Vec::new();
    for (at, dependency) in plugin.spec.dependencies.iter().enumerate() {
        let field = |name: &str| format!("spec.dependencies[{at}].{name}");
        let place = plugin.locate(dependency);
        if place == (plugin.namespace(), plugin.name()) {
            problems.add(field("name"), "a plugin cannot depend on itself");
        }
        if seen.contains(&place) {
            problems.add(
                field("name"),
                format!("{:?} is named twice", dependency.name),
            );
        }
        seen.push(place);
        problems.check_range(field("version"), dependency.version.as_deref());
    }
}

fn check_values(plugin: &Plugin, problems: &mut Problems) {
    let spec = &plugin.spec;
    if spec.kind == PluginKind::Manifests {
        if !spec.values.is_empty() {
            problems.add("spec.values", "plugins of kind manifests take no values");
        }
        if !spec.values_from.is_empty() {
            problems.add(
                "spec.valuesFrom",
                "plugins of kind manifests take no values",
            );
        }
    }
    for (at, source) in spec.values_from.iter().enumerate() {
        check_values_from(source, &format!("spec.valuesFrom[{at}]"), problems);
    }
}

fn check_values_from(source: &ValuesFrom, field: &str, problems: &mut Problems) {
    if source.target_path.is_some() && source.key.is_none() {
        problems.add(
            format!("{field}.targetPath"),
            "needs a key, whose value goes there",
        );
    }
    if source.prefix.is_some() && (source.key.is_some() || source.target_path.is_some()) {
        problems.add(
            format!("{field}.prefix"),
            "takes every key, so it cannot go with key or targetPath",
        );
    }
}

fn check_files(plugin: &Plugin, problems: &mut Problems) {
    for (at, file) in plugin.spec.file_overrides.iter().enumerate() {
        if escapes(&file.name) || file.name.contains('\\') {
            problems.add(
                format!("spec.fileOverrides[{at}].name"),
                "must be a path inside the chart",
            );
        }
    }
    let takes_files = matches!(plugin.spec.kind, PluginKind::Helm | PluginKind::Template);
    if !takes_files && !plugin.spec.file_overrides.is_empty() {
        problems.add("spec.fileOverrides", "only charts have files to override");
    }
}

fn check_resources(plugin: &Plugin, problems: &mut Problems) {
    if plugin.spec.kind != PluginKind::Manifests {
        if !plugin.spec.resources.is_empty() {
            problems.add("spec.resources", "are for plugins of kind manifests only");
        }
        return;
    }
    for (at, object) in plugin.spec.resources.iter().enumerate() {
        for path in ["/apiVersion", "/kind", "/metadata/name"] {
            let text = object.pointer(path).and_then(Value::as_str);
            if text.is_none_or(str::is_empty) {
                let name = path[1..].replace('/', ".");
                problems.add(format!("spec.resources[{at}].{name}"), "is missing");
            }
        }
    }
}

fn check_settings(plugin: &Plugin, problems: &mut Problems) {
    let spec = &plugin.spec;
    if let Some(text) = &spec.timeout {
        match duration::parse(text) {
            Some(span) if !span.is_zero() => {}
            Some(_) => problems.add("spec.timeout", "must be longer than nothing"),
            None => problems.add(
                "spec.timeout",
                format!("{text:?} is no duration; write it like \"90s\" or \"5m\""),
            ),
        }
    }
    if let Some(registry) = &spec.image_registry
        && (registry.is_empty() || registry.contains("://") || registry.contains(' '))
    {
        problems.add(
            "spec.imageRegistry",
            format!("{registry:?} is no registry; write it like \"registry.example.com/mirror\""),
        );
    }
    if spec.required && !spec.enabled {
        problems.add("spec.enabled", "a required plugin cannot be switched off");
    }
}

#[cfg(test)]
mod tests;

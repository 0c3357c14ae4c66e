//! Validation that a schema cannot express. The controller and the command line run it before they use a plugin.

use outrigger_gostd::semver::Constraint;
use serde_json::Value;

use super::{Plugin, PluginKind, ValuesFrom};
use crate::field_error::{FieldError, FieldErrors};

/// The limit of Kubernetes for names.
const MAX_NAME: usize = 253;

/// Helm's limit for the names of releases.
const MAX_RELEASE_NAME: usize = 53;

/// Returns the invalid fields of a plugin, in the order of the fields.
pub fn validate(plugin: &Plugin) -> Vec<FieldError> {
    let mut errors = FieldErrors::default();
    check_source(plugin, &mut errors);
    check_names(plugin, &mut errors);
    check_cluster(plugin, &mut errors);
    check_dependencies(plugin, &mut errors);
    check_values(plugin, &mut errors);
    check_files(plugin, &mut errors);
    check_resources(plugin, &mut errors);
    check_settings(plugin, &mut errors);
    errors.list
}

fn check_range(errors: &mut FieldErrors, field: impl Into<String>, range: Option<&str>) {
    let Some(range) = range.filter(|range| !range.is_empty()) else {
        return;
    };
    if let Err(reason) = Constraint::parse(range) {
        errors.add(
            field,
            format!("{range:?} is not a version or version range: {reason}"),
        );
    }
}

fn check_source(plugin: &Plugin, errors: &mut FieldErrors) {
    let repo = plugin.spec.repo.as_deref().unwrap_or_default();
    let scheme = repo.split_once("://").map(|(scheme, _)| scheme);
    if scheme.is_some_and(|scheme| !["http", "https", "file", "oci"].contains(&scheme)) {
        errors.add(
            "spec.repo",
            format!("{repo:?} has an unknown scheme; use https, http, file or oci"),
        );
    }
    if has_credentials(repo) {
        errors.add(
            "spec.repo",
            "must not contain credentials; create a Repository with a secretRef and use its name",
        );
    }
    check_range(errors, "spec.version", plugin.spec.version.as_deref());
    if plugin.spec.path.as_deref().is_some_and(escapes) {
        errors.add("spec.path", "must be a path inside the source");
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

fn check_names(plugin: &Plugin, errors: &mut FieldErrors) {
    let name = plugin.release_name();
    if name.len() > MAX_RELEASE_NAME {
        let field = match plugin.spec.release_name {
            Some(_) => "spec.releaseName",
            None => "metadata.name",
        };
        errors.add(
            field,
            format!("{name:?} is longer than {MAX_RELEASE_NAME} characters, the limit for release names; set spec.releaseName"),
        );
    }
}

fn check_cluster(plugin: &Plugin, errors: &mut FieldErrors) {
    let Some(cluster) = &plugin.spec.cluster else {
        return;
    };
    if cluster.name.is_some() == cluster.secret_name.is_some() {
        errors.add("spec.cluster", "set either name or secretName");
    }
    if cluster.key.is_some() && cluster.secret_name.is_none() {
        errors.add("spec.cluster.key", "requires secretName");
    }
}

fn check_dependencies(plugin: &Plugin, errors: &mut FieldErrors) {
    let mut seen = Vec::new();
    for (index, dependency) in plugin.spec.dependencies.iter().enumerate() {
        let field = |name: &str| format!("spec.dependencies[{index}].{name}");
        let key = plugin.resolve_dependency(dependency);
        if key == (plugin.namespace(), plugin.name()) {
            errors.add(field("name"), "a plugin cannot depend on itself");
        }
        if seen.contains(&key) {
            errors.add(
                field("name"),
                format!("duplicate dependency {:?}", dependency.name),
            );
        }
        seen.push(key);
        check_range(errors, field("version"), dependency.version.as_deref());
    }
}

const NO_VALUES: &str = "plugins of kind manifests have no values";

fn check_values(plugin: &Plugin, errors: &mut FieldErrors) {
    let spec = &plugin.spec;
    if spec.kind == PluginKind::Manifests {
        if !spec.values.is_empty() {
            errors.add("spec.values", NO_VALUES);
        }
        if !spec.values_from.is_empty() {
            errors.add("spec.valuesFrom", NO_VALUES);
        }
    }
    for (index, source) in spec.values_from.iter().enumerate() {
        check_values_from(source, &format!("spec.valuesFrom[{index}]"), errors);
    }
}

fn check_values_from(source: &ValuesFrom, field: &str, errors: &mut FieldErrors) {
    if source.target_path.is_some() && source.key.is_none() {
        errors.add(format!("{field}.targetPath"), "requires key");
    }
    if source.prefix.is_some() && (source.key.is_some() || source.target_path.is_some()) {
        errors.add(
            format!("{field}.prefix"),
            "applies to all keys and cannot be combined with key or targetPath",
        );
    }
}

fn check_files(plugin: &Plugin, errors: &mut FieldErrors) {
    for (index, file) in plugin.spec.file_overrides.iter().enumerate() {
        if escapes(&file.name) || file.name.contains('\\') {
            errors.add(
                format!("spec.fileOverrides[{index}].name"),
                "must be a path inside the chart",
            );
        }
    }
    let is_chart = matches!(plugin.spec.kind, PluginKind::Helm | PluginKind::Template);
    if !is_chart && !plugin.spec.file_overrides.is_empty() {
        errors.add(
            "spec.fileOverrides",
            "only plugins of kinds helm and template have files to override",
        );
    }
}

fn check_resources(plugin: &Plugin, errors: &mut FieldErrors) {
    if plugin.spec.kind != PluginKind::Manifests {
        if !plugin.spec.resources.is_empty() {
            errors.add(
                "spec.resources",
                "are only allowed for plugins of kind manifests",
            );
        }
        return;
    }
    for (index, object) in plugin.spec.resources.iter().enumerate() {
        for path in ["/apiVersion", "/kind", "/metadata/name"] {
            let text = object.pointer(path).and_then(Value::as_str);
            if text.is_none_or(str::is_empty) {
                let name = path[1..].replace('/', ".");
                errors.add(format!("spec.resources[{index}].{name}"), "is missing");
            }
        }
    }
}

/// Whether a text is a DNS subdomain, as most names in Kubernetes are.
fn is_dns_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !label.is_empty()
            && label.chars().all(is_valid)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= MAX_NAME && text.split('.').all(is_label)
}

fn check_settings(plugin: &Plugin, errors: &mut FieldErrors) {
    let spec = &plugin.spec;
    errors.check_duration("spec.timeout", spec.timeout.as_deref());
    if let Some(registry) = &spec.image_registry
        && (registry.is_empty() || registry.contains("://") || registry.contains(' '))
    {
        errors.add(
            "spec.imageRegistry",
            format!("{registry:?} is not a registry such as \"registry.example.com/mirror\""),
        );
    }
    if let Some(name) = &spec.service_account_name
        && !is_dns_name(name)
    {
        errors.add(
            "spec.serviceAccountName",
            format!("{name:?} is not the name of a service account: lowercase letters, digits, '-' and '.'"),
        );
    }
    if spec.required && !spec.enabled {
        errors.add("spec.enabled", "a required plugin cannot be disabled");
    }
}

#[cfg(test)]
mod tests;

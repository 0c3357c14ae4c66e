//! KubeGems' Plugin, with the legacy spec (`enabled`, `repo`, `name`) or the current one (`disabled`, `url`, `chart`).

use serde_json::{Map, Value};

use super::fields::Fields;
use super::{Error, metadata};
use crate::plugin::{
    Dependency, FileOverride, Plugin, PluginKind, PluginSpec, ValuesFrom, ValuesKind,
};

/// On a plugin of KubeGems: it must not be disabled or removed.
const REQUIRED: &str = "plugins.kubegems.io/required";

pub(super) fn convert(object: Value) -> Result<Plugin, Error> {
    let (meta, mut spec) = Fields::of_object(object)?;
    let namespace = meta.get("namespace").and_then(Value::as_str);
    let converted = convert_spec(&mut spec, namespace)?;
    spec.finish()?;
    let metadata = metadata::convert(Value::Object(meta), converted.chart.clone())?;
    let mut plugin = Plugin::new("", converted);
    plugin.metadata = metadata;
    plugin.spec.required = plugin.is_annotated(REQUIRED);
    Ok(plugin)
}

fn convert_spec(spec: &mut Fields, namespace: Option<&str>) -> Result<PluginSpec, Error> {
    Ok(PluginSpec {
        enabled: enabled(spec)?,
        kind: kind(spec)?,
        repo: renamed(spec, "repo", "url")?,
        chart: renamed(spec, "name", "chart")?,
        version: spec.string("version")?,
        path: spec.string("path")?,
        install_namespace: spec.string("installNamespace")?,
        dependencies: dependencies(spec)?,
        values: without_nulls(spec.map("values")?),
        values_from: values_from(spec, namespace)?,
        file_overrides: file_overrides(spec)?,
        resources: spec
            .list("resources")?
            .into_iter()
            .map(|(_, item)| item)
            .collect(),
        ..PluginSpec::default()
    })
}

/// A plugin is enabled by default. The legacy spec has `enabled`, the current one `disabled`.
fn enabled(spec: &mut Fields) -> Result<bool, Error> {
    match (spec.boolean("enabled")?, spec.boolean("disabled")?) {
        (Some(_), Some(_)) => Err(Error::invalid(
            spec.path_of("disabled"),
            "conflicts with enabled; set only one of them",
        )),
        (Some(enabled), None) => Ok(enabled),
        (None, Some(disabled)) => Ok(!disabled),
        (None, None) => Ok(true),
    }
}

/// A field that was renamed between the legacy and the current spec.
fn renamed(
    spec: &mut Fields,
    legacy: &'static str,
    current: &'static str,
) -> Result<Option<String>, Error> {
    match (spec.string(legacy)?, spec.string(current)?) {
        (Some(old), Some(new)) if old != new => Err(Error::invalid(
            spec.path_of(current),
            format!("differs from {legacy}; set only one of them"),
        )),
        (old, new) => Ok(old.or(new)),
    }
}

fn kind(spec: &mut Fields) -> Result<PluginKind, Error> {
    let path = spec.path_of("kind");
    match spec.string("kind")?.as_deref() {
        None | Some("helm") => Ok(PluginKind::Helm),
        Some("template") => Ok(PluginKind::Template),
        Some("kustomize") => Ok(PluginKind::Kustomize),
        Some("inline" | "native") => Ok(PluginKind::Manifests),
        Some(other) => Err(Error::Invalid {
            path,
            reason: format!("{other:?} is not a plugin kind"),
            hint: Some("use helm, template, kustomize, native or inline"),
        }),
    }
}

/// Names with versions in the legacy spec, object references in the current one.
fn dependencies(spec: &mut Fields) -> Result<Vec<Dependency>, Error> {
    let mut dependencies = Vec::new();
    for mut item in spec.objects("dependencies")? {
        let path = item.path_of("kind");
        if let Some(kind) = item.string("kind")?
            && !["Plugin", "Bundle"].contains(&kind.as_str())
        {
            return Err(Error::Invalid {
                path,
                reason: format!("a plugin cannot depend on a {kind}"),
                hint: Some("depend on the plugin that creates it"),
            });
        }
        for unused in ["apiVersion", "uid", "resourceVersion", "fieldPath"] {
            item.ignore(unused);
        }
        let path = item.path_of("name");
        dependencies.push(Dependency {
            name: item.string("name")?.ok_or(Error::Missing { path })?,
            namespace: item.string("namespace")?,
            version: item.string("version")?,
        });
        item.finish()?;
    }
    Ok(dependencies)
}

/// Every key is a path that the prefix is prepended to.
fn values_from(spec: &mut Fields, namespace: Option<&str>) -> Result<Vec<ValuesFrom>, Error> {
    let mut sources = Vec::new();
    for mut item in spec.objects("valuesFrom")? {
        let namespace_path = item.path_of("namespace");
        if let Some(other) = item.string("namespace")?
            && Some(other.as_str()) != namespace
        {
            return Err(Error::Invalid {
                path: namespace_path,
                reason: "values cannot come from another namespace".to_owned(),
                hint: Some("copy the object into the namespace of the plugin"),
            });
        }
        let path = item.path_of("name");
        sources.push(ValuesFrom {
            kind: values_kind(&mut item)?,
            name: item.string("name")?.ok_or(Error::Missing { path })?,
            key: None,
            target_path: None,
            prefix: Some(item.string("prefix")?.unwrap_or_default()),
            optional: item.boolean("optional")?.unwrap_or_default(),
        });
        item.finish()?;
    }
    Ok(sources)
}

fn values_kind(item: &mut Fields) -> Result<ValuesKind, Error> {
    let path = item.path_of("kind");
    match item.string("kind")?.as_deref() {
        Some("ConfigMap") => Ok(ValuesKind::ConfigMap),
        Some("Secret") => Ok(ValuesKind::Secret),
        Some(other) => Err(Error::invalid(
            path,
            format!("{other:?} is not supported; use ConfigMap or Secret"),
        )),
        None => Err(Error::Missing { path }),
    }
}

fn file_overrides(spec: &mut Fields) -> Result<Vec<FileOverride>, Error> {
    let mut files = Vec::new();
    for mut item in spec.objects("fileOverrides")? {
        let path = item.path_of("name");
        files.push(FileOverride {
            name: item.string("name")?.ok_or(Error::Missing { path })?,
            content: item.string("content")?.unwrap_or_default(),
        });
        item.finish()?;
    }
    Ok(files)
}

/// Removes nulls and maps that only contain nulls, as KubeGems does before it calls Helm.
fn without_nulls(map: Map<String, Value>) -> Map<String, Value> {
    let entries = map.into_iter();
    entries
        .filter_map(|(key, value)| match value {
            Value::Null => None,
            Value::Object(inner) if inner.is_empty() => Some((key, Value::Object(inner))),
            Value::Object(inner) => {
                let inner = without_nulls(inner);
                (!inner.is_empty()).then_some((key, Value::Object(inner)))
            }
            other => Some((key, other)),
        })
        .collect()
}

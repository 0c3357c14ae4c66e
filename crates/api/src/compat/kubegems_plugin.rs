//! KubeGems' Plugin, in its first form (`enabled`, `repo`, `name`) and in its later one (`disabled`, `url`, `chart`).

use serde_json::{Map, Value};

use super::fields::Fields;
use super::{Error, metadata};
use crate::plugin::{
    Dependency, FileOverride, Plugin, PluginKind, PluginSpec, ValuesFrom, ValuesKind,
};

/// On a plugin of KubeGems: it must not be removed.
const REQUIRED: &str = "plugins.kubegems.io/required";

/// Makes a plugin of an object in either form.
pub(super) fn convert(object: Value) -> Result<Plugin, Error> {
    let (meta, mut spec) = Fields::of_object(object)?;
    let namespace = meta.get("namespace").and_then(Value::as_str);
    let converted = convert_spec(&mut spec, namespace)?;
    spec.finish()?;
    let metadata = metadata::keep(Value::Object(meta), converted.chart.clone())?;
    let mut plugin = Plugin::new("", converted);
    plugin.metadata = metadata;
    plugin.spec.required = plugin.is_marked(REQUIRED);
    Ok(plugin)
}

fn convert_spec(spec: &mut Fields, namespace: Option<&str>) -> Result<PluginSpec, Error> {
    Ok(PluginSpec {
        enabled: enabled(spec)?,
        kind: kind(spec)?,
        repo: either(spec, "repo", "url")?,
        chart: either(spec, "name", "chart")?,
        version: spec.text("version")?,
        path: spec.text("path")?,
        install_namespace: spec.text("installNamespace")?,
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

/// A plugin is on unless it says otherwise, in one of two ways.
fn enabled(spec: &mut Fields) -> Result<bool, Error> {
    match (spec.flag("enabled")?, spec.flag("disabled")?) {
        (Some(_), Some(_)) => Err(Error::refused(
            spec.path_of("disabled"),
            "says the same as enabled; give one of them",
        )),
        (Some(enabled), None) => Ok(enabled),
        (None, Some(disabled)) => Ok(!disabled),
        (None, None) => Ok(true),
    }
}

/// A field whose name changed between the forms.
fn either(
    spec: &mut Fields,
    first: &'static str,
    later: &'static str,
) -> Result<Option<String>, Error> {
    match (spec.text(first)?, spec.text(later)?) {
        (Some(one), Some(other)) if one != other => Err(Error::refused(
            spec.path_of(later),
            format!("is not the same as {first}; give one of them"),
        )),
        (one, other) => Ok(one.or(other)),
    }
}

fn kind(spec: &mut Fields) -> Result<PluginKind, Error> {
    let path = spec.path_of("kind");
    match spec.text("kind")?.as_deref() {
        None | Some("helm") => Ok(PluginKind::Helm),
        Some("template") => Ok(PluginKind::Template),
        Some("kustomize") => Ok(PluginKind::Kustomize),
        Some("inline" | "native") => Ok(PluginKind::Manifests),
        Some(other) => Err(Error::Refused {
            path,
            reason: format!("{other:?} is no kind of plugin"),
            hint: Some("use helm, template, kustomize, native or inline"),
        }),
    }
}

/// Names with versions in the first form, references to objects in the later one.
fn dependencies(spec: &mut Fields) -> Result<Vec<Dependency>, Error> {
    let mut dependencies = Vec::new();
    for mut item in spec.objects("dependencies")? {
        let path = item.path_of("kind");
        if let Some(kind) = item.text("kind")?
            && !["Plugin", "Bundle"].contains(&kind.as_str())
        {
            return Err(Error::Refused {
                path,
                reason: format!("{kind} objects cannot be waited for"),
                hint: Some("depend on the plugin that makes it"),
            });
        }
        for unused in ["apiVersion", "uid", "resourceVersion", "fieldPath"] {
            item.ignore(unused);
        }
        let path = item.path_of("name");
        dependencies.push(Dependency {
            name: item.text("name")?.ok_or(Error::Missing { path })?,
            namespace: item.text("namespace")?,
            version: item.text("version")?,
        });
        item.finish()?;
    }
    Ok(dependencies)
}

/// Every key is a path behind the prefix.
fn values_from(spec: &mut Fields, namespace: Option<&str>) -> Result<Vec<ValuesFrom>, Error> {
    let mut sources = Vec::new();
    for mut item in spec.objects("valuesFrom")? {
        let elsewhere = item.path_of("namespace");
        if let Some(other) = item.text("namespace")?
            && Some(other.as_str()) != namespace
        {
            return Err(Error::Refused {
                path: elsewhere,
                reason: "values of another namespace are not read".to_owned(),
                hint: Some("copy the object into the namespace of the plugin"),
            });
        }
        let path = item.path_of("name");
        sources.push(ValuesFrom {
            kind: values_kind(&mut item)?,
            name: item.text("name")?.ok_or(Error::Missing { path })?,
            key: None,
            target_path: None,
            prefix: Some(item.text("prefix")?.unwrap_or_default()),
            optional: item.flag("optional")?.unwrap_or_default(),
        });
        item.finish()?;
    }
    Ok(sources)
}

fn values_kind(item: &mut Fields) -> Result<ValuesKind, Error> {
    let path = item.path_of("kind");
    match item.text("kind")?.as_deref() {
        Some("ConfigMap") => Ok(ValuesKind::ConfigMap),
        Some("Secret") => Ok(ValuesKind::Secret),
        Some(other) => Err(Error::refused(
            path,
            format!("{other:?} has no values; use ConfigMap or Secret"),
        )),
        None => Err(Error::Missing { path }),
    }
}

fn file_overrides(spec: &mut Fields) -> Result<Vec<FileOverride>, Error> {
    let mut files = Vec::new();
    for mut item in spec.objects("fileOverrides")? {
        let path = item.path_of("name");
        files.push(FileOverride {
            name: item.text("name")?.ok_or(Error::Missing { path })?,
            content: item.text("content")?.unwrap_or_default(),
        });
        item.finish()?;
    }
    Ok(files)
}

/// KubeGems takes out nulls, and maps that have nothing else in them, before Helm sees them.
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

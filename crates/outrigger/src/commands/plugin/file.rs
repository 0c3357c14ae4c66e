//! Reads plugins from files, including those of KubeGems and TKEStack.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, ensure};
use outrigger_api::compat;
use outrigger_api::plugin::Plugin;
use outrigger_api::{GROUP, VERSION};
use serde_json::Value;

use crate::input_file;
use crate::report::HintExt as _;

/// Reads all plugins of files, of the files in directories, and of stdin for the path `-`.
pub(crate) fn read(paths: &[PathBuf]) -> anyhow::Result<Vec<Plugin>> {
    let mut plugins = Vec::new();
    for path in paths {
        if path == Path::new("-") {
            plugins.extend(parse("stdin", &input_file::read_stdin()?)?);
            continue;
        }
        for file in files(path)? {
            let text = input_file::read(&file)?;
            plugins.extend(parse(&file.display().to_string(), &text)?);
        }
    }
    let names = paths.iter().map(|path| path.display().to_string());
    let names = names.collect::<Vec<_>>().join(", ");
    ensure!(!plugins.is_empty(), "no plugins in {names}");
    Ok(plugins)
}

fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs_err::read_dir(path)? {
        let file = entry?.path();
        let extension = file.extension().unwrap_or_default();
        if ["yaml", "yml", "json"].iter().any(|e| extension == *e) {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

/// Parses the plugins of one file, one per document.
pub(super) fn parse(name: &str, text: &[u8]) -> anyhow::Result<Vec<Plugin>> {
    let mut plugins = Vec::new();
    for (index, document) in outrigger_goyaml::documents(text).enumerate() {
        let failed = || format!("failed to read document {} of {name}", index + 1);
        let document = document
            .map_err(|error| anyhow!(error.rest))
            .with_context(failed)?;
        let object = outrigger_goyaml::parse_json(&document).with_context(failed)?;
        if object.is_null() {
            continue;
        }
        plugins.push(convert(object).with_context(failed)?);
    }
    Ok(plugins)
}

fn convert(object: Value) -> anyhow::Result<Plugin> {
    let text = |field: &str| object[field].as_str().map(str::to_owned);
    let kind = text("kind").unwrap_or_else(|| "object without a kind".to_owned());
    let api_version = text("apiVersion");
    match compat::read(object) {
        Ok(Some(plugin)) => Ok(plugin),
        Ok(None) if kind == "Plugin" => Err(match api_version {
            None => anyhow!("the Plugin has no apiVersion"),
            Some(version) => anyhow!("Plugin of {version:?} is not supported"),
        })
        .hint(format!("use apiVersion: {GROUP}/{VERSION}")),
        Ok(None) => Err(anyhow!("{kind} is not a plugin"))
            .hint("supported kinds: Plugin, KubeGems' Plugin and Bundle, TKEStack's App"),
        Err(error) => match error.hint() {
            Some(hint) => Err(error).hint(hint),
            None => Err(error.into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_plugins_of_several_apis_from_one_file() {
        let text = b"apiVersion: outrigger.dev/v1beta1
kind: Plugin
metadata: {name: one}
spec: {}
---
# nothing here
---
apiVersion: plugins.kubegems.io/v1beta1
kind: Plugin
spec: {enabled: true, kind: helm, repo: https://charts.example.com, name: two, version: v1.0.0}
";
        let plugins = parse("x.yaml", text).unwrap();
        let names: Vec<_> = plugins.iter().map(Plugin::name).collect();
        assert_eq!(names, ["one", "two"]);
    }

    #[test]
    fn an_error_names_file_document_and_field() {
        let text = b"apiVersion: plugins.kubegems.io/v1beta1\nkind: Plugin\nspec: {name: a, verison: v1}\n";
        let error = parse("x.yaml", text).unwrap_err();
        let chain: Vec<_> = error.chain().map(ToString::to_string).collect();
        assert_eq!(
            chain,
            [
                "failed to read document 1 of x.yaml",
                "spec.verison: unknown field"
            ]
        );
        let error = parse("x.yaml", b"kind: Deployment").unwrap_err();
        assert_eq!(
            error.chain().nth(1).unwrap().to_string(),
            "Deployment is not a plugin"
        );
    }

    #[test]
    fn a_plugin_without_its_api_version_is_not_said_to_be_no_plugin() {
        let cause = |text: &[u8]| {
            let error = parse("x.yaml", text).unwrap_err();
            error.chain().nth(1).unwrap().to_string()
        };
        assert_eq!(cause(b"kind: Plugin"), "the Plugin has no apiVersion");
        assert_eq!(
            cause(b"apiVersion: outrigger.dev/v1\nkind: Plugin"),
            "Plugin of \"outrigger.dev/v1\" is not supported"
        );
    }

    #[test]
    fn a_value_that_is_not_allowed_is_named_with_its_field() {
        let text = b"apiVersion: outrigger.dev/v1beta1\nkind: Plugin\nmetadata: {name: a}\nspec: {drift: wran}\n";
        let error = parse("x.yaml", text).unwrap_err();
        assert_eq!(
            error.chain().nth(1).unwrap().to_string(),
            "spec.drift: \"wran\" is not one of correct, warn, ignore"
        );
    }
}

//! Reads plugins from files, including those of KubeGems and TKEStack.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, ensure};
use outrigger_api::compat;
use outrigger_api::plugin::Plugin;
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
    ensure!(!plugins.is_empty(), "the files contain no plugins");
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
        let location = || format!("{name}, document {}", index + 1);
        let document = document.map_err(|error| anyhow!("{}: {}", location(), error.rest))?;
        let object = outrigger_goyaml::parse_json(&document).with_context(location)?;
        if object.is_null() {
            continue;
        }
        plugins.push(convert(object).with_context(location)?);
    }
    Ok(plugins)
}

fn convert(object: Value) -> anyhow::Result<Plugin> {
    let kind = object["kind"]
        .as_str()
        .unwrap_or("object without a kind")
        .to_owned();
    match compat::read(object) {
        Ok(Some(plugin)) => Ok(plugin),
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
        assert_eq!(chain, ["x.yaml, document 1", "spec.verison: unknown field"]);
        let error = parse("x.yaml", b"kind: Deployment").unwrap_err();
        assert_eq!(
            error.chain().nth(1).unwrap().to_string(),
            "Deployment is not a plugin"
        );
    }
}

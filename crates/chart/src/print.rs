//! The output of `helm template`, byte for byte.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::chart::Crd;
use crate::manifest::{hook::Hook, split};
use crate::profile::Profile;
use crate::render::Rendered;
use outrigger_gostd::path;

#[derive(Debug, Clone, Default)]
pub struct PrintOptions {
    /// `--include-crds`
    pub include_crds: bool,
    /// `--no-hooks`
    pub no_hooks: bool,
    /// `--skip-tests`
    pub skip_tests: bool,
    /// `--show-only`: paths or patterns below the chart, such as `templates/service.yaml`.
    pub show_only: Vec<String>,
}

/// A `--show-only` that matches no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("could not find template {0} in chart")]
pub struct NotFound(pub String);

/// The output of `helm template`.
pub fn print_template(
    rendered: &Rendered,
    options: &PrintOptions,
    profile: Profile,
) -> Result<Vec<u8>, NotFound> {
    // Helm trims the manifest. It starts with `---`, so only the end is trimmed here.
    let mut out = release_manifest(rendered, options.include_crds);
    out.truncate(out.trim_end().len());
    out.push('\n');
    if !options.no_hooks {
        let is_shown = |hook: &&Hook| !(options.skip_tests && hook.is_test());
        for hook in rendered.hooks.iter().filter(is_shown) {
            push(&mut out, &hook.path, &hook.manifest);
        }
    }
    if options.show_only.is_empty() {
        return Ok(out.into_bytes());
    }
    select(&out, &options.show_only, profile)
}

/// The manifest in the release record: all objects with their source, without hooks.
pub fn release_manifest(rendered: &Rendered, include_crds: bool) -> String {
    let mut out = String::with_capacity(rendered.size_hint());
    if include_crds {
        for Crd { path, data, .. } in &rendered.crds {
            push(&mut out, path, &String::from_utf8_lossy(data));
        }
    }
    for manifest in &rendered.manifests {
        push(&mut out, &manifest.path, &manifest.content);
    }
    out
}

/// The files that `--output-dir` writes, in Helm's order.
pub fn files(rendered: &Rendered, options: &PrintOptions) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    let mut indexes: HashMap<&str, usize> = HashMap::new();
    for (path, content) in writes(rendered, options) {
        let index = *indexes.entry(path).or_insert_with(|| {
            files.push((path.to_owned(), Vec::new()));
            files.len() - 1
        });
        let mut text = String::new();
        push(&mut text, path, &content);
        files[index].1.extend_from_slice(text.as_bytes());
    }
    files
}

/// The paths for which Helm prints `wrote DIR/PATH`: one per object, not per file.
pub fn written_paths(rendered: &Rendered, options: &PrintOptions) -> Vec<String> {
    let writes = writes(rendered, options);
    writes
        .into_iter()
        .map(|(path, _)| path.to_owned())
        .collect()
}

fn writes<'r>(rendered: &'r Rendered, options: &PrintOptions) -> Vec<(&'r str, Cow<'r, str>)> {
    let mut writes = Vec::new();
    if options.include_crds {
        let crds = rendered.crds.iter();
        writes.extend(crds.map(|crd| (crd.path.as_str(), String::from_utf8_lossy(&crd.data))));
    }
    let manifests = rendered.manifests.iter();
    writes.extend(manifests.map(|m| (m.path.as_str(), Cow::Borrowed(m.content.as_str()))));
    if !options.no_hooks {
        let is_shown = |hook: &&Hook| !(options.skip_tests && hook.is_test());
        let hooks = rendered.hooks.iter().filter(is_shown);
        writes.extend(hooks.map(|h| (h.path.as_str(), Cow::Borrowed(h.manifest.as_str()))));
    }
    writes
}

fn push(out: &mut String, path: &str, content: &str) {
    out.push_str("---\n# Source: ");
    out.push_str(path);
    out.push('\n');
    out.push_str(content);
    out.push('\n');
}

/// The documents whose source matches a pattern, in the order of the patterns.
fn select(text: &str, patterns: &[String], profile: Profile) -> Result<Vec<u8>, NotFound> {
    let documents: Vec<(&str, &str)> = split::documents(text, profile)
        .into_iter()
        .filter_map(|document| Some((source_path(document)?, document)))
        .collect();
    let mut out = Vec::new();
    for pattern in patterns {
        let mut has_match = false;
        for (path, document) in &documents {
            if path::matches(pattern, path) == Ok(true) {
                has_match = true;
                out.extend_from_slice(b"---\n");
                out.extend_from_slice(document.as_bytes());
                out.push(b'\n');
            }
        }
        if !has_match {
            return Err(NotFound(pattern.clone()));
        }
    }
    Ok(out)
}

/// The path after the name of the chart in the first `# Source:` line.
fn source_path(document: &str) -> Option<&str> {
    document.split("# Source: ").skip(1).find_map(|rest| {
        let (chart, path) = rest.split_once('/')?;
        let path = path.split('\n').next()?;
        (!chart.is_empty() && !path.is_empty()).then_some(path)
    })
}

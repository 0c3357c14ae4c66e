//! The format of the files in `cases/`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::Value;

/// The cases of one topic.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Holds YAML anchors.
    #[serde(default)]
    #[expect(dead_code, reason = "only aliases in the same file refer to it")]
    shared: Value,
    cases: Vec<Case>,
}

/// A sequence of requests in its own namespace.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) name: String,
    /// The name of its file.
    #[serde(skip)]
    pub(super) topic: String,
    /// Do not create a namespace.
    #[serde(default)]
    pub(super) no_namespace: bool,
    pub(super) steps: Vec<Step>,
}

/// A request, or reading from an open watch.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Step {
    /// Method, path and query: `GET {core}/pods?limit=1`.
    pub(super) r#do: String,
    /// A CRD to create; the step ends when the API serves it.
    pub(super) define: Option<Value>,
    /// The expected status code; by default 201 for POST, otherwise 200.
    pub(super) expect: Option<u16>,
    pub(super) body: Option<Value>,
    /// The body as text.
    pub(super) raw: Option<String>,
    /// The body in hexadecimal.
    pub(super) hex: Option<String>,
    /// `json`, `merge`, `strategic`, `apply`, `protobuf`, `yaml` or a media type.
    pub(super) r#type: Option<String>,
    /// `table`, `metadata`, `metadata-list` or a media type.
    pub(super) accept: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    /// The user and the groups to impersonate.
    pub(super) r#as: Option<String>,
    pub(super) groups: Vec<String>,
    /// A bearer token instead of the administrator's; empty for no token.
    pub(super) token: Option<String>,
    /// Variables for later steps: name and JSON pointer into the body.
    pub(super) save: BTreeMap<String, String>,
    /// Repeats the request until these JSON pointers into the body have these values, null if absent. `code` is the
    /// status code.
    pub(super) until: BTreeMap<String, Value>,
    /// Opens a watch with this name.
    pub(super) watch: Option<String>,
    /// Reads from the watch with this name.
    pub(super) collect: Option<String>,
    /// The number of events to read.
    pub(super) events: Option<usize>,
    /// Reads events until the server ends the stream.
    pub(super) to_end: bool,
    /// JSON pointers into the body that are not compared; `*` matches any key or index.
    pub(super) ignore: Vec<String>,
    /// JSON pointers to lists whose items are compared in any order.
    pub(super) unordered: Vec<String>,
}

impl Step {
    /// Method, and path with query.
    pub(super) fn request(&self) -> (&str, &str) {
        self.r#do.split_once(' ').unwrap_or(("GET", &self.r#do))
    }

    pub(super) fn expected_code(&self) -> u16 {
        let creates = self.define.is_some() || self.r#do.starts_with("POST ");
        self.expect.unwrap_or(if creates { 201 } else { 200 })
    }

    /// A short description of the step.
    pub(super) fn title(&self) -> String {
        match (&self.define, &self.collect) {
            (Some(_), _) => "define".to_owned(),
            (_, Some(watch)) => format!("read watch {watch}"),
            _ => self.r#do.clone(),
        }
    }
}

/// Loads the cases of a directory.
pub(super) fn load(directory: &Path) -> anyhow::Result<Vec<Case>> {
    let mut paths = Vec::new();
    for entry in fs_err::read_dir(directory)? {
        paths.push(entry?.path());
    }
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "yaml")
    });
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let topic = path.file_stem().unwrap_or_default().to_string_lossy();
        let value = outrigger_goyaml::parse_json(&fs_err::read(&path)?);
        let value = value.with_context(|| format!("{topic}.yaml is not YAML"))?;
        let file: File = parse(value).with_context(|| format!("{topic}.yaml"))?;
        for mut case in file.cases {
            case.topic = topic.to_string();
            cases.push(case);
        }
    }
    check_names(&cases)?;
    Ok(cases)
}

/// Parses case by case, so that an error names the case.
fn parse(value: Value) -> anyhow::Result<File> {
    for case in value["cases"].as_array().into_iter().flatten() {
        serde_json::from_value::<Case>(case.clone())
            .with_context(|| format!("case {}", case["name"]))?;
    }
    Ok(serde_json::from_value(value)?)
}

/// The name of a case is the name of its namespace.
fn check_names(cases: &[Case]) -> anyhow::Result<()> {
    let mut seen = std::collections::BTreeSet::new();
    for case in cases {
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if case.name.len() > 50 || !case.name.chars().all(is_allowed) {
            bail!("{:?} is not a valid namespace name", case.name);
        }
        if !seen.insert(&case.name) {
            bail!("two cases have the name {:?}", case.name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_all_cases() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
        assert!(load(&directory).unwrap().len() >= 280);
    }
}

//! Cases as data: what a file of `cases/` says.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::Value;

/// A file: cases of one topic.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// A place for YAML anchors; not read.
    #[serde(default)]
    #[expect(dead_code, reason = "only anchors of the same file look at it")]
    shared: Value,
    cases: Vec<Case>,
}

/// Requests that follow each other, in a namespace of their own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// The file it is from.
    #[serde(skip)]
    pub(crate) topic: String,
    /// No namespace is made for it.
    #[serde(default)]
    pub(crate) no_namespace: bool,
    pub(crate) steps: Vec<Step>,
}

/// One request, or the reading of a watch.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Step {
    /// Method, path and query: `GET {core}/pods?limit=1`.
    pub(crate) r#do: String,
    /// A definition of a kind to make; the step ends when the API serves it.
    pub(crate) define: Option<Value>,
    /// The code of the answer; 201 for POST and 200 for the rest unless told.
    pub(crate) expect: Option<u16>,
    pub(crate) body: Option<Value>,
    /// The body letter by letter.
    pub(crate) raw: Option<String>,
    /// The body as hexadecimal digits.
    pub(crate) hex: Option<String>,
    /// `json`, `merge`, `strategic`, `apply`, `protobuf`, `yaml` or a media type.
    pub(crate) r#type: Option<String>,
    /// `table`, `metadata`, `metadata-list` or a media type.
    pub(crate) accept: Option<String>,
    pub(crate) headers: BTreeMap<String, String>,
    /// A user to act as, and groups.
    pub(crate) r#as: Option<String>,
    pub(crate) groups: Vec<String>,
    /// A bearer token instead of the administrator's; empty for none.
    pub(crate) token: Option<String>,
    /// Values for later steps: name and pointer.
    pub(crate) save: BTreeMap<String, String>,
    /// Asks again until these pointers have these values (null: nothing there), `code` being the code.
    pub(crate) until: BTreeMap<String, Value>,
    /// Opens a watch under this name, to be read by later steps.
    pub(crate) watch: Option<String>,
    /// Reads from a watch that was opened before.
    pub(crate) collect: Option<String>,
    /// How many events to read.
    pub(crate) events: Option<usize>,
    /// Reads until the server ends the stream.
    pub(crate) to_end: bool,
    /// Pointers not to compare; `*` stands for any key or index.
    pub(crate) ignore: Vec<String>,
    /// Compares the items of these lists in any order.
    pub(crate) unordered: Vec<String>,
}

impl Step {
    /// Method, and path with query.
    pub(crate) fn request(&self) -> (&str, &str) {
        self.r#do.split_once(' ').unwrap_or(("GET", &self.r#do))
    }

    /// The code that the case counts on.
    pub(crate) fn expected(&self) -> u16 {
        let made = self.define.is_some() || self.r#do.starts_with("POST ");
        self.expect.unwrap_or(if made { 201 } else { 200 })
    }
}

/// All cases of a folder, in the order of the files.
pub(crate) fn load(folder: &Path) -> anyhow::Result<Vec<Case>> {
    let mut paths = Vec::new();
    for entry in fs_err::read_dir(folder)? {
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
        let file: File = serde_path(value).with_context(|| format!("{topic}.yaml"))?;
        for mut case in file.cases {
            case.topic = topic.to_string();
            cases.push(case);
        }
    }
    check_names(&cases)?;
    Ok(cases)
}

/// Reads case by case, so that an error can name its case.
fn serde_path(value: Value) -> anyhow::Result<File> {
    for case in value["cases"].as_array().into_iter().flatten() {
        serde_json::from_value::<Case>(case.clone())
            .with_context(|| format!("the case {}", case["name"]))?;
    }
    Ok(serde_json::from_value(value)?)
}

/// A name is a namespace too, so it must be unique and short.
fn check_names(cases: &[Case]) -> anyhow::Result<()> {
    let mut seen = std::collections::BTreeSet::new();
    for case in cases {
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if case.name.len() > 50 || !case.name.chars().all(letters) {
            bail!("{:?} cannot name a namespace", case.name);
        }
        if !seen.insert(&case.name) {
            bail!("two cases are called {:?}", case.name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_cases_can_be_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
        assert!(load(&folder).unwrap().len() >= 280);
    }
}

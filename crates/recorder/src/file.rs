//! Recordings on disk: which ones are selected, and how they are read and written.

use std::path::PathBuf;

use anyhow::Context as _;
use fs_err as fs;
use serde_json::Value;

/// Where recordings are read and written.
#[derive(Debug)]
pub(crate) struct Files {
    root: PathBuf,
    output: PathBuf,
    only: String,
}

impl Files {
    pub(crate) fn new(root: PathBuf, output: PathBuf, only: String) -> Self {
        Self { root, output, only }
    }

    /// Whether a file is to be recorded.
    #[expect(clippy::print_stderr, reason = "progress goes to stderr")]
    pub(crate) fn selects(&self, path: &str) -> bool {
        let is_selected = path.contains(&self.only);
        if is_selected {
            eprintln!("recording {path}");
        }
        is_selected
    }

    /// Reads a committed file of one JSON value.
    pub(crate) fn json(&self, path: &str) -> anyhow::Result<Value> {
        serde_json::from_str(&self.text(path)?).with_context(|| format!("failed to parse {path}"))
    }

    /// Reads a committed file of one JSON value per line.
    pub(crate) fn lines(&self, path: &str) -> anyhow::Result<Vec<Value>> {
        let text = self.text(path)?;
        let lines = text.lines().map(serde_json::from_str);
        let lines: Result<_, _> = lines.collect();
        lines.with_context(|| format!("failed to parse {path}"))
    }

    pub(crate) fn text(&self, path: &str) -> anyhow::Result<String> {
        Ok(fs::read_to_string(self.root.join(path))?)
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> anyhow::Result<()> {
        let path = self.output.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        Ok(fs::write(path, text)?)
    }

    pub(crate) fn write_lines(&self, path: &str, lines: &[Value]) -> anyhow::Result<()> {
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.write(path, &lines)
    }

    /// Writes an array with each item on a line of its own.
    pub(crate) fn write_array(&self, path: &str, items: &[Value]) -> anyhow::Result<()> {
        let items: Vec<_> = items.iter().map(Value::to_string).collect();
        self.write(path, &format!("[\n{}\n]\n", items.join(",\n")))
    }
}

/// A line of a case and the bytes of its answer, which come last.
pub(crate) fn with_answer(case: &Value, answer: &str) -> String {
    let mut case = case.clone();
    if let Some(fields) = case.as_object_mut() {
        fields.remove("answer");
    }
    let case = case.to_string();
    let case = case.trim_end_matches('}');
    format!("{case},\"answer\":{}}}\n", answer.trim_end())
}

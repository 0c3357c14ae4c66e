//! A loaded chart: its metadata, defaults, templates, files and subcharts. Plain data that may cross threads.

use outrigger_gotmpl::Data;

use crate::metadata::{Lock, Metadata};
use crate::plain::Plain;

/// One chart with everything below it.
#[derive(Debug, Clone, Default)]
pub struct Chart {
    pub metadata: Metadata,
    pub lock: Option<Lock>,
    /// The parsed `values.yaml`; `None` if there is none, or (Helm 3) if it is empty.
    pub values: Option<Plain>,
    /// `values.yaml` as it stands, with its comments.
    pub values_text: Option<Data>,
    /// `values.schema.json` as it stands.
    pub schema: Option<Data>,
    pub templates: Vec<File>,
    /// Everything else, including `crds/`.
    pub files: Vec<File>,
    pub subcharts: Vec<Self>,
}

/// A file of a chart; its name is relative to the chart, with `/`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct File {
    pub name: String,
    pub data: Data,
}

/// A file of `crds/`, with the path that `helm template` prints for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crd {
    pub name: String,
    pub path: String,
    pub data: Data,
}

impl Chart {
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// The files of `crds/`, this chart's before its subcharts'.
    pub fn crds(&self) -> Vec<Crd> {
        let mut crds = Vec::new();
        self.collect_crds(self.name(), &mut crds);
        crds
    }

    fn collect_crds(&self, path: &str, crds: &mut Vec<Crd>) {
        crds.extend(crd_files(&self.files).map(|file| Crd {
            name: file.name.clone(),
            path: format!("{path}/{}", file.name),
            data: file.data.clone(),
        }));
        for subchart in &self.subcharts {
            subchart.collect_crds(&format!("{path}/charts/{}", subchart.name()), crds);
        }
    }
}

/// The files below `crds/` that hold manifests.
pub(crate) fn crd_files(files: &[File]) -> impl Iterator<Item = &File> {
    files.iter().filter(|file| {
        let extension = outrigger_gostd::path::ext(&file.name);
        file.name.starts_with("crds/")
            && [".yaml", ".yml", ".json"]
                .iter()
                .any(|known| extension.eq_ignore_ascii_case(known))
    })
}

impl File {
    pub fn new(name: impl Into<String>, data: impl Into<Vec<u8>>) -> Self {
        Self {
            name: name.into(),
            data: data.into().into(),
        }
    }
}

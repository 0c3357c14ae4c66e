//! A loaded chart: its metadata, default values, templates, files and subcharts. `Send` and `Sync`.

use outrigger_gotmpl::Data;

use crate::go_io;
use crate::metadata::{Lock, Metadata};
use crate::yaml_value::YamlValue;

/// A chart with its subcharts.
#[derive(Debug, Clone, Default)]
pub struct Chart {
    pub metadata: Metadata,
    pub lock: Option<Lock>,
    /// The parsed `values.yaml`; `None` if it is missing, or (Helm 3) if it is empty.
    pub values: Option<YamlValue>,
    /// The text of `values.yaml`, with its comments.
    pub values_text: Option<Data>,
    /// The text of `values.schema.json`.
    pub schema: Option<Data>,
    pub templates: Vec<File>,
    /// All other files, including those of `crds/`.
    pub files: Vec<File>,
    pub subcharts: Vec<Self>,
}

/// A file of a chart. Its name is the path relative to the chart, separated by `/`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct File {
    pub name: String,
    pub data: Data,
}

/// A file that could not be read after the chart was loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("read {name}: {reason}")]
pub struct ReadError {
    name: String,
    reason: String,
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

    /// Fails if a file that was loaded lazily could not be read. Must be called before the output of a chart that
    /// [`load_path_lazily`](crate::load_path_lazily) loaded is used.
    pub fn check_reads(&self) -> Result<(), ReadError> {
        for file in &self.files {
            if let Some(error) = file.data.read_error() {
                return Err(ReadError {
                    name: file.name.clone(),
                    reason: go_io::describe(error),
                });
            }
        }
        self.subcharts.iter().try_for_each(Self::check_reads)
    }

    /// The files of `crds/`, those of the chart before those of its subcharts.
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

/// The files below `crds/` with the extension of a manifest.
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

//! Loads charts from files in memory, archives and folders, with Helm's checks and errors.

pub mod archive;
mod content_type;
mod folder;
pub mod ignore;

use std::collections::BTreeMap;

use crate::chart::{Chart, File};
use crate::decode::TypeError;
use crate::metadata::{API_V1, API_V2, Invalid, Lock, Metadata};
use crate::profile::Profile;
use crate::values;
use crate::yaml::{self, ReadError};
use crate::yaml_value::YamlValue;
use outrigger_gostd::path;

pub use folder::{
    charts_entries, lint_source, load_path, load_path_lazily, read_file, read_folder,
};

/// The maximum nesting of charts. Helm has no limit, but a crafted archive could overflow the stack.
const MAX_DEPTH: usize = 64;

const VALUES: &str = "values.yaml";

/// Why a chart cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot load {file}: {source}")]
    Yaml {
        file: &'static str,
        source: ReadError,
    },
    #[error("cannot load {file}: {source}")]
    Field {
        file: &'static str,
        source: TypeError,
    },
    #[error("cannot load values.yaml: {0}")]
    Values(#[source] values::FileError),
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("Chart.yaml file is missing")]
    NoMetadata,
    #[error("unsupported chart version")]
    UnsupportedApiVersion,
    #[error("error unpacking subchart tar in {parent}: expected {expected}, got {found}")]
    SubchartName {
        parent: String,
        expected: String,
        found: String,
    },
    #[error("error unpacking subchart {name} in {parent}: {source}")]
    Subchart {
        name: String,
        parent: String,
        source: Box<Self>,
    },
    #[error("charts are nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    #[error(transparent)]
    Archive(#[from] archive::Error),
    #[error(transparent)]
    Folder(#[from] folder::Error),
}

/// Receives warnings while a chart is loaded and its values are coalesced.
pub type WarnFn<'a> = &'a mut dyn FnMut(String);

pub fn from_files(files: Vec<File>, profile: Profile, warn: WarnFn<'_>) -> Result<Chart, Error> {
    let mut loader = Loader {
        profile,
        warn,
        budget: archive::Budget::default(),
    };
    loader.chart(files, 0)
}

/// Loads the chart in a `.tgz`.
pub fn from_archive(bytes: &[u8], profile: Profile, warn: WarnFn<'_>) -> Result<Chart, Error> {
    let files = archive::read(bytes, profile)?;
    if profile.rules().detects_api_version {
        detect(&files)?;
    }
    from_files(files, profile, warn)
}

/// Rejects an unknown `apiVersion` before other errors are reported.
fn detect(files: &[File]) -> Result<(), Error> {
    let file = files
        .iter()
        .find(|file| file.name == "Chart.yaml")
        .ok_or(archive::Error::NoChart)?;
    detect_api_version(&file.data)
}

fn detect_api_version(chart_yaml: &[u8]) -> Result<(), Error> {
    let node = read(chart_yaml, "Chart.yaml")?;
    let mut decoder = crate::decode::Decoder::default();
    let mut api_version = String::new();
    decoder.object(
        &node,
        "chartBase",
        "loader.chartBase",
        |decoder, key, value| {
            if key.eq_ignore_ascii_case("apiVersion") {
                decoder.string("apiVersion", value, &mut api_version);
            }
        },
    );
    decoder.finish(()).map_err(|source| Error::Field {
        file: "Chart.yaml",
        source,
    })?;
    match api_version.as_str() {
        "" | API_V1 | API_V2 => Ok(()),
        _ => Err(Error::UnsupportedApiVersion),
    }
}

fn read(data: &[u8], file: &'static str) -> Result<YamlValue, Error> {
    yaml::read(data).map_err(|source| Error::Yaml { file, source })
}

struct Loader<'a> {
    profile: Profile,
    warn: WarnFn<'a>,
    /// The remaining size limit of archives inside the chart.
    budget: archive::Budget,
}

impl Loader<'_> {
    fn chart(&mut self, files: Vec<File>, depth: usize) -> Result<Chart, Error> {
        if depth > MAX_DEPTH {
            return Err(Error::TooDeep);
        }
        let mut chart = Chart::default();
        let mut has_metadata = false;
        for file in files.iter().filter(|file| file.name == "Chart.yaml") {
            has_metadata = true;
            self.metadata(&mut chart.metadata, &file.data, "Chart.yaml")?;
            if chart.metadata.api_version.is_empty() {
                API_V1.clone_into(&mut chart.metadata.api_version);
            }
        }
        let mut nested: BTreeMap<String, Vec<File>> = BTreeMap::new();
        for file in files {
            has_metadata |= matches!(
                file.name.as_str(),
                "requirements.yaml" | "requirements.lock"
            );
            self.add(&mut chart, &mut nested, file)?;
        }
        if !has_metadata {
            return Err(Error::NoMetadata);
        }
        chart.metadata.validate(self.profile)?;
        for (name, files) in nested {
            if name.starts_with(['_', '.']) {
                continue;
            }
            let subchart = self.subchart(&chart, &name, files, depth + 1)?;
            chart.subcharts.push(subchart);
        }
        Ok(chart)
    }

    /// Adds a file to the chart, or to the files of a subchart.
    fn add(
        &mut self,
        chart: &mut Chart,
        nested: &mut BTreeMap<String, Vec<File>>,
        file: File,
    ) -> Result<(), Error> {
        match file.name.as_str() {
            "Chart.yaml" => {}
            "Chart.lock" => chart.lock = Some(self.lock(&file.data, "Chart.lock")?),
            VALUES => {
                chart.values =
                    values::read_defaults(&file.data, self.profile).map_err(Error::Values)?;
                chart.values_text = Some(file.data);
            }
            "values.schema.json" => chart.schema = Some(file.data),
            "requirements.yaml" => {
                if chart.metadata.api_version != API_V1 {
                    (self.warn)("Warning: Dependencies are handled in Chart.yaml since apiVersion \"v2\". We recommend migrating dependencies to Chart.yaml.".to_owned());
                }
                self.metadata(&mut chart.metadata, &file.data, "requirements.yaml")?;
                if chart.metadata.api_version == API_V1 {
                    chart.files.push(file);
                }
            }
            "requirements.lock" => {
                chart.lock = Some(self.lock(&file.data, "requirements.lock")?);
                if chart.metadata.api_version == API_V1 {
                    chart.files.push(file);
                } else {
                    (self.warn)("Warning: Dependency locking is handled in Chart.lock since apiVersion \"v2\". We recommend migrating to Chart.lock.".to_owned());
                }
            }
            name if name.starts_with("templates/") => chart.templates.push(file),
            name if name.starts_with("charts/") && path::ext(name) != ".prov" => {
                let name = name["charts/".len()..].to_owned();
                let chart_name = name.split('/').next().unwrap_or_default().to_owned();
                let data = file.data;
                nested
                    .entry(chart_name)
                    .or_default()
                    .push(File { name, data });
            }
            _ => chart.files.push(file),
        }
        Ok(())
    }

    fn metadata(
        &self,
        metadata: &mut Metadata,
        data: &[u8],
        file: &'static str,
    ) -> Result<(), Error> {
        let node = read(data, file)?;
        metadata
            .update(&node, self.profile)
            .map_err(|source| Error::Field { file, source })
    }

    fn lock(&self, data: &[u8], file: &'static str) -> Result<Lock, Error> {
        let node = read(data, file)?;
        Lock::decode(&node, self.profile).map_err(|source| Error::Field { file, source })
    }

    fn subchart(
        &mut self,
        parent: &Chart,
        name: &str,
        mut files: Vec<File>,
        depth: usize,
    ) -> Result<Chart, Error> {
        let loaded = if path::ext(name) == ".tgz" {
            let found = &files[0].name;
            if found != name {
                return Err(Error::SubchartName {
                    parent: parent.name().to_owned(),
                    expected: name.to_owned(),
                    found: found.clone(),
                });
            }
            archive::read_within(files[0].data.as_slice(), self.profile, &mut self.budget)
                .map_err(Error::Archive)
                .and_then(|files| self.chart(files, depth))
        } else {
            files.retain_mut(|file| match file.name.split_once('/') {
                Some((_, rest)) => {
                    file.name = rest.to_owned();
                    true
                }
                None => false,
            });
            self.chart(files, depth)
        };
        loaded.map_err(|source| Error::Subchart {
            name: name.to_owned(),
            parent: parent.name().to_owned(),
            source: Box::new(source),
        })
    }
}

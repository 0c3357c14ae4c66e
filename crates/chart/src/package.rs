//! Packages a chart into a reproducible `.tgz`.
//!
//! Entries are in Helm's order: `Chart.yaml` (encoded again), `Chart.lock`, values, schema, templates, other files, then
//! the subcharts. All entries have the same modification time.

use std::io::Write;

use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use crate::chart::Chart;
use crate::metadata::{API_V1, API_V2};
use crate::profile::Profile;
use crate::version::{self, VersionError};
use crate::{dependencies, metadata_yaml, yaml};

/// 1980-01-01, the earliest time that all archive formats support.
const DEFAULT_TIME: u64 = 315_532_800;

#[derive(Debug, Clone, Default)]
pub struct PackageOptions {
    /// Replaces the version of `Chart.yaml`.
    pub version: Option<String>,
    /// Replaces the app version of `Chart.yaml`.
    pub app_version: Option<String>,
    /// The modification time of all entries as Unix time, such as the time of the commit.
    pub modified: Option<u64>,
}

/// A packaged chart.
#[derive(Debug, Clone)]
pub struct Package {
    /// `NAME-VERSION.tgz`
    pub file_name: String,
    pub bytes: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Version(#[from] VersionError),
    #[error(transparent)]
    Missing(#[from] dependencies::Missing),
    #[error("failed to save: {0}")]
    Schema(&'static str),
    #[error("failed to save: {}", crate::go_io::describe(.0))]
    Write(#[from] std::io::Error),
}

/// Packages a chart with its subcharts, all of which must be in `charts/`.
pub fn package(
    chart: &Chart,
    options: &PackageOptions,
    profile: Profile,
) -> Result<Package, Error> {
    let mut chart = chart.clone();
    if let Some(version) = &options.version {
        chart.metadata.version.clone_from(version);
    }
    version::parse(&chart.metadata.version, profile)?;
    if let Some(app_version) = &options.app_version {
        chart.metadata.app_version.clone_from(app_version);
    }
    dependencies::check_dependencies(&chart)?;
    save(&chart, options.modified, profile)
}

/// Packages a chart with the subcharts that it has, at a modification time.
pub(crate) fn save(
    chart: &Chart,
    modified: Option<u64>,
    profile: Profile,
) -> Result<Package, Error> {
    let gzip = GzBuilder::new()
        .extra(profile.rules().gzip_extra)
        .comment("Helm")
        .write(Vec::new(), Compression::default());
    let mut writer = Writer {
        tar: Builder::new(gzip),
        modified: modified.unwrap_or(DEFAULT_TIME),
        profile,
    };
    writer.chart(chart, "")?;
    Ok(Package {
        file_name: format!("{}-{}.tgz", chart.name(), chart.metadata.version),
        bytes: writer.tar.into_inner()?.finish()?,
    })
}

struct Writer<W: Write> {
    tar: Builder<W>,
    modified: u64,
    profile: Profile,
}

impl<W: Write> Writer<W> {
    fn chart(&mut self, chart: &Chart, prefix: &str) -> Result<(), Error> {
        let base = format!("{prefix}{}", chart.name());
        let is_v1 = chart.metadata.api_version == API_V1;
        let metadata = metadata_yaml::of_metadata(&chart.metadata, !is_v1);
        self.yaml(&format!("{base}/Chart.yaml"), &metadata)?;
        if chart.metadata.api_version == API_V2
            && let Some(lock) = &chart.lock
        {
            self.yaml(&format!("{base}/Chart.lock"), &metadata_yaml::of_lock(lock))?;
        }
        if let Some(values) = &chart.values_text {
            self.file(&format!("{base}/values.yaml"), values)?;
        }
        if let Some(schema) = &chart.schema {
            if serde_json::from_slice::<serde_json::Value>(schema).is_err() {
                return Err(Error::Schema(self.profile.rules().invalid_schema_text));
            }
            self.file(&format!("{base}/values.schema.json"), schema)?;
        }
        for file in chart.templates.iter().chain(&chart.files) {
            self.file(&format!("{base}/{}", file.name), &file.data)?;
        }
        for subchart in &chart.subcharts {
            self.chart(subchart, &format!("{base}/charts/"))?;
        }
        Ok(())
    }

    fn yaml(&mut self, path: &str, value: &outrigger_gotmpl::value::Value) -> Result<(), Error> {
        let mut text = yaml::to_yaml(value);
        text.push(b'\n');
        self.file(path, &text)
    }

    fn file(&mut self, path: &str, data: &[u8]) -> Result<(), Error> {
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_mtime(self.modified);
        header.set_size(data.len() as u64);
        self.tar.append_data(&mut header, path, data)?;
        Ok(())
    }
}

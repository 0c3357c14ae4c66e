//! What a package brings to a site, as plain data: charts as archives, plugins as objects, scripts as bytes. Pure, except for
//! `source`. For packages without fatal findings: what cannot be read is left out.

pub mod source;

use outrigger_api::compat;
use outrigger_api::plugin::Plugin;
use outrigger_chart::package::{PackageOptions, package as pack};
use outrigger_chart::{Profile, load};

use crate::finding::Finding;
use crate::package::Package;
use crate::scan::Scanned;
use crate::verify::{one_line, read_chart_files};

const PROFILE: Profile = Profile::Helm4;

/// A chart of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartArchive {
    /// In the package, such as `charts/web`.
    pub path: String,
    pub name: String,
    pub version: String,
    /// The archive; that of a folder is reproducible.
    pub bytes: Vec<u8>,
    /// `Chart.yaml` as JSON.
    pub metadata: Vec<u8>,
}

/// The charts in the order of the list. A folder becomes an archive.
pub fn charts(scanned: &Scanned, package: &Package) -> Result<Vec<ChartArchive>, Finding> {
    let listed = package.definition.charts.iter();
    listed
        .filter_map(|chart| archive(scanned, format!("charts/{}", chart.value)).transpose())
        .collect()
}

fn archive(scanned: &Scanned, path: String) -> Result<Option<ChartArchive>, Finding> {
    let Some(files) = read_chart_files(scanned, &path) else {
        return Ok(None);
    };
    let files = files?;
    let refused = |error: &dyn std::fmt::Display| Finding::fatal(&path, one_line(&error));
    let metadata = files.iter().find(|file| file.name == "Chart.yaml");
    let metadata = metadata.map(|file| outrigger_goyaml::parse_json(&file.data));
    let metadata = metadata
        .transpose()
        .map_err(|error| refused(&error))?
        .unwrap_or_default();
    let chart = load::from_files(files, PROFILE, &mut |_| {}).map_err(|error| refused(&error))?;
    let (name, version) = (chart.name().to_owned(), chart.metadata.version.clone());
    let bytes = if let Some(bytes) = scanned.bytes(&path) {
        bytes.to_vec()
    } else {
        let packed = pack(&chart, &PackageOptions::default(), PROFILE);
        packed.map_err(|error| refused(&error))?.bytes
    };
    Ok(Some(ChartArchive {
        path,
        name,
        version,
        bytes,
        metadata: metadata.to_string().into_bytes(),
    }))
}

/// The plugins of all manifests, each with a namespace.
pub fn plugins(scanned: &Scanned) -> Vec<Plugin> {
    let manifests = scanned.files_below("plugins");
    let texts = manifests.filter_map(|(path, _)| scanned.bytes(path));
    let documents = texts.flat_map(outrigger_goyaml::documents);
    let objects = documents.filter_map(|document| {
        let object = outrigger_goyaml::parse_json(&document.ok()?).ok()?;
        compat::read(object).ok()?
    });
    objects
        .map(|mut plugin| {
            let namespace = &mut plugin.metadata.namespace;
            namespace.get_or_insert_with(|| "default".to_owned());
            plugin
        })
        .collect()
}

/// The hooks of the installer: names and scripts.
pub fn hooks(scanned: &Scanned, package: &Package) -> Vec<(String, Vec<u8>)> {
    let listed = package.definition.hooks.iter();
    let scripts = listed.filter_map(|hook| {
        let script = scanned.bytes(&format!("hooks/{}", hook.value))?;
        Some((hook.value.clone(), script.to_vec()))
    });
    scripts.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::scan::scan;

    #[test]
    fn charts_become_the_same_archives_each_time() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/expansion");
        let scanned = scan(&root).unwrap();
        let (package, _) = Package::read(&scanned);
        let first = charts(&scanned, &package).unwrap();
        assert_eq!(first, charts(&scanned, &package).unwrap());
        assert_eq!(first.len(), 1);
        assert_eq!(first[0].name, "site-page");
        let metadata: serde_json::Value = serde_json::from_slice(&first[0].metadata).unwrap();
        assert_eq!(metadata["name"], "site-page");
        let hooks = hooks(&scanned, &package);
        let names: Vec<&str> = hooks.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["pre-install", "post-install"]);
    }
}

//! Helm charts as OCI artifacts: a config with the metadata, and one layer with the archive.

use std::collections::BTreeMap;

use crate::digest::Digest;
use crate::manifest::{Descriptor, Manifest, OCI_MANIFEST, RawManifest};

pub const HELM_CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";
pub const HELM_CHART: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
pub const HELM_PROVENANCE: &str = "application/vnd.cncf.helm.chart.provenance.v1.prov";

/// The manifest of a chart with this config, the metadata as JSON, and this archive.
pub fn chart_manifest(
    config: &[u8],
    archive: &[u8],
    annotations: BTreeMap<String, String>,
) -> Result<RawManifest, crate::InvalidManifest> {
    let describe =
        |kind: &str, bytes: &[u8]| Descriptor::new(kind, Digest::of(bytes), bytes.len() as u64);
    let manifest = Manifest {
        schema_version: 2,
        media_type: Some(OCI_MANIFEST.to_owned()),
        config: Some(describe(HELM_CONFIG, config)),
        layers: Some(vec![describe(HELM_CHART, archive)]),
        annotations: (!annotations.is_empty()).then_some(annotations),
        ..Manifest::default()
    };
    let bytes = serde_json::to_vec(&manifest).map_err(crate::InvalidManifest::Json)?;
    RawManifest::parse(bytes, Some(OCI_MANIFEST))
}

/// The layer with the archive of a chart; none if the artifact is not a chart.
pub fn chart_layer(manifest: &Manifest) -> Option<&Descriptor> {
    let is_chart = manifest
        .config
        .as_ref()
        .is_some_and(|config| config.media_type == HELM_CONFIG);
    let mut layers = manifest.layers.iter().flatten();
    layers.find(|layer| is_chart && layer.media_type == HELM_CHART)
}

/// The tag of a version. Tags cannot have a `+`, so Helm replaces it.
pub fn tag_of_version(version: &str) -> String {
    version.replace('+', "_")
}

/// The version of a tag.
pub fn version_of_tag(tag: &str) -> String {
    tag.replace('_', "+")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_is_found_in_its_manifest() {
        let manifest = chart_manifest(b"{}", b"archive", BTreeMap::new()).unwrap();
        assert_eq!(
            chart_layer(&manifest.parsed).unwrap().digest,
            Digest::of(b"archive")
        );
        let mut other = manifest.parsed;
        if let Some(config) = &mut other.config {
            config.media_type = crate::OCI_CONFIG.to_owned();
        }
        assert_eq!(chart_layer(&other), None);
        assert_eq!(
            version_of_tag(&tag_of_version("1.0.0+git.1")),
            "1.0.0+git.1"
        );
    }
}

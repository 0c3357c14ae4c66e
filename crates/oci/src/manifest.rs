//! Manifests and indexes of images, in the formats of OCI and Docker.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bounded;
use crate::digest::{Algorithm, Digest};
use crate::platform::Platform;

pub const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub const OCI_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
pub const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
pub const DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";
const DOCKER_SCHEMA1: &str = "application/vnd.docker.distribution.manifest.v1";

/// The media types of manifests that are requested.
pub(crate) const ACCEPT: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json";

/// The largest manifest that is read. Registries accept 4 MiB.
pub const MAX_MANIFEST: u64 = 4 << 20;

/// The most entries of a manifest or index. A manifest of 4 MiB can have more, but none that is honest has.
pub const MAX_ENTRIES: usize = 10_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    #[serde(default)]
    pub media_type: String,
    pub digest: Digest,
    pub size: u64,
    #[serde(
        default,
        deserialize_with = "bounded::list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub urls: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    #[serde(
        default,
        deserialize_with = "bounded::map",
        skip_serializing_if = "Option::is_none"
    )]
    pub annotations: Option<BTreeMap<String, String>>,
}

impl Descriptor {
    pub fn new(media_type: &str, digest: Digest, size: u64) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest,
            size,
            urls: Vec::new(),
            platform: None,
            artifact_type: None,
            annotations: None,
        }
    }

    /// Whether the content is a manifest or an index.
    pub fn is_manifest(&self) -> bool {
        [OCI_MANIFEST, OCI_INDEX, DOCKER_MANIFEST, DOCKER_LIST].contains(&self.media_type.as_str())
    }

    /// Whether the content is an index.
    pub fn is_index(&self) -> bool {
        [OCI_INDEX, DOCKER_LIST].contains(&self.media_type.as_str())
    }

    /// Layers of this kind are not in the registry: clients fetch them from elsewhere.
    pub fn is_foreign(&self) -> bool {
        self.media_type.contains(".foreign.") || self.media_type.contains(".nondistributable.")
    }
}

/// The fields of manifests and indexes that refer to other content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    #[serde(default)]
    pub schema_version: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Descriptor>,
    #[serde(
        default,
        deserialize_with = "bounded::optional_list",
        skip_serializing_if = "Option::is_none"
    )]
    pub layers: Option<Vec<Descriptor>>,
    #[serde(
        default,
        deserialize_with = "bounded::optional_list",
        skip_serializing_if = "Option::is_none"
    )]
    pub manifests: Option<Vec<Descriptor>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Descriptor>,
    #[serde(
        default,
        deserialize_with = "bounded::map",
        skip_serializing_if = "Option::is_none"
    )]
    pub annotations: Option<BTreeMap<String, String>>,
}

#[derive(Debug, thiserror::Error)]
pub enum InvalidManifest {
    #[error("it is not valid JSON of a manifest")]
    Json(#[source] serde_json::Error),
    #[error("Docker's schema 1 is not supported; push the image again with a current client")]
    Schema1,
    #[error("its media type is {found:?}, but the server sent {expected:?}")]
    MediaType { expected: String, found: String },
    #[error("it has neither layers nor manifests")]
    Empty,
    #[error("it has both layers and manifests")]
    Ambiguous,
    #[error("it has more than {MAX_ENTRIES} entries")]
    TooManyEntries,
}

impl Manifest {
    /// Parses and checks a manifest. An ambiguous one, which clients may read differently, is rejected.
    pub fn parse(bytes: &[u8], media_type: Option<&str>) -> Result<Self, InvalidManifest> {
        let manifest: Self = serde_json::from_slice(bytes).map_err(InvalidManifest::Json)?;
        let expected = media_type.map(base_type).unwrap_or_default();
        if expected.starts_with(DOCKER_SCHEMA1) || manifest.schema_version == 1 {
            return Err(InvalidManifest::Schema1);
        }
        if let Some(found) = &manifest.media_type
            && is_known(expected)
            && found != expected
        {
            return Err(InvalidManifest::MediaType {
                expected: expected.to_owned(),
                found: found.clone(),
            });
        }
        let entries = manifest.layers.as_ref().map_or(0, Vec::len)
            + manifest.manifests.as_ref().map_or(0, Vec::len);
        match (&manifest.layers, &manifest.manifests) {
            (Some(_), Some(_)) => Err(InvalidManifest::Ambiguous),
            (None, None) if manifest.config.is_none() => Err(InvalidManifest::Empty),
            (_, Some(_)) if manifest.config.is_some() => Err(InvalidManifest::Ambiguous),
            _ if entries > MAX_ENTRIES => Err(InvalidManifest::TooManyEntries),
            _ => Ok(manifest),
        }
    }

    pub fn is_index(&self) -> bool {
        self.manifests.is_some()
    }

    /// The media type, which Docker and OCI indexes state themselves or not.
    pub fn media_type(&self) -> &str {
        let default = if self.is_index() {
            OCI_INDEX
        } else {
            OCI_MANIFEST
        };
        self.media_type.as_deref().unwrap_or(default)
    }

    /// The config and the layers.
    pub fn blobs(&self) -> impl Iterator<Item = &Descriptor> {
        self.config.iter().chain(self.layers.iter().flatten())
    }

    /// The manifests of an index.
    pub fn children(&self) -> impl Iterator<Item = &Descriptor> {
        self.manifests.iter().flatten()
    }

    /// What the artifact is: its own type, or that of its config.
    pub fn kind(&self) -> Option<&str> {
        let own = self
            .artifact_type
            .as_deref()
            .filter(|kind| !kind.is_empty());
        own.or_else(|| {
            self.config
                .as_ref()
                .map(|config| config.media_type.as_str())
        })
    }
}

/// A manifest as it was received, byte for byte, which its digest names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawManifest {
    pub media_type: String,
    pub digest: Digest,
    pub bytes: Vec<u8>,
    pub parsed: Manifest,
}

impl RawManifest {
    pub fn parse(bytes: Vec<u8>, media_type: Option<&str>) -> Result<Self, InvalidManifest> {
        Self::parse_with(Algorithm::Sha256, bytes, media_type)
    }

    pub fn parse_with(
        algorithm: Algorithm,
        bytes: Vec<u8>,
        media_type: Option<&str>,
    ) -> Result<Self, InvalidManifest> {
        let parsed = Manifest::parse(&bytes, media_type)?;
        let media_type = match media_type.map(base_type) {
            Some(media_type) if is_known(media_type) => media_type.to_owned(),
            _ => parsed.media_type().to_owned(),
        };
        Ok(Self {
            digest: Digest::with(algorithm, &bytes),
            media_type,
            bytes,
            parsed,
        })
    }

    /// Whether a digest, of any algorithm, is that of this manifest.
    pub fn is(&self, digest: &Digest) -> bool {
        self.digest == *digest
            || (self.digest.algorithm() != digest.algorithm()
                && Digest::with(digest.algorithm(), &self.bytes) == *digest)
    }

    pub fn descriptor(&self) -> Descriptor {
        Descriptor::new(
            &self.media_type,
            self.digest.clone(),
            self.bytes.len() as u64,
        )
    }
}

fn is_known(media_type: &str) -> bool {
    [OCI_MANIFEST, OCI_INDEX, DOCKER_MANIFEST, DOCKER_LIST].contains(&media_type)
}

/// The media type without parameters.
fn base_type(text: &str) -> &str {
    text.split(';').next().unwrap_or(text).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_and_outdated_manifests_are_rejected() {
        let check = |text: &str, kind| Manifest::parse(text.as_bytes(), kind).map(|_| ());
        check(r#"{"schemaVersion":2,"layers":[]}"#, Some(OCI_MANIFEST)).unwrap();
        check(
            r#"{"schemaVersion":2,"manifests":[]}"#,
            Some("text/plain; charset=utf-8"),
        )
        .unwrap();
        let rows = [
            (r#"{"schemaVersion":2}"#, None),
            (r#"{"schemaVersion":1,"layers":[]}"#, None),
            (r#"{"layers":[],"manifests":[]}"#, None),
            (r#"{"layers":[{"digest":"sha256:0","size":1}]}"#, None),
            (
                r#"{"layers":[{"digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","size":-1}]}"#,
                None,
            ),
            (
                r#"{"mediaType":"application/vnd.oci.image.index.v1+json","layers":[]}"#,
                Some(OCI_MANIFEST),
            ),
            ("[]", None),
            ("", None),
        ];
        for (text, kind) in rows {
            assert!(check(text, kind).is_err(), "{text}");
        }
    }
}

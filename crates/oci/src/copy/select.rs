//! Chooses the platforms of an image: manifests of its index, or what the config of an image for one platform says.

use serde::Deserialize;

use super::source::Source;
use crate::error::Error;
use crate::manifest::{DOCKER_CONFIG, Descriptor, MAX_MANIFEST, OCI_CONFIG, RawManifest};
use crate::platform::Platform;
use crate::reference::Repository;

impl Source {
    /// Chooses the platforms of an image. All of them are the image as it is, with its signatures; one is that image itself;
    /// several are a smaller index. It is an error if the image is not for all of them.
    pub async fn select(
        &self,
        repository: &Repository,
        root: RawManifest,
        platforms: &[Platform],
    ) -> Result<RawManifest, Error> {
        if platforms.is_empty() {
            return Ok(root);
        }
        if !root.parsed.is_index() {
            if let Some(found) = self.platform(repository, &root).await? {
                check(repository, platforms, &[&found])?;
            }
            return Ok(root);
        }
        let is_chosen = |child: &&Descriptor| {
            let found = child.platform.as_ref();
            found.is_some_and(|found| platforms.iter().any(|platform| platform.matches(found)))
        };
        let found = root.parsed.children();
        let found: Vec<&Platform> = found.filter_map(|child| child.platform.as_ref()).collect();
        check(repository, platforms, &found)?;
        let is_left_out = |child: &Descriptor| !is_chosen(&child) && names_platform(child);
        if !root.parsed.children().any(is_left_out) {
            return Ok(root);
        }
        let chosen: Vec<Descriptor> = root.parsed.children().filter(is_chosen).cloned().collect();
        if let [only] = chosen.as_slice() {
            return self.manifest(repository, only).await;
        }
        let mut index = root.parsed.clone();
        index.manifests = Some(chosen);
        let invalid = |source| Error::InvalidManifest {
            what: repository.to_string(),
            source,
        };
        let bytes = serde_json::to_vec(&index)
            .map_err(|error| invalid(crate::InvalidManifest::Json(error)))?;
        RawManifest::parse(bytes, Some(&root.media_type)).map_err(invalid)
    }

    /// The platform that the config of an image names. `None` for artifacts, and for images that run anywhere.
    pub async fn platform(
        &self,
        repository: &Repository,
        image: &RawManifest,
    ) -> Result<Option<Platform>, Error> {
        let config = image.parsed.config.as_ref();
        let is_of_image = |config: &&Descriptor| {
            [OCI_CONFIG, DOCKER_CONFIG].contains(&config.media_type.as_str())
        };
        let Some(descriptor) = config.filter(is_of_image) else {
            return Ok(None);
        };
        let config = self.blob(repository, descriptor)?;
        let config = config.read_all(MAX_MANIFEST).await?;
        let config = serde_json::from_slice(&config);
        let config: Config = config.map_err(|source| Error::InvalidConfig {
            what: repository.to_string(),
            source,
        })?;
        let names_none = config.os.is_empty() && config.architecture.is_empty();
        Ok((!names_none).then(|| Platform {
            architecture: config.architecture,
            os: config.os,
            variant: config.variant.filter(|variant| !variant.is_empty()),
            os_version: None,
            os_features: Vec::new(),
        }))
    }
}

/// Whether a manifest of an index is for a platform. Attestations, which are part of the index, are for an unknown one.
fn names_platform(child: &Descriptor) -> bool {
    let platform = child.platform.as_ref();
    platform.is_some_and(|platform| platform.os != "unknown")
}

/// Fails if an image that is for `found` is not for all `platforms`.
fn check(
    repository: &Repository,
    platforms: &[Platform],
    found: &[&Platform],
) -> Result<(), Error> {
    let is_missing = |platform: &&Platform| !found.iter().any(|found| platform.matches(found));
    let missing: Vec<String> = platforms
        .iter()
        .filter(is_missing)
        .map(ToString::to_string)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    Err(Error::NoPlatform {
        what: repository.to_string(),
        platforms: missing.join(", "),
        found: match found.as_slice() {
            [] => "none that is named".to_owned(),
            found => found.join(", "),
        },
    })
}

/// The part of an image config that says where the image runs.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Config {
    os: String,
    architecture: String,
    variant: Option<String>,
}

//! The root document of a built package: its name, and the digest of its lock, which has all other digests. It is what is
//! signed.

use outrigger_oci::{Digest, Platform};
use serde::{Deserialize, Serialize};

/// The version of the format that this release writes, and the newest one that it reads.
pub const FORMAT: u32 = 1;

/// The root document of a built package. The digest of its text identifies the package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Root {
    pub format_version: u32,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The platforms of its images. Without any, images have all platforms that they had at their source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub platforms: Vec<String>,
    pub lock: Locked,
    /// The package that a delta needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Base>,
}

/// Digest and size of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    pub digest: Digest,
    pub size: u64,
}

/// The package that has what a delta does not carry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Base {
    /// The digest of its root document.
    pub digest: Digest,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// Why a root document or a lock is refused.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    #[error("it is not valid JSON of this format")]
    Json(#[source] serde_json::Error),
    #[error(
        "it has format version {0}, and this release reads versions up to {FORMAT}; a newer Outrigger is needed"
    )]
    Newer(u64),
    #[error("platform {0:?} is not of the form OS/ARCHITECTURE")]
    Platform(String),
    #[error("{path}: {reason}")]
    Entry { path: String, reason: &'static str },
    #[error("the sizes of its files add up to more than {} bytes", u64::MAX)]
    Size,
    #[error("it lists more than {0} files")]
    TooManyFiles(usize),
}

impl Root {
    /// Reads the document.
    pub fn parse(bytes: &[u8]) -> Result<Self, DocumentError> {
        check_version(bytes)?;
        let root: Self = serde_json::from_slice(bytes).map_err(DocumentError::Json)?;
        for platform in &root.platforms {
            if platform.parse::<Platform>().is_err() {
                return Err(DocumentError::Platform(platform.clone()));
            }
        }
        Ok(root)
    }

    /// The text, which is the same for the same package.
    pub fn to_text(&self) -> String {
        text(self)
    }

    /// The digest of the text, which identifies the package.
    pub fn digest(&self) -> Digest {
        Digest::of(self.to_text().as_bytes())
    }

    /// `demo 1.0.0`, or `demo` without a version.
    pub fn title(&self) -> String {
        title(&self.name, self.version.as_deref())
    }
}

impl Base {
    /// `demo 1.0.0`, or `demo` without a version.
    pub fn title(&self) -> String {
        title(&self.name, self.version.as_deref())
    }
}

pub(crate) fn title(name: &str, version: Option<&str>) -> String {
    match version {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    }
}

/// The version comes first: an unknown field of a newer format must not look like a mistake.
pub(crate) fn check_version(bytes: &[u8]) -> Result<(), DocumentError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        format_version: u64,
    }
    let version: Version = serde_json::from_slice(bytes).map_err(DocumentError::Json)?;
    if version.format_version == u64::from(FORMAT) {
        Ok(())
    } else {
        Err(DocumentError::Newer(version.format_version))
    }
}

/// Indented JSON with a line end.
pub(crate) fn text(document: &impl Serialize) -> String {
    // These documents are structs with texts and numbers, which are always valid JSON.
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> Root {
        Root {
            format_version: FORMAT,
            name: "demo".to_owned(),
            version: None,
            platforms: vec!["linux/amd64".to_owned()],
            lock: Locked {
                digest: Digest::of(b""),
                size: 0,
            },
            base: None,
        }
    }

    #[test]
    fn a_root_document_is_read_as_it_was_written() {
        let root = root();
        assert_eq!(Root::parse(root.to_text().as_bytes()).unwrap(), root);
        assert_eq!(root.digest(), Digest::of(root.to_text().as_bytes()));
    }

    #[test]
    fn documents_of_newer_formats_and_unknown_fields_are_refused() {
        let check = |from: &str, to: &str| {
            let text = root().to_text().replace(from, to);
            Root::parse(text.as_bytes()).unwrap_err().to_string()
        };
        let newer = check("\"formatVersion\": 1", "\"formatVersion\": 2, \"x\": 1");
        let expected = "it has format version 2, and this release reads versions up to 1; a newer Outrigger is needed";
        assert_eq!(newer, expected);
        let unknown = check("\"name\"", "\"x\": 1, \"name\"");
        assert_eq!(unknown, "it is not valid JSON of this format");
        let platform = check("linux/amd64", "amd64");
        assert_eq!(
            platform,
            "platform \"amd64\" is not of the form OS/ARCHITECTURE"
        );
    }
}

//! The text or content that a file specification describes.

use outrigger_model::SecretRef;
use outrigger_model::construct::{Content, KeyPairPart};

use super::contribute::Contributor;
use super::spec::{FileSpec, FileType, Source};
use crate::plugin::Failure;
use crate::stage_files::sha256;

impl Contributor<'_> {
    /// The rendered text of a specification, or nothing if it is empty.
    pub(super) fn rendered_text(
        &self,
        field: &str,
        spec: &FileSpec,
    ) -> Result<Option<String>, Failure> {
        let source = spec
            .source
            .as_ref()
            .and_then(|source| source.path.as_deref());
        let given = [
            spec.content.is_some(),
            spec.template.is_some(),
            source.is_some(),
        ];
        if given.iter().filter(|given| **given).count() > 1 {
            return Err(Failure(format!(
                "{field}: use one of content, template and source"
            )));
        }
        if let Some(text) = spec.content.as_ref().or(spec.template.as_ref()) {
            return self.text(field, text).map(Some);
        }
        let Some(path) = source else {
            return Ok(None);
        };
        let text = String::from_utf8(self.read(path)?)
            .map_err(|_| Failure(format!("{path} is not UTF-8")))?;
        self.text(path, &text).map(Some)
    }

    pub(super) fn read(&self, path: &str) -> Result<Vec<u8>, Failure> {
        self.folder
            .read(path)
            .map_err(|error| Failure::from_error(&error))
    }

    /// The content of a file.
    pub(super) fn content(&self, field: &str, spec: &FileSpec) -> Result<Content, Failure> {
        let nothing = || Failure(format!("{field}: has no content, template or source"));
        if let Some(source) = &spec.source
            && let Some(content) = self.by_reference(field, spec.kind, source)?
        {
            return Ok(content);
        }
        self.rendered_text(field, spec)?
            .map(Content::Text)
            .ok_or_else(nothing)
    }

    /// Content that is not rendered: key pairs, secrets, downloads and binaries.
    fn by_reference(
        &self,
        field: &str,
        kind: FileType,
        source: &Source,
    ) -> Result<Option<Content>, Failure> {
        let key_pair = |name: &String, part| {
            Ok(Some(Content::KeyPair {
                name: name.clone(),
                part,
            }))
        };
        if let Some(name) = &source.cert {
            return key_pair(name, KeyPairPart::Certificate);
        }
        if let Some(name) = &source.key {
            return key_pair(name, KeyPairPart::PrivateKey);
        }
        if let Some(url) = &source.url {
            let url = self.text(field, url)?;
            let sha256 = source.sha256.as_deref();
            let sha256 = sha256
                .ok_or_else(|| Failure(format!("{field}: the download {url} has no sha256")))?;
            let sha256 = self.text(field, sha256)?;
            return Ok(Some(Content::Url { url, sha256 }));
        }
        let Some(path) = &source.path else {
            return Ok(None);
        };
        match kind {
            FileType::Text => Ok(None),
            FileType::Credential => Ok(Some(Content::Secret(SecretRef {
                name: path.clone(),
                key: None,
            }))),
            FileType::Binary => {
                let digest = sha256(&self.read(path)?);
                Ok(Some(Content::Source {
                    path: format!("{}/{path}", self.plugin),
                    sha256: digest,
                }))
            }
        }
    }
}

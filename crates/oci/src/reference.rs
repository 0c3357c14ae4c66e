//! References to images, as Docker writes them: `[HOST[:PORT]/]PATH[:TAG][@DIGEST]`, short names included.

use std::fmt;
use std::str::FromStr;

use crate::digest::{Digest, InvalidDigest};

/// The registry of references without a host.
pub const DOCKER_HUB: &str = "docker.io";

/// The longest repository name that registries accept.
const MAX_NAME: usize = 255;

const MAX_TAG: usize = 128;

/// A repository of a registry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Repository {
    registry: String,
    path: String,
}

/// An image: a repository with a tag, a digest or both. Without either, the tag is `latest`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    repository: Repository,
    tag: Option<String>,
    digest: Option<Digest>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidReference {
    #[error("{0:?} is not an image reference: it is empty or has an empty part")]
    Empty(String),
    #[error("{0:?} is not an image reference: write it without the scheme")]
    Scheme(String),
    #[error("{text:?} is not an image reference: {host:?} is not a host with an optional port")]
    Host { text: String, host: String },
    #[error(
        "{text:?} is not an image reference: {part:?} is not a repository name (lowercase letters, digits and separators)"
    )]
    Name { text: String, part: String },
    #[error(
        "{0:?} is not an image reference: the repository name has more than {MAX_NAME} characters"
    )]
    TooLong(String),
    #[error("{text:?} is not an image reference: {tag:?} is not a tag")]
    Tag { text: String, tag: String },
    #[error("{text:?} is not an image reference")]
    Digest {
        text: String,
        #[source]
        source: InvalidDigest,
    },
}

impl Repository {
    /// A repository of a registry, `HOST[:PORT]`.
    pub fn new(registry: &str, path: &str) -> Result<Self, InvalidReference> {
        let text = format!("{registry}/{path}");
        if !is_registry(registry) {
            let host = registry.to_owned();
            return Err(InvalidReference::Host { text, host });
        }
        check_path(&text, path)?;
        Ok(Self {
            registry: canonical_host(registry),
            path: path.to_owned(),
        })
    }

    /// `HOST[:PORT]`
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The name inside of the registry.
    pub fn path(&self) -> &str {
        &self.path
    }

    pub fn with_tag(&self, tag: &str) -> Result<Reference, InvalidReference> {
        check_tag(tag, tag)?;
        Ok(Reference {
            repository: self.clone(),
            tag: Some(tag.to_owned()),
            digest: None,
        })
    }

    pub fn with_digest(&self, digest: Digest) -> Reference {
        Reference {
            repository: self.clone(),
            tag: None,
            digest: Some(digest),
        }
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.path)
    }
}

impl FromStr for Repository {
    type Err = InvalidReference;

    fn from_str(text: &str) -> Result<Self, InvalidReference> {
        if text.is_empty() {
            return Err(InvalidReference::Empty(text.to_owned()));
        }
        if text.contains("://") {
            return Err(InvalidReference::Scheme(text.to_owned()));
        }
        match text.split_once('/') {
            Some((host, path)) if is_host(host) => Self::new(host, &official(host, path)),
            _ => Self::new(DOCKER_HUB, &official(DOCKER_HUB, text)),
        }
    }
}

impl Reference {
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    pub fn registry(&self) -> &str {
        self.repository.registry()
    }

    /// The tag; `latest` if there is neither a tag nor a digest.
    pub fn tag(&self) -> Option<&str> {
        match (&self.tag, &self.digest) {
            (None, None) => Some("latest"),
            (tag, _) => tag.as_deref(),
        }
    }

    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// The same image at its digest.
    #[must_use]
    pub fn pinned(&self, digest: Digest) -> Self {
        Self {
            digest: Some(digest),
            ..self.clone()
        }
    }

    /// The same tag and digest in another repository.
    #[must_use]
    pub fn moved(&self, repository: Repository) -> Self {
        Self {
            repository,
            ..self.clone()
        }
    }

    /// What a registry resolves: the digest if there is one, else the tag.
    pub fn identifier(&self) -> String {
        match &self.digest {
            Some(digest) => digest.to_string(),
            None => self.tag().unwrap_or("latest").to_owned(),
        }
    }
}

impl FromStr for Reference {
    type Err = InvalidReference;

    fn from_str(text: &str) -> Result<Self, InvalidReference> {
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(parse_digest(text, digest)?)),
            None => (text, None),
        };
        let last = rest.rfind('/').map_or(0, |slash| slash + 1);
        let (name, tag) = match rest[last..].split_once(':') {
            Some((_, tag)) => (&rest[..rest.len() - tag.len() - 1], Some(tag)),
            None => (rest, None),
        };
        if let Some(tag) = tag {
            check_tag(text, tag)?;
        }
        Ok(Self {
            repository: name.parse()?,
            tag: tag.map(str::to_owned),
            digest,
        })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.repository.fmt(f)?;
        if let Some(tag) = self.tag() {
            write!(f, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

fn parse_digest(text: &str, digest: &str) -> Result<Digest, InvalidReference> {
    digest.parse().map_err(|source| InvalidReference::Digest {
        text: text.to_owned(),
        source,
    })
}

/// Whether the first component of a reference is a host: it has a dot or a port, or is `localhost`.
pub fn is_host(part: &str) -> bool {
    part.contains(['.', ':']) || part == "localhost" || part.chars().any(|c| c.is_ascii_uppercase())
}

pub(crate) fn canonical_host(host: &str) -> String {
    match host {
        "index.docker.io" | "registry-1.docker.io" => DOCKER_HUB.to_owned(),
        host => host.to_ascii_lowercase(),
    }
}

/// Official images of Docker Hub have the implicit path `library`.
fn official(host: &str, path: &str) -> String {
    if canonical_host(host) == DOCKER_HUB && !path.contains('/') {
        return format!("library/{path}");
    }
    path.to_owned()
}

/// Whether the text is `HOST[:PORT]`: a name, an IPv4 address or an IPv6 address in brackets.
pub fn is_registry(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) if address.parse::<std::net::Ipv6Addr>().is_ok() => {
                return port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
            }
            _ => return false,
        },
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    host.len() <= 253 && host.split('.').all(is_label) && port.is_none_or(is_port)
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

fn check_path(text: &str, path: &str) -> Result<(), InvalidReference> {
    if path.len() > MAX_NAME {
        return Err(InvalidReference::TooLong(text.chars().take(80).collect()));
    }
    match path.split('/').find(|part| !is_name_component(part)) {
        None => Ok(()),
        Some("") => Err(InvalidReference::Empty(text.to_owned())),
        Some(part) => Err(InvalidReference::Name {
            text: text.to_owned(),
            part: part.to_owned(),
        }),
    }
}

/// Whether the text is a repository name of the distribution specification.
pub fn is_repository_path(text: &str) -> bool {
    check_path(text, text).is_ok()
}

/// `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*`
fn is_name_component(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let separators = text.split(|c: char| is_word(u8::try_from(c).unwrap_or(0)));
    let bytes = text.as_bytes();
    let is_bounded = |byte: Option<&u8>| byte.copied().is_some_and(is_word);
    is_bounded(bytes.first())
        && is_bounded(bytes.last())
        && separators
            .filter(|part| !part.is_empty())
            .all(|part| matches!(part, "." | "_" | "__") || part.bytes().all(|byte| byte == b'-'))
}

fn check_tag(text: &str, tag: &str) -> Result<(), InvalidReference> {
    if is_tag(tag) {
        return Ok(());
    }
    Err(InvalidReference::Tag {
        text: text.to_owned(),
        tag: tag.to_owned(),
    })
}

/// `[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}`
pub fn is_tag(tag: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    tag.len() <= MAX_TAG
        && tag.bytes().next().is_some_and(is_word)
        && tag
            .bytes()
            .all(|byte| is_word(byte) || byte == b'.' || byte == b'-')
}

#[cfg(test)]
mod tests;

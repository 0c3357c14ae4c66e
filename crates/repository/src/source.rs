//! Parses the source of a chart.

use std::path::{Component, Path, PathBuf};

use url::Url;

use crate::Error;
use crate::oci::OciSource;

/// A source of one or more charts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A chart directory, an archive, a directory of charts, or a Helm repository on disk
    Local(PathBuf),
    /// The URL of an archive
    Archive(Url),
    /// The URL of a Helm repository
    Repository(Url),
    /// A prefix or a chart in an OCI registry
    Oci(OciSource),
    /// The name of a Repository object, which the caller must resolve
    Named(String),
}

impl Source {
    /// Parses `https://`, `http://`, `file://`, a path that begins with `/` or `.`, or the name of a Repository.
    ///
    /// Relative paths, also after `file://` as in `file://./charts`, are resolved against `base`.
    pub fn parse(text: &str, base: &Path) -> Result<Self, Error> {
        let invalid = |reason: &str| Error::InvalidSource {
            url: text.to_owned(),
            reason: reason.to_owned(),
        };
        if let Some(path) = text.strip_prefix("file://") {
            if path.is_empty() {
                return Err(invalid("the path is missing"));
            }
            return Ok(Self::Local(clean(&base.join(path))));
        }
        if text.starts_with(['/', '.']) {
            return Ok(Self::Local(clean(&base.join(text))));
        }
        if let Some(rest) = text.strip_prefix("oci://") {
            let source = OciSource::parse(rest);
            return source
                .map(Self::Oci)
                .map_err(|reason| Error::InvalidSource {
                    url: without_user(text),
                    reason,
                });
        }
        if is_git(text) {
            return Err(Error::Git {
                url: without_user(text),
            });
        }
        if !text.contains("://") {
            return Self::named(text).ok_or_else(|| invalid("it is neither a URL nor a name"));
        }
        let url = Url::parse(text).map_err(|error| Error::InvalidSource {
            url: without_user(text),
            reason: error.to_string(),
        })?;
        if !["http", "https"].contains(&url.scheme()) {
            return Err(invalid("unknown scheme; use https, http, file or oci"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Error::InvalidSource {
                url: without_user(text),
                reason: "a URL must not contain credentials".to_owned(),
            });
        }
        Ok(if is_archive(url.path()) {
            Self::Archive(url)
        } else {
            Self::Repository(url)
        })
    }

    fn named(text: &str) -> Option<Self> {
        let is_valid =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
        (!text.is_empty() && text.chars().all(is_valid)).then(|| Self::Named(text.to_owned()))
    }
}

/// The path without `.` components.
fn clean(path: &Path) -> PathBuf {
    let parts = path.components();
    let cleaned: PathBuf = parts.filter(|part| *part != Component::CurDir).collect();
    if cleaned.as_os_str().is_empty() {
        return PathBuf::from(".");
    }
    cleaned
}

/// Whether a source is a git repository.
fn is_git(text: &str) -> bool {
    text.starts_with("git://") || text.starts_with("git@") || text.rsplit('.').next() == Some("git")
}

/// Whether the extension of a path is that of a chart archive.
pub(crate) fn is_archive(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    [".tgz", ".tar.gz"].iter().any(|end| path.ends_with(end))
}

/// A source for messages: a URL without credentials, query and fragment.
pub fn redacted(text: &str) -> String {
    match Url::parse(text) {
        Ok(url) if url.scheme() != "file" => outrigger_transport::redact(&url),
        _ => without_user(text),
    }
}

/// The URL without credentials, also if it does not parse.
fn without_user(text: &str) -> String {
    match (text.split_once("://"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Source, Error> {
        Source::parse(text, Path::new("/base"))
    }

    #[test]
    fn parses_each_kind_of_source() {
        let local = |path: &str| Source::Local(PathBuf::from(path));
        assert_eq!(parse("file:///charts").unwrap(), local("/charts"));
        assert_eq!(parse("file://./charts").unwrap(), local("/base/charts"));
        assert_eq!(parse("file://charts").unwrap(), local("/base/charts"));
        assert_eq!(parse("./charts").unwrap(), local("/base/charts"));
        assert!(matches!(
            parse("https://x/a").unwrap(),
            Source::Repository(_)
        ));
        assert!(matches!(
            parse("https://x/a-1.0.TGZ?token=1").unwrap(),
            Source::Archive(_)
        ));
        assert_eq!(parse("stable").unwrap(), Source::Named("stable".to_owned()));
    }

    #[test]
    fn rejects_invalid_sources_without_printing_credentials() {
        assert!(matches!(parse("oci://x.y/z").unwrap(), Source::Oci(_)));
        for text in [
            "",
            "ftp://x",
            "file://",
            "Not A Name",
            "https://",
            "oci://",
            "oci://X Y",
        ] {
            assert!(
                matches!(parse(text), Err(Error::InvalidSource { .. })),
                "{text}"
            );
        }
        let error = parse("https://ann:hunter2@x/").unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
        assert!(
            error.contains("a URL must not contain credentials"),
            "{error}"
        );
    }
}

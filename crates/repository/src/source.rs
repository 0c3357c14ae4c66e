//! What a text says about where charts are.

use std::path::{Component, Path, PathBuf};

use url::Url;

use crate::Error;

/// A place with one chart or many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A chart folder, an archive, a folder of charts, or a Helm repository on disk
    Local(PathBuf),
    /// An archive on a server
    Archive(Url),
    /// A Helm repository on a server
    Repository(Url),
    /// The name of a Repository, which somebody else must look up
    Named(String),
}

impl Source {
    /// Reads `https://`, `http://`, `file://`, a path that begins with `/` or `.`, or the name of a Repository.
    ///
    /// What follows `file://` is a path. If it is relative, as in `file://./charts`, it begins at `base`.
    pub fn parse(text: &str, base: &Path) -> Result<Self, Error> {
        let bad = |reason: &str| Error::BadSource {
            url: text.to_owned(),
            reason: reason.to_owned(),
        };
        if let Some(path) = text.strip_prefix("file://") {
            if path.is_empty() {
                return Err(bad("a path is missing"));
            }
            return Ok(Self::Local(plain(&base.join(path))));
        }
        if text.starts_with(['/', '.']) {
            return Ok(Self::Local(plain(&base.join(text))));
        }
        if text.starts_with("oci://") {
            return Err(Error::Oci {
                url: text.to_owned(),
            });
        }
        if !text.contains("://") {
            return Self::named(text).ok_or_else(|| bad("it is neither a URL nor a name"));
        }
        let url = Url::parse(text).map_err(|error| Error::BadSource {
            url: without_user(text),
            reason: error.to_string(),
        })?;
        if !["http", "https"].contains(&url.scheme()) {
            return Err(bad("the scheme is unknown; use https, http, file or oci"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Error::BadSource {
                url: without_user(text),
                reason: "credentials do not belong into a URL".to_owned(),
            });
        }
        Ok(if is_archive(url.path()) {
            Self::Archive(url)
        } else {
            Self::Repository(url)
        })
    }

    fn named(text: &str) -> Option<Self> {
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
        (!text.is_empty() && text.chars().all(good)).then(|| Self::Named(text.to_owned()))
    }
}

/// The path without parts that mean nothing.
fn plain(path: &Path) -> PathBuf {
    let parts = path.components();
    let plain: PathBuf = parts.filter(|part| *part != Component::CurDir).collect();
    if plain.as_os_str().is_empty() {
        return PathBuf::from(".");
    }
    plain
}

/// Whether a path is that of a chart archive.
pub(crate) fn is_archive(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    [".tgz", ".tar.gz"].iter().any(|end| path.ends_with(end))
}

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
    fn each_form_is_told_from_the_others() {
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
    fn what_is_no_source_is_refused_and_passwords_are_not_repeated() {
        assert!(matches!(parse("oci://x/y"), Err(Error::Oci { .. })));
        for text in ["", "ftp://x", "file://", "Not A Name", "https://"] {
            assert!(
                matches!(parse(text), Err(Error::BadSource { .. })),
                "{text}"
            );
        }
        let error = parse("https://ann:hunter2@x/").unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
        assert!(
            error.contains("credentials do not belong into a URL"),
            "{error}"
        );
    }
}

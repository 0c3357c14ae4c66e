//! Which redirects are followed, and which servers may receive credentials. Pure.

use url::Url;

use crate::redact;

pub const MAX_REDIRECTS: usize = 10;

/// A redirect that is not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{url} redirects {reason}")]
pub struct RedirectError {
    pub url: String,
    pub reason: String,
}

/// The target of a redirect. Rejects a downgrade from https, and other schemes.
pub fn follow(from: &Url, location: Option<&str>) -> Result<Url, RedirectError> {
    let rejected = |reason: String| RedirectError {
        url: redact(from),
        reason,
    };
    let location = location.ok_or_else(|| rejected("without a location".to_owned()))?;
    let mut to = from
        .join(location)
        .map_err(|error| rejected(format!("to an invalid URL: {error}")))?;
    if from.scheme() == "https" && to.scheme() != "https" {
        return Err(rejected(format!("from https to {}", redact(&to))));
    }
    if !["http", "https"].contains(&to.scheme()) {
        return Err(rejected(format!("to a {} URL", to.scheme())));
    }
    // Credentials in the location are the server's, not ours.
    let _ = to.set_password(None);
    let _ = to.set_username("");
    Ok(to)
}

/// Whether scheme, host and port are the same.
pub fn is_same_origin(a: &Url, b: &Url) -> bool {
    a.origin() == b.origin()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn follows_relative_redirects_and_rejects_downgrades() {
        let from = url("https://a/charts/x.tgz");
        assert_eq!(
            follow(&from, Some("../y.tgz")).unwrap(),
            url("https://a/y.tgz")
        );
        assert_eq!(
            follow(&from, Some("https://u:p@b/z")).unwrap(),
            url("https://b/z")
        );
        for location in [
            None,
            Some("http://a/x"),
            Some("file:///etc/passwd"),
            Some("https://"),
        ] {
            assert!(
                matches!(follow(&from, location), Err(RedirectError { .. })),
                "{location:?}"
            );
        }
    }

    #[test]
    fn another_port_or_scheme_is_another_origin() {
        let repository = url("https://a/x");
        assert!(is_same_origin(&repository, &url("https://a:443/y")));
        for other in [
            "https://a:8443/x",
            "http://a/x",
            "https://b/x",
            "https://a.b/x",
        ] {
            assert!(!is_same_origin(&repository, &url(other)), "{other}");
        }
    }
}

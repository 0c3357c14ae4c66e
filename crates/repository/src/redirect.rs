//! Where may a redirect lead, and who may hear our credentials? Pure.

use url::Url;

use crate::Error;
use crate::error::shown;

/// So often a server may send us on.
pub(crate) const MAX: usize = 10;

/// The address that a redirect leads to.
pub(crate) fn follow(from: &Url, location: Option<&str>) -> Result<Url, Error> {
    let refused = |reason: String| Error::Redirect {
        url: shown(from),
        reason,
    };
    let location = location.ok_or_else(|| refused("without saying where".to_owned()))?;
    let mut to = from
        .join(location)
        .map_err(|error| refused(format!("to what is no URL: {error}")))?;
    if from.scheme() == "https" && to.scheme() != "https" {
        return Err(refused(format!("from https to {}", shown(&to))));
    }
    if !["http", "https"].contains(&to.scheme()) {
        return Err(refused(format!("to a {} URL", to.scheme())));
    }
    // A password in a redirect would be the server's, not ours.
    let _ = to.set_password(None);
    let _ = to.set_username("");
    Ok(to)
}

/// Whether two addresses are of the same server: scheme, host and port.
pub(crate) fn same_server(one: &Url, other: &Url) -> bool {
    one.origin() == other.origin()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn a_redirect_may_be_relative_and_may_not_lose_tls() {
        let from = url("https://a/charts/x.tgz");
        assert_eq!(
            follow(&from, Some("../y.tgz")).unwrap(),
            url("https://a/y.tgz")
        );
        assert_eq!(
            follow(&from, Some("https://u:p@b/z")).unwrap(),
            url("https://b/z")
        );
        for bad in [
            None,
            Some("http://a/x"),
            Some("file:///etc/passwd"),
            Some("https://"),
        ] {
            assert!(
                matches!(follow(&from, bad), Err(Error::Redirect { .. })),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn another_port_or_scheme_is_another_server() {
        let here = url("https://a/x");
        assert!(same_server(&here, &url("https://a:443/y")));
        for other in [
            "https://a:8443/x",
            "http://a/x",
            "https://b/x",
            "https://a.b/x",
        ] {
            assert!(!same_server(&here, &url(other)), "{other}");
        }
    }
}

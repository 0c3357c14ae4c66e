//! Names of registries on the command line: `HOST[:PORT]`, for some flags with a path. A URL is a common mistake.

use outrigger_oci::{Mirrors, Repository};

/// Why a name is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidName {
    #[error("a registry is named without a scheme: {name}")]
    Url { name: String },
    #[error(
        "a registry is named without a scheme: {name}; --plain-http {host} reaches it over plain HTTP"
    )]
    PlainUrl { name: String, host: String },
    #[error("https:// is not plain HTTP; leave the flag out to reach {0} over TLS")]
    Tls(String),
    #[error("only the host is meant: {0}")]
    Path(String),
    #[error("expected HOST[:PORT], such as registry.local:5000")]
    Host,
    #[error("expected HOST[:PORT][/PATH], such as registry.local:5000/mirror")]
    Prefix,
    #[error(transparent)]
    Mirror(#[from] outrigger_oci::InvalidMirror),
}

/// A registry that is reached over plain HTTP. Its URL is accepted, too, because it says the same.
pub(crate) fn parse_plain_http(text: &str) -> Result<String, InvalidName> {
    let (scheme, name) = split_scheme(text);
    let host = host(name)?;
    match scheme {
        Some("https") => Err(InvalidName::Tls(host)),
        None | Some("http") => Ok(host),
        Some(_) => Err(InvalidName::Url { name: host }),
    }
}

/// A server, without a scheme.
pub(crate) fn parse_server(text: &str) -> Result<String, InvalidName> {
    let (scheme, name) = split_scheme(text);
    let name = host(name)?;
    match scheme {
        None => Ok(name),
        Some(_) => Err(InvalidName::Url { name }),
    }
}

/// The host of a token service, of which registries send the URL.
pub(crate) fn parse_realm(text: &str) -> Result<String, InvalidName> {
    let (_, name) = split_scheme(text);
    let name = name.split('/').next().unwrap_or_default();
    let name = host(name)?;
    // Brackets belong to an IPv6 address, so a port follows them.
    let end = name.rfind(']').map_or(0, |bracket| bracket + 1);
    let port = name[end..]
        .find(':')
        .map_or(name.len(), |colon| end + colon);
    Ok(name[..port].to_owned())
}

/// A registry, and optionally a path in it.
pub(crate) fn parse_prefix(text: &str) -> Result<String, InvalidName> {
    let (scheme, name) = split_scheme(text);
    let name = name.trim_end_matches('/');
    let (host, path) = name.split_once('/').unwrap_or((name, "any"));
    Repository::new(host, path).map_err(|_| InvalidName::Prefix)?;
    match scheme {
        None => Ok(name.to_owned()),
        Some("http") => Err(InvalidName::PlainUrl {
            name: name.to_owned(),
            host: host.to_owned(),
        }),
        Some(_) => Err(InvalidName::Url {
            name: name.to_owned(),
        }),
    }
}

/// A rule `PREFIX=TARGET`, which is checked, and kept as text.
pub(crate) fn parse_mirror(text: &str) -> Result<String, InvalidName> {
    if let Some((prefix, target)) = text.split_once('=') {
        for side in [prefix, target] {
            if side.contains("://") {
                parse_prefix(side)?;
            }
        }
    }
    Mirrors::default().add(text)?;
    Ok(text.to_owned())
}

/// The host of a registry name with a path.
pub(crate) fn host_of(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}

fn host(name: &str) -> Result<String, InvalidName> {
    let name = name.trim_end_matches('/');
    let (host, path) = name.split_once('/').unwrap_or((name, ""));
    let found = Repository::new(host, "any").map_err(|_| InvalidName::Host)?;
    let host = found.registry().to_owned();
    if path.is_empty() {
        Ok(host)
    } else {
        Err(InvalidName::Path(host))
    }
}

fn split_scheme(text: &str) -> (Option<&str>, &str) {
    match text.split_once("://") {
        Some((scheme, name)) => (Some(scheme), name),
        None => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_a_plain_registry_is_its_host_and_never_ignored() {
        for text in [
            "r.local:5000",
            "http://r.local:5000",
            "http://r.local:5000/",
            "R.Local:5000",
        ] {
            assert_eq!(parse_plain_http(text).unwrap(), "r.local:5000", "{text}");
        }
        let tls = parse_plain_http("https://r.local").unwrap_err();
        assert_eq!(tls, InvalidName::Tls("r.local".to_owned()));
        let path = parse_plain_http("http://r.local/a/b").unwrap_err();
        assert_eq!(path, InvalidName::Path("r.local".to_owned()));
        for text in [
            "",
            "http://",
            "oci://r.local",
            "r.local:x",
            "a b",
            "u:p@r.local",
        ] {
            assert!(parse_plain_http(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_realm_is_the_host_of_its_url() {
        for (text, host) in [
            ("auth.local", "auth.local"),
            ("https://auth.local:8443/token", "auth.local"),
            ("[::1]:5000", "[::1]"),
        ] {
            assert_eq!(parse_realm(text).unwrap(), host);
        }
        assert!(parse_realm("https:///token").is_err());
    }

    #[test]
    fn a_registry_is_named_without_a_scheme() {
        for text in ["r.local:5000", "r.local/a/b", "localhost"] {
            assert_eq!(parse_prefix(text).unwrap(), text);
        }
        assert_eq!(parse_prefix("r.local/a/").unwrap(), "r.local/a");
        let error = parse_prefix("http://r.local:5000/a").unwrap_err();
        assert_eq!(
            error.to_string(),
            "a registry is named without a scheme: r.local:5000/a; --plain-http r.local:5000 reaches it over plain HTTP"
        );
        for text in ["https://r.local", "oci://r.local/a"] {
            let error = parse_prefix(text).unwrap_err();
            assert!(matches!(error, InvalidName::Url { .. }), "{text}: {error}");
        }
        for text in ["", "/a", "r.local/A", "r.local/a:1", "a b"] {
            assert_eq!(
                parse_prefix(text).unwrap_err(),
                InvalidName::Prefix,
                "{text}"
            );
        }
    }

    #[test]
    fn a_mirror_is_named_without_a_scheme() {
        assert!(parse_mirror("*=r.local:5000").is_ok());
        let error = parse_mirror("docker.io=https://r.local").unwrap_err();
        assert!(error.to_string().ends_with(": r.local"), "{error}");
        assert!(parse_mirror("docker.io").is_err());
    }
}

//! Addresses to listen on: how users write them, and what to do when one cannot be used.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use outrigger_apiserver::transport::{ListenError, Listener};

use super::kubeconfig_file;
use crate::report::hinted;

/// Parses `HOST:PORT`, `:PORT` or `HOST`. The host is an IP address or `localhost`, the default; the default port is 0.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    parse_with_port(text, 0)
}

/// As [`parse_address`], with another default port.
pub(crate) fn parse_with_port(text: &str, default_port: u16) -> Result<SocketAddr, String> {
    let default = default_port.to_string();
    let (host, port) = match text.parse::<IpAddr>() {
        Ok(address) => return Ok(SocketAddr::new(address, default_port)),
        Err(_) => text.rsplit_once(':').unwrap_or((text, &default)),
    };
    let address = match host.trim_start_matches('[').trim_end_matches(']') {
        "" | "localhost" => Some(Ipv4Addr::LOCALHOST.into()),
        host => host.parse().ok(),
    };
    match (address, port.parse()) {
        (Some(address), Ok(port)) if !text.is_empty() => Ok(SocketAddr::new(address, port)),
        _ => Err(
            "not an IP address or localhost and a port, such as 127.0.0.1:7445 or :7445".to_owned(),
        ),
    }
}

/// Adds what to do to an error of [`outrigger_apiserver::transport::Listener::bind`].
fn explain(error: ListenError) -> anyhow::Error {
    let hint = match &error {
        ListenError::NotLoopback { .. } => {
            Some("--allow-remote permits it; the admin token grants full access".to_owned())
        }
        ListenError::Bind { source, .. } => bind_hint(source.kind()),
    };
    hinted(error, hint)
}

/// Listens. Port 0 is the one that an earlier server on the data folder had, if it is free: kubeconfigs of that server stay
/// valid.
pub(super) async fn bind(
    address: SocketAddr,
    allow_remote: bool,
    data: Option<&Path>,
) -> anyhow::Result<Listener> {
    let earlier = match data {
        Some(folder) if address.port() == 0 => kubeconfig_file::port(&folder.join("kubeconfig")),
        _ => None,
    };
    if let Some(port) = earlier
        && let Ok(listener) =
            Listener::bind(SocketAddr::new(address.ip(), port), allow_remote).await
    {
        return Ok(listener);
    }
    let listener = Listener::bind(address, allow_remote).await;
    listener.map_err(explain)
}

/// What to do when an address cannot be bound.
pub(super) fn bind_hint(kind: ErrorKind) -> Option<String> {
    let hint = match kind {
        ErrorKind::AddrInUse | ErrorKind::PermissionDenied => {
            "choose another port, or 0 for a free one"
        }
        ErrorKind::AddrNotAvailable => "choose an address of this machine, such as 127.0.0.1",
        _ => return None,
    };
    Some(hint.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_default_host_and_port() {
        for (text, expected) in [
            ("127.0.0.1:7445", "127.0.0.1:7445"),
            ("127.0.0.1", "127.0.0.1:0"),
            ("localhost:7445", "127.0.0.1:7445"),
            ("localhost", "127.0.0.1:0"),
            (":7445", "127.0.0.1:7445"),
            ("[::1]:7445", "[::1]:7445"),
            ("::1", "[::1]:0"),
        ] {
            assert_eq!(parse_address(text), Ok(expected.parse().unwrap()), "{text}");
        }
        for text in [
            "",
            "7445",
            "example.com:7445",
            "127.0.0.1:",
            "127.0.0.1:99999",
        ] {
            let error = parse_address(text).unwrap_err();
            assert!(error.contains("such as 127.0.0.1:7445"), "{text}");
        }
    }

    #[test]
    fn a_default_port_is_for_addresses_without_one() {
        for (text, expected) in [
            ("localhost", "127.0.0.1:5000"),
            ("::1", "[::1]:5000"),
            ("0.0.0.0", "0.0.0.0:5000"),
            ("localhost:0", "127.0.0.1:0"),
            (":7445", "127.0.0.1:7445"),
        ] {
            let parsed = parse_with_port(text, 5000);
            assert_eq!(parsed, Ok(expected.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn the_hint_fits_the_reason_why_an_address_cannot_be_used() {
        for kind in [ErrorKind::AddrInUse, ErrorKind::PermissionDenied] {
            assert!(bind_hint(kind).unwrap().contains("choose another port"));
        }
        let hint = bind_hint(ErrorKind::AddrNotAvailable).unwrap();
        assert!(hint.contains("an address of this machine"));
        assert_eq!(bind_hint(ErrorKind::OutOfMemory), None);
    }
}

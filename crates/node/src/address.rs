//! Where a machine is: user, host and port.

use std::fmt;
use std::str::FromStr;

/// The port of SSH.
pub const DEFAULT_PORT: u16 = 22;

/// The address of an SSH server and the user to log in as: `user@host:port`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    user: Box<str>,
    host: Box<str>,
    port: u16,
}

/// Why a text is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAddress {
    #[error("address {0:?} has no host")]
    NoHost(String),
    #[error("address {0:?} has an invalid port")]
    Port(String),
    #[error("address {0:?} contains spaces or control characters")]
    Characters(String),
}

impl Address {
    /// The host is a name or an IP address, without brackets.
    pub fn new(
        user: impl Into<String>,
        host: impl Into<String>,
        port: u16,
    ) -> Result<Self, InvalidAddress> {
        let (user, host) = (user.into(), host.into());
        let is_bad = |c: char| c.is_whitespace() || c.is_control();
        if host.contains(is_bad) || user.contains(is_bad) {
            return Err(InvalidAddress::Characters(format!("{user}@{host}")));
        }
        if host.is_empty() {
            return Err(InvalidAddress::NoHost(format!("{user}@{host}")));
        }
        if port == 0 {
            return Err(InvalidAddress::Port(format!("{user}@{host}:{port}")));
        }
        Ok(Self {
            user: user.into(),
            host: host.into(),
            port,
        })
    }

    pub fn user(&self) -> &str {
        &self.user
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

impl FromStr for Address {
    type Err = InvalidAddress;

    /// Parses `[user@]host[:port]`. The user defaults to root, the port to 22. IPv6 addresses with a port need brackets.
    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let (user, rest) = text.rsplit_once('@').unwrap_or(("root", text));
        let (host, port) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None if rest.matches(':').count() > 1 => (rest, None),
            None => rest
                .split_once(':')
                .map_or((rest, None), |(h, p)| (h, Some(p))),
        };
        let port = port.map_or(Ok(DEFAULT_PORT), |port| {
            port.parse()
                .map_err(|_| InvalidAddress::Port(text.to_owned()))
        })?;
        Self::new(user, host, port)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "{}@[{}]:{}", self.user, self.host, self.port)
        } else {
            write!(f, "{}@{}:{}", self.user, self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_what_it_displays() -> Result<(), InvalidAddress> {
        for (text, displayed) in [
            ("10.0.0.9", "root@10.0.0.9:22"),
            ("admin@node-1:2222", "admin@node-1:2222"),
            ("fe80::1", "root@[fe80::1]:22"),
            ("a@[fe80::1]:23", "a@[fe80::1]:23"),
            ("a@b@host", "a@b@host:22"),
        ] {
            let address: Address = text.parse()?;
            assert_eq!(address.to_string(), displayed);
            assert_eq!(displayed.parse::<Address>()?, address);
        }
        Ok(())
    }

    #[test]
    fn refuses_hosts_and_ports_that_cannot_be() {
        for text in ["", "root@", "h:0", "h:65536", "h:x", "a b", "h\n"] {
            assert!(text.parse::<Address>().is_err(), "{text:?}");
        }
    }
}

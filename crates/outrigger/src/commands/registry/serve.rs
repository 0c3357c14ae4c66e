//! `outrigger registry serve`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use outrigger_registry::{Access, Server, ServerError, ServerOptions, Store, StoreOptions};

use crate::commands::listen::{bind_hint, parse_with_port};
use crate::commands::runtime;
use crate::commands::size::Size;
use crate::input_file;
use crate::printer::Printer;
use crate::report::{HintExt as _, hinted, note};

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger registry serve --data ./registry
  outrigger registry serve --data ./registry --listen 0.0.0.0:5000 --tls-cert tls.crt --tls-key tls.key \\
    --htpasswd users --anonymous-pull
  helm push web-1.0.0.tgz oci://127.0.0.1:5000/charts --plain-http
  curl --data-binary @web-1.0.0.tgz http://127.0.0.1:5000/api/charts";

#[derive(Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Args {
    /// Folder of the registry
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Address to listen on; the port is 5000 unless one is given, and 0 selects a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:5000", value_parser = parse_listen)]
    listen: SocketAddr,
    /// Certificate chain in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Key of the certificate in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Users and bcrypt hashes of their passwords, as `htpasswd -B` writes them
    #[arg(long, value_name = "FILE")]
    htpasswd: Option<PathBuf>,
    /// Let clients without credentials pull
    #[arg(long, requires = "htpasswd")]
    anonymous_pull: bool,
    /// Issue tokens, so that clients send their password once
    #[arg(long, requires = "htpasswd")]
    tokens: bool,
    /// Listen on other than loopback addresses without users, for everyone
    #[arg(long)]
    allow_anonymous_push: bool,
    /// Most bytes to store, such as 50Gi
    #[arg(long, value_name = "SIZE")]
    quota: Option<Size>,
    /// Do not accept pushes and deletions
    #[arg(long)]
    read_only: bool,
}

/// The port that registries use by convention.
const PORT: u16 = 5000;

fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    parse_with_port(text, PORT)
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let options = args.server_options()?;
    let store_options = StoreOptions {
        quota: args.quota.map(Size::bytes),
        ..StoreOptions::default()
    };
    let store = Store::open(&args.data, store_options)
        .with_context(|| format!("failed to open the registry {}", args.data.display()))?;
    runtime::run(async {
        let shutdown = runtime::shutdown_signal(None)?;
        let bound = Server::bind(args.listen, store, options).await;
        let server = bound.map_err(|error| {
            let hint = match &error {
                ServerError::Listen { source, .. } => bind_hint(source.kind()),
                _ => None,
            };
            hinted(error, hint)
        })?;
        let address = server.address().context("the listener has no address")?;
        let served = Served {
            address,
            has_tls: args.tls_cert.is_some(),
            has_users: args.htpasswd.is_some(),
            is_read_only: args.read_only,
        };
        printer.line(&served.url())?;
        for line in served.notes() {
            note(&line);
        }
        server.run(shutdown).await;
        Ok(ExitCode::SUCCESS)
    })
}

/// What users need to know about the registry once it listens.
#[derive(Debug, Clone, Copy)]
struct Served {
    address: SocketAddr,
    has_tls: bool,
    has_users: bool,
    is_read_only: bool,
}

impl Served {
    /// The address that clients on this machine use.
    fn local(&self) -> SocketAddr {
        let ip = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        SocketAddr::new(ip, self.address.port())
    }

    fn url(&self) -> String {
        let scheme = if self.has_tls { "https" } else { "http" };
        format!("{scheme}://{}", self.local())
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let ip = self.address.ip();
        if self.has_users && !self.has_tls && !ip.is_loopback() {
            let text = "warning: passwords are sent over plain HTTP, which others on the network can read; --tls-cert and --tls-key serve HTTPS";
            notes.push(text.to_owned());
        }
        if ip.is_unspecified() {
            let port = self.address.port();
            notes.push(format!(
                "listening on all addresses; other machines reach it at the name of this one, port {port}"
            ));
        }
        notes.push(format!("ready; try: {}", self.example()));
        notes
    }

    /// A command that works, once its words in capitals are replaced.
    fn example(&self) -> String {
        let user = if self.has_users {
            " --username NAME"
        } else {
            ""
        };
        if self.is_read_only {
            return format!("helm repo add NAME {}{user}", self.url());
        }
        let address = self.local();
        let plain = if self.has_tls {
            String::new()
        } else {
            format!(" --plain-http {address}")
        };
        let login = if self.has_users {
            " --username NAME --password-stdin"
        } else {
            ""
        };
        format!("outrigger chart push FILE oci://{address}/charts{plain}{login}")
    }
}

impl Args {
    fn server_options(&self) -> anyhow::Result<ServerOptions> {
        let mut access = match &self.htpasswd {
            Some(path) => Access::read(path)?,
            None if self.listen.ip().is_loopback()
                || self.allow_anonymous_push
                || self.read_only =>
            {
                Access::default()
            }
            None => {
                let refused = Err(anyhow::anyhow!(
                    "refusing to accept pushes from everyone on {}",
                    self.listen
                ));
                return refused.hint("add --htpasswd FILE, --read-only, or --allow-anonymous-push");
            }
        };
        access.anonymous_pull = self.anonymous_pull;
        access.tokens = self.tokens;
        let read = |path: &PathBuf| {
            input_file::read(path).context("failed to read the certificate or its key")
        };
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Some((read(certificate)?, read(key)?)),
            _ => None,
        };
        let read_only = self.read_only;
        Ok(ServerOptions {
            access,
            tls,
            read_only,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(address: &str) -> Served {
        Served {
            address: address.parse().unwrap(),
            has_tls: false,
            has_users: false,
            is_read_only: false,
        }
    }

    #[test]
    fn the_ready_line_is_a_command_that_works() {
        let plain = served("127.0.0.1:5000");
        assert_eq!(plain.url(), "http://127.0.0.1:5000");
        assert_eq!(
            plain.notes(),
            [
                "ready; try: outrigger chart push FILE oci://127.0.0.1:5000/charts --plain-http 127.0.0.1:5000"
            ]
        );
        let restricted = Served {
            has_tls: true,
            has_users: true,
            ..plain
        };
        assert_eq!(
            restricted.notes(),
            [
                "ready; try: outrigger chart push FILE oci://127.0.0.1:5000/charts --username NAME --password-stdin"
            ]
        );
        let read_only = Served {
            is_read_only: true,
            ..plain
        };
        assert_eq!(
            read_only.notes(),
            ["ready; try: helm repo add NAME http://127.0.0.1:5000"]
        );
    }

    #[test]
    fn clients_are_never_sent_to_an_unspecified_address() {
        for (address, url) in [
            ("0.0.0.0:6011", "http://127.0.0.1:6011"),
            ("[::]:6011", "http://[::1]:6011"),
        ] {
            let served = served(address);
            assert_eq!(served.url(), url);
            let notes = served.notes().join("\n");
            assert!(notes.contains("all addresses"), "{notes}");
            assert!(!notes.contains(address), "{notes}");
        }
    }

    #[test]
    fn passwords_over_plain_http_are_warned_about_except_on_loopback() {
        let is_warned = |address: &str, has_tls| {
            let has_users = true;
            let served = Served {
                has_tls,
                has_users,
                ..served(address)
            };
            served.notes()[0].starts_with("warning: passwords")
        };
        assert!(is_warned("0.0.0.0:5000", false) && is_warned("10.0.0.1:5000", false));
        assert!(!is_warned("0.0.0.0:5000", true) && !is_warned("127.0.0.1:5000", false));
    }

    #[test]
    fn the_port_is_that_of_registries_unless_one_is_given() {
        assert_eq!(parse_listen("localhost").unwrap().port(), PORT);
        assert_eq!(parse_listen("localhost:0").unwrap().port(), 0);
    }
}

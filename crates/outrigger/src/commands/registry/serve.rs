//! `outrigger registry serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use outrigger_registry::{Access, Server, ServerError, ServerOptions, Store, StoreOptions};

use crate::commands::listen::{bind_hint, parse_address};
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
    /// Address to listen on
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:5000", value_parser = parse_address)]
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

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let options = args.server_options()?;
    let store_options = StoreOptions {
        quota: args.quota.map(Size::bytes),
        ..StoreOptions::default()
    };
    let store = Store::open(&args.data, store_options)
        .with_context(|| format!("failed to open the registry {}", args.data.display()))?;
    let scheme = if options.tls.is_some() {
        "https"
    } else {
        "http"
    };
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
        printer.line(&format!("{scheme}://{address}"))?;
        note(&format!(
            "ready; try: helm repo add NAME {scheme}://{address}, or outrigger chart push FILE oci://{address}/charts"
        ));
        server.run(shutdown).await;
        Ok(ExitCode::SUCCESS)
    })
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

//! Flags of all commands that talk to registries, and the client that they configure.

use std::path::PathBuf;

use anyhow::Context as _;
use outrigger_oci::{Client, DockerConfig, Mirrors, Options, Tls};

use crate::input_file;
use crate::report::{self, HintExt as _};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RegistryFlags {
    /// Registry to reach over plain HTTP; repeatable
    #[arg(long, value_name = "HOST[:PORT]")]
    plain_http: Vec<String>,
    /// Certificate authorities to trust, in PEM
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Pull PREFIX from TARGET; `*` stands for all registries; repeatable
    #[arg(long = "mirror", value_name = "PREFIX=TARGET")]
    mirrors: Vec<String>,
    /// Never pull from the registry itself if there is a mirror
    #[arg(long)]
    mirrors_only: bool,
    /// Host of a token service that may receive credentials of registries; repeatable
    #[arg(long = "token-realm", value_name = "HOST")]
    token_realms: Vec<String>,
    /// Follow redirects to loopback and link-local addresses
    #[arg(long)]
    allow_local_redirects: bool,
    /// File with credentials, in the format of Docker's config.json
    #[arg(long, value_name = "FILE")]
    authfile: Option<PathBuf>,
}

impl RegistryFlags {
    pub(crate) fn client(&self) -> anyhow::Result<Client> {
        Ok(Client::new(self.options()?))
    }

    fn mirrors(&self) -> anyhow::Result<Mirrors> {
        let mut mirrors = Mirrors::default();
        mirrors.only = self.mirrors_only;
        for rule in &self.mirrors {
            mirrors.add(rule)?;
        }
        Ok(mirrors)
    }

    /// The same settings for fetching charts.
    pub(crate) fn chart_options(
        &self,
        mut options: outrigger_repository::Options,
    ) -> anyhow::Result<outrigger_repository::Options> {
        options.plain_http = self.plain_http.iter().cloned().collect();
        options.image_mirrors = self.mirrors()?;
        Ok(options)
    }

    pub(crate) fn options(&self) -> anyhow::Result<Options> {
        let docker = match &self.authfile {
            Some(path) => {
                anyhow::ensure!(path.exists(), "{} does not exist", path.display());
                DockerConfig::read(path)
            }
            None => DockerConfig::load(),
        };
        let mut options = Options {
            plain_http: self.plain_http.iter().cloned().collect(),
            docker: docker.hint("log in again, or pass another file with --authfile")?,
            mirrors: self.mirrors()?,
            token_realms: self.token_realms.iter().cloned().collect(),
            allow_local_redirects: self.allow_local_redirects,
            ..Options::default()
        };
        if let Some(path) = &self.ca_file {
            let ca =
                input_file::read(path).context("failed to read the certificate authorities")?;
            let tls = Tls {
                ca: Some(ca),
                client: None,
            };
            options.tls.insert(String::new(), tls);
        }
        Ok(options)
    }
}

/// Adds the hint of a registry error.
pub(crate) fn hinted(error: outrigger_oci::Error) -> anyhow::Error {
    let hint = error.hint();
    report::hinted(error, hint)
}

/// Adds the hint of an error of a chart repository.
pub(crate) fn fetch_error(error: outrigger_repository::Error) -> anyhow::Error {
    let hint = error.hint();
    report::hinted(error, hint)
}

//! The address, the CA certificates and the token of a server, from its kubeconfig.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::Value;

#[derive(Clone)]
pub(crate) struct Endpoint {
    /// Host and port.
    pub(crate) authority: String,
    /// The administrator's bearer token.
    pub(crate) token: String,
    pub(crate) roots: RootCertStore,
    pub(crate) kubeconfig: PathBuf,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("authority", &self.authority)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Reads the first cluster and the first user of a kubeconfig.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let config = outrigger_goyaml::parse_json(&fs_err::read(path)?)?;
        let cluster = &config["clusters"][0]["cluster"];
        let server = text(cluster, "server")?;
        let authority = server
            .strip_prefix("https://")
            .with_context(|| format!("the server {server:?} is not an https URL"))?;
        let pem = match cluster["certificate-authority-data"].as_str() {
            Some(data) => STANDARD.decode(data)?,
            None => fs_err::read(text(cluster, "certificate-authority")?)?,
        };
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&pem) {
            roots.add(certificate?)?;
        }
        Ok(Self {
            authority: authority.trim_end_matches('/').to_owned(),
            token: text(&config["users"][0]["user"], "token")?.to_owned(),
            roots,
            kubeconfig: path.to_owned(),
        })
    }

    /// The host without the port.
    pub(crate) fn host(&self) -> &str {
        self.authority
            .rsplit_once(':')
            .map_or(&*self.authority, |(host, _)| host)
    }
}

fn text<'a>(value: &'a Value, key: &str) -> anyhow::Result<&'a str> {
    value[key]
        .as_str()
        .with_context(|| format!("the kubeconfig has no {key}"))
}

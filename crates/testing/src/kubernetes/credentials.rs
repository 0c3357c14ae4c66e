//! Certificates, keys and tokens of one API server, written to its directory.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, PKCS_RSA_SHA256, SanType,
};
use serde_json::json;

/// The paths of the files.
#[derive(Debug)]
pub(super) struct Credentials {
    pub(super) authority: PathBuf,
    pub(super) server_certificate: PathBuf,
    pub(super) server_key: PathBuf,
    pub(super) service_account_key: PathBuf,
    pub(super) tokens: PathBuf,
    pub(super) kubeconfig: PathBuf,
}

impl Credentials {
    pub(super) fn write(directory: &Path, address: Ipv4Addr) -> anyhow::Result<Self> {
        let files = Self {
            authority: directory.join("ca.crt"),
            server_certificate: directory.join("server.crt"),
            server_key: directory.join("server.key"),
            service_account_key: directory.join("service-account.key"),
            tokens: directory.join("tokens.csv"),
            kubeconfig: directory.join("kubeconfig"),
        };
        let authority = authority()?;
        let server_key = KeyPair::generate()?;
        let mut server = CertificateParams::new(vec!["localhost".to_owned()])?;
        server
            .subject_alt_names
            .push(SanType::IpAddress(address.into()));
        let server = server.signed_by(&server_key, &authority)?;
        let token = KeyPair::generate()?
            .serialize_pem()
            .lines()
            .nth(1)
            .unwrap_or_default()
            .to_owned();
        fs_err::write(&files.authority, authority.pem())?;
        fs_err::write(&files.server_certificate, server.pem())?;
        fs_err::write(&files.server_key, server_key.serialize_pem())?;
        fs_err::write(
            &files.service_account_key,
            KeyPair::generate_for(&PKCS_RSA_SHA256)?.serialize_pem(),
        )?;
        fs_err::write(
            &files.tokens,
            format!("{token},admin,admin,system:masters\n"),
        )?;
        fs_err::write(
            &files.kubeconfig,
            kubeconfig(address, &files.authority, &token),
        )?;
        Ok(files)
    }
}

fn authority() -> anyhow::Result<CertifiedIssuer<'static, KeyPair>> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}

/// A kubeconfig as JSON, which is valid YAML.
fn kubeconfig(address: Ipv4Addr, authority: &Path, token: &str) -> String {
    let server = format!("https://{address}:6443");
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "real", "cluster": {"server": server, "certificate-authority": authority}}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": "admin"}}],
        "current-context": "real",
    })
    .to_string()
}

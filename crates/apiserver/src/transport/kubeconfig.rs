//! The kubeconfig for clients of the server.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::credentials::{ServerCredentials, write_secret};

/// A kubeconfig that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("failed to write the kubeconfig")]
pub struct KubeconfigError(#[source] std::io::Error);

/// Writes a kubeconfig for the server at `address`, readable by its owner only. It holds the admin token.
pub fn write_kubeconfig(
    path: &Path,
    mut address: SocketAddr,
    credentials: &ServerCredentials,
) -> Result<(), KubeconfigError> {
    if address.ip().is_unspecified() {
        // The server listens on all addresses, of which its certificate has this one.
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    let name = "outrigger";
    let authority = STANDARD.encode(credentials.root_certificate());
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {
            "server": format!("https://{address}"),
            "certificate-authority-data": authority,
        }}],
        "users": [{"name": name, "user": {"token": credentials.admin_token().expose()}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    });
    write_secret(path, &outrigger_goyaml::write_json(&config)).map_err(KubeconfigError)
}

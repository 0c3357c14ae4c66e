//! The kubeconfig for clients of the server.

use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use serde_json::json;

use super::credentials::{ServerCredentials, write_secret};

/// A kubeconfig that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("failed to write the kubeconfig")]
pub struct KubeconfigError(#[source] io::Error);

impl KubeconfigError {
    pub fn is_disk_full(&self) -> bool {
        is_full(&self.0)
    }
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

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
    write(path, &outrigger_goyaml::write_json(&config)).map_err(KubeconfigError)
}

/// On a full disk, the kubeconfig of an earlier server is overwritten, which needs no space.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match write_secret(path, bytes) {
        Err(error) if is_full(&error) => overwrite(path, bytes).map_err(|_| error),
        written => written,
    }
}

fn overwrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let mut options = fs_err::OpenOptions::new();
    let mut file = options.write(true).custom_flags(flags).open(path)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kubeconfig_of_an_earlier_server_is_overwritten_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        assert!(overwrite(&path, b"new").is_err(), "it does not exist");
        fs_err::write(&path, "something longer").unwrap();
        overwrite(&path, b"new").unwrap();
        assert_eq!(fs_err::read(&path).unwrap(), b"new");
        let mode = fs_err::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(overwrite(&link, b"other").is_err());
        assert!(write(&folder.path().join("no/kubeconfig"), b"new").is_err());
    }
}

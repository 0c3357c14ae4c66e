//! Writes the kubeconfig of a server that this process runs.

use std::net::SocketAddr;
use std::path::Path;

use outrigger_apiserver::server::Server;
use outrigger_apiserver::transport::{KubeconfigError, write_kubeconfig};

use crate::report::note;

/// Writes the kubeconfig. On a full disk, the server must run nevertheless: only its clients can delete objects.
pub(super) fn write(
    path: &Path,
    address: SocketAddr,
    server: &Server,
) -> Result<(), KubeconfigError> {
    match write_kubeconfig(path, address, server.credentials()) {
        Err(error) if error.is_disk_full() => {
            let path = path.display();
            note(&format!("the disk is full: {path} is not written"));
            Ok(())
        }
        written => written,
    }
}

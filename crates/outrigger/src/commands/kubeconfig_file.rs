//! Writes the kubeconfig of a server that this process runs.

use std::net::SocketAddr;
use std::path::Path;

use outrigger_apiserver::server::Server;
use outrigger_apiserver::transport::{KUBECONFIG_NAME, KubeconfigError, Written, write_kubeconfig};

use crate::report::{HintExt as _, note};

/// Adds the server to a kubeconfig. On a full disk, the server must run nevertheless: only its clients can delete objects.
pub(super) fn write(path: &Path, address: SocketAddr, server: &Server) -> anyhow::Result<Written> {
    match write_kubeconfig(path, address, server.credentials()) {
        Err(error) if error.is_disk_full() => {
            let path = path.display();
            note(&format!("the disk is full: {path} is not written"));
            Ok(Written { is_current: true })
        }
        Err(error @ KubeconfigError::NotKubeconfig { .. }) => {
            Err(error).hint("choose another file, or remove this one")
        }
        written => Ok(written?),
    }
}

/// The flags for kubectl to use the server.
pub(super) fn kubectl_flags(path: &Path, written: Written) -> String {
    let path = path.display();
    if written.is_current {
        format!("--kubeconfig {path}")
    } else {
        format!("--kubeconfig {path} --context {KUBECONFIG_NAME}")
    }
}

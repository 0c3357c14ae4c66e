//! Writes the kubeconfig of a server that this process runs.

use std::net::SocketAddr;
use std::path::Path;

use outrigger_apiserver::server::Server;
use outrigger_apiserver::transport::{KUBECONFIG_NAME, KubeconfigError, Written, write_kubeconfig};

use super::plugin::connect::read_kubeconfig;
use crate::report::{HintExt as _, note};

/// Adds the server to a kubeconfig. On a full disk, the server must run nevertheless: only its clients can delete objects.
pub(super) fn write(path: &Path, address: SocketAddr, server: &Server) -> anyhow::Result<Written> {
    match write_kubeconfig(path, address, server.credentials()) {
        Err(error) if error.is_disk_full() => {
            let path = path.display();
            note(&format!("the disk is full: {path} is not written"));
            Ok(Written {
                is_current: true,
                replaced: None,
            })
        }
        Err(error @ KubeconfigError::NotKubeconfig { .. }) => {
            Err(error).hint("choose another file, or remove this one")
        }
        Err(error) => Err(error.into()),
        Ok(written) => {
            if let Some(server) = &written.replaced {
                note(&format!(
                    "context {KUBECONFIG_NAME} of {} was that of {server}, which is still running; \
                     use another --kubeconfig to keep both",
                    path.display()
                ));
            }
            Ok(written)
        }
    }
}

/// The port of the server in a kubeconfig that an earlier process wrote.
pub(super) fn port(path: &Path) -> Option<u16> {
    let config = read_kubeconfig(path).ok()?;
    let mut clusters = config.clusters.iter();
    let ours = clusters.find(|cluster| cluster.name == KUBECONFIG_NAME)?;
    let server: http::Uri = ours.cluster.as_ref()?.server.as_ref()?.parse().ok()?;
    server.port_u16()
}

/// The flags for kubectl to use the server.
pub(super) fn kubectl_flags(path: &Path, written: &Written) -> String {
    let path = path.display();
    if written.is_current {
        format!("--kubeconfig {path}")
    } else {
        format!("--kubeconfig {path} --context {KUBECONFIG_NAME}")
    }
}

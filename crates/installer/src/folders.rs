//! The folders of an installation, all below the data folder.

use std::path::{Path, PathBuf};

/// Where the installer keeps what it writes on its machine.
#[derive(Debug, Clone)]
pub struct Folders {
    data: PathBuf,
}

impl Folders {
    /// The path becomes absolute: hooks run elsewhere.
    pub fn new(data: &Path) -> Self {
        let data = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
        Self { data }
    }

    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Scripts of the hooks of the installer.
    pub fn hooks(&self) -> PathBuf {
        self.data.join("hooks")
    }

    /// The files root of clusters.
    pub fn files(&self) -> PathBuf {
        self.data.join("files")
    }

    /// The provider folder with the files of the package.
    pub fn provider(&self) -> PathBuf {
        self.data.join("provider")
    }

    /// The store of the registry.
    pub fn registry(&self) -> PathBuf {
        self.data.join("registry")
    }

    /// What hooks and the operator may read: the kubeconfig.
    pub fn share(&self) -> PathBuf {
        self.data.join("share")
    }

    /// The kubeconfig of the cluster.
    pub fn kubeconfig(&self) -> PathBuf {
        self.share().join("admin.kubeconfig")
    }

    /// The kubeconfig of the operator, with the rights of delegated steps.
    pub fn operator_kubeconfig(&self) -> PathBuf {
        self.share().join("operator.kubeconfig")
    }

    /// The program and the log of the operator.
    pub fn operator(&self) -> PathBuf {
        self.data.join("operator")
    }

    /// Records of attempts at hooks, so that a killed installer finds those that still run.
    pub fn attempts(&self) -> PathBuf {
        self.data.join("attempts")
    }
}

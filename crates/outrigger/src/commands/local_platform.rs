//! The local platform of `up` and `install`: API server, simulated workloads and stand-in machines in this process.

use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use kube::Client;
use outrigger_apiserver::server::{Options, Server};
use outrigger_apiserver::transport::{KUBECONFIG_NAME, Written};
use outrigger_controller::crds;
use outrigger_installer::ApiEndpoint;
use outrigger_simulate as simulate;

use super::cluster::file::Manifests;
use super::plugin::connect::read_kubeconfig;
use super::up::stand_ins::StandIns;
use super::{embedded_server, kubeconfig_file, listen};

/// How long a simulated pod takes to start.
const SIMULATED_DELAY: Duration = Duration::from_millis(100);

/// Where the platform keeps its data and listens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings<'a> {
    /// Data directory; without it, all objects are kept in memory only.
    pub(super) data: Option<&'a Path>,
    pub(super) listen: SocketAddr,
    /// Kubeconfig to add the cluster to.
    pub(super) kubeconfig: Option<&'a Path>,
}

/// A platform that runs.
pub(super) struct Platform {
    pub(super) client: Client,
    pub(super) kubeconfig: KubeconfigFile,
    server: Server,
    stand_ins: StandIns,
}

impl Platform {
    /// Starts the platform with the stand-in machines of clusters. `ready` gets the kubeconfig before the kinds are installed.
    pub(super) async fn start(
        settings: Settings<'_>,
        manifests: &Manifests,
        ready: impl FnOnce(&KubeconfigFile) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let options = match settings.data {
            Some(directory) => Options::in_folder(directory),
            None => Options::in_memory(),
        };
        let listener = listen::bind(settings.listen, false, settings.data).await?;
        let address = listener.address();
        let server = embedded_server::open(options).await?;
        // The server has made the data folder private.
        let stand_ins = StandIns::start(manifests, settings.data).await?;
        server.serve(listener);
        server.run_controllers();
        simulate::start(
            &server,
            simulate::Options {
                delay: SIMULATED_DELAY,
                ..simulate::Options::default()
            },
        );
        let write = |path: &Path| kubeconfig_file::write(path, address, &server);
        let kubeconfig = KubeconfigFile::write(settings, write)?;
        ready(&kubeconfig)?;
        let client = Client::new(server.service(), "default");
        crds::install(&client, true).await?;
        Ok(Self {
            client,
            kubeconfig,
            server,
            stand_ins,
        })
    }

    /// Where the API server is, for programs that have credentials of their own.
    pub(super) fn endpoint(&self) -> anyhow::Result<ApiEndpoint> {
        let config = read_kubeconfig(&self.kubeconfig.path)?;
        let mut clusters = config.clusters.into_iter();
        let own = clusters.find(|cluster| cluster.name == KUBECONFIG_NAME);
        let own = own.and_then(|cluster| cluster.cluster);
        let own = own.context("the kubeconfig lacks the API server")?;
        Ok(ApiEndpoint {
            server: own.server.unwrap_or_default(),
            certificate_authority_data: own.certificate_authority_data.unwrap_or_default(),
        })
    }

    /// Stops the server and the machines.
    pub(super) async fn stop(self) {
        tokio::join!(self.server.close(), self.stand_ins.stop());
    }
}

/// A kubeconfig on disk, removed on drop if it is in a temporary directory.
pub(super) struct KubeconfigFile {
    pub(super) path: PathBuf,
    pub(super) is_current: bool,
    temporary_directory: Option<PathBuf>,
}

impl KubeconfigFile {
    fn write(
        settings: Settings<'_>,
        write: impl Fn(&Path) -> anyhow::Result<Written>,
    ) -> anyhow::Result<Self> {
        let (path, temporary_directory) = match (settings.kubeconfig, settings.data) {
            (Some(path), _) => (path.to_owned(), None),
            (None, Some(data)) => (data.join("kubeconfig"), None),
            (None, None) => {
                let directory = private_temporary_directory()?;
                (directory.join("kubeconfig"), Some(directory))
            }
        };
        let path = std::path::absolute(&path).unwrap_or(path);
        let Written { is_current, .. } = write(&path)?;
        if let (Some(_), Some(data)) = (settings.kubeconfig, settings.data) {
            // For `apiserver backup`.
            write(&data.join("kubeconfig"))?;
        }
        Ok(Self {
            path,
            is_current,
            temporary_directory,
        })
    }

    /// Whether it is gone when the process ends.
    pub(super) fn is_temporary(&self) -> bool {
        self.temporary_directory.is_some()
    }
}

impl Drop for KubeconfigFile {
    fn drop(&mut self) {
        if let Some(directory) = &self.temporary_directory {
            // A file that is left behind is harmless: its server has stopped.
            let _ = fs_err::remove_dir_all(directory);
        }
    }
}

/// A new directory with an unpredictable name, for its owner only.
pub(super) fn private_temporary_directory() -> anyhow::Result<PathBuf> {
    let number = getrandom::u64().context("failed to read random bytes")?;
    let directory = std::env::temp_dir().join(format!("outrigger-{number:016x}"));
    let mut builder = std::fs::DirBuilder::new();
    let created = builder.mode(0o700).create(&directory);
    created.with_context(|| format!("failed to create {}", directory.display()))?;
    Ok(directory)
}

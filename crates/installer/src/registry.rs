//! The registry of the installer, which serves the images and charts of the package.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use outrigger_registry::{Server, ServerError, ServerOptions, Store, StoreError, StoreOptions};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// A registry that is served by this process.
#[derive(Debug)]
pub struct LocalRegistry {
    store: Store,
    address: SocketAddr,
    shutdown: Arc<Notify>,
    server: JoinHandle<()>,
}

/// Why the registry cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error("the listener of the registry has no address")]
    Address(#[source] std::io::Error),
}

impl LocalRegistry {
    /// Serves a folder. Everyone may pull; only this process writes.
    pub async fn start(folder: &Path, address: SocketAddr) -> Result<Self, Error> {
        let store = Store::open(folder, StoreOptions::default())?;
        store.drop_uploads()?;
        let options = ServerOptions {
            read_only: true,
            ..ServerOptions::default()
        };
        let server = Server::bind(address, store.clone(), options).await?;
        let address = server.address().map_err(Error::Address)?;
        let shutdown = Arc::new(Notify::new());
        let stopped = Arc::clone(&shutdown);
        let server = tokio::spawn(server.run(async move { stopped.notified().await }));
        Ok(Self {
            store,
            address,
            shutdown,
            server,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The URL of its charts.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends when all requests are served and everything is on disk.
    pub async fn stop(self) {
        self.shutdown.notify_one();
        // A panic was printed.
        let _ = self.server.await;
    }
}

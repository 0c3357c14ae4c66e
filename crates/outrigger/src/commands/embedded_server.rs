//! Opens the embedded API server.

use anyhow::Context as _;
use outrigger_apiserver::server::{OpenError, Options, Server};
use outrigger_store::OpenError as StoreError;

use crate::report::hinted;

/// Opens the store of a server. The error of a folder that another server uses says what to do.
pub(super) async fn open(options: Options) -> anyhow::Result<Server> {
    let opened = Server::open(options).await.map_err(|error| {
        let is_used = matches!(error, OpenError::Store(StoreError::InUse { .. }));
        let hint = "use the kubeconfig of the server that runs, which is in the folder, or choose another folder with --data";
        hinted(error, is_used.then(|| hint.to_owned()))
    });
    opened.context("failed to open the API server")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report;

    #[tokio::test]
    async fn a_folder_in_use_has_a_hint() {
        let folder = tempfile::tempdir().unwrap();
        let first = open(Options::in_folder(folder.path())).await.unwrap();
        let error = open(Options::in_folder(folder.path())).await.unwrap_err();
        let text = report::text(&error);
        assert!(text.contains("is in use by another process"), "{text}");
        assert!(text.contains("\nhint: use the kubeconfig"), "{text}");
        first.close().await;
    }
}

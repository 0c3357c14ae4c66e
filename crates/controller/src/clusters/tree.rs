//! The files of a cluster, scanned in the files root.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use outrigger_api::cluster::{Cluster, Features};
use outrigger_node::{Entry, ScanError, Tree};

/// How long a scan is used again.
const MAX_AGE: Duration = Duration::from_secs(5);

/// Why the files of a cluster cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("spec.features.files: the controller has no files root; start it with --files")]
    NoRoot,
    #[error("spec.features.files: {}", chain(.0))]
    Scan(#[from] ScanError),
    #[error("the scan of the files panicked")]
    Panicked,
}

fn chain(error: &ScanError) -> String {
    crate::error::error_chain(error)
}

/// The last scan.
#[derive(Debug, Default)]
pub(crate) struct TreeCache {
    scanned: Mutex<Option<(Features, Instant, Tree)>>,
}

impl TreeCache {
    /// The files of a cluster. Scans them if `is_new`, or unless that was done a moment ago.
    pub(crate) async fn get(
        &self,
        cluster: &Cluster,
        root: Option<&Path>,
        is_new: bool,
    ) -> Result<Tree, Error> {
        let features = &cluster.spec.features;
        if let Some(tree) = self.cached(features).filter(|_| !is_new) {
            return Ok(tree);
        }
        let previous = self.last();
        let tree = scan(previous, features.clone(), root.map(Path::to_owned)).await?;
        let mut scanned = self.scanned.lock().unwrap_or_else(PoisonError::into_inner);
        *scanned = Some((features.clone(), Instant::now(), tree.clone()));
        Ok(tree)
    }

    /// The last scan, of any features.
    fn last(&self) -> Option<Tree> {
        let scanned = self.scanned.lock().unwrap_or_else(PoisonError::into_inner);
        scanned.as_ref().map(|(_, _, tree)| tree.clone())
    }

    fn cached(&self, features: &Features) -> Option<Tree> {
        let scanned = self.scanned.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, at, tree) = scanned.as_ref()?;
        (known == features && at.elapsed() < MAX_AGE).then(|| tree.clone())
    }
}

async fn scan(
    previous: Option<Tree>,
    features: Features,
    root: Option<PathBuf>,
) -> Result<Tree, Error> {
    let entries: Vec<Entry> = features
        .files
        .iter()
        .map(|file| Entry {
            source: PathBuf::from(&file.src),
            destination: file.dst.clone(),
        })
        .collect();
    let root = match root {
        Some(root) => root,
        // Nothing is read then.
        None if entries.is_empty() => PathBuf::from("/"),
        None => return Err(Error::NoRoot),
    };
    let executables: BTreeSet<String> = features.hooks.values().cloned().collect();
    let scan = tokio::task::spawn_blocking(move || match previous {
        Some(previous) => previous.scan_again(&root, &entries, &executables),
        None => Tree::scan(&root, &entries, &executables),
    });
    Ok(scan.await.map_err(|_| Error::Panicked)??)
}

//! The files of a cluster, scanned in the files root.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use outrigger_api::annotation::RETRY;
use outrigger_api::cluster::{self, Cluster, Features};
use outrigger_cluster::lifecycle;
use outrigger_node::{Entry, FileCache, ScanError, ScanProgress, Tree};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long a scan is used again.
const MAX_AGE: Duration = Duration::from_secs(5);
/// How long a reconcile waits for a scan. Clusters whose files are large or do not answer can be changed and deleted.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// Why the files of a cluster cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("spec.features.files: the controller has no files root; start it with --files")]
    NoRoot,
    #[error("spec.features.files: {}", chain(.0))]
    Scan(#[from] ScanError),
    #[error("the scan of the files panicked")]
    Panicked,
    /// Not a failure: the scan continues.
    #[error("reading spec.features.files, {} MB so far", .0 / 1_000_000)]
    Reading(u64),
}

fn chain(error: &ScanError) -> String {
    crate::error::error_chain(error)
}

/// The last scan for a cluster.
#[derive(Debug)]
pub(crate) struct TreeCache {
    /// That of all clusters.
    files: FileCache,
    scanned: Mutex<Option<(Occasion, Instant, Tree)>>,
    running: tokio::sync::Mutex<Option<RunningScan>>,
}

/// A scan that takes longer than a reconcile waits for it. Dropping it cancels it.
#[derive(Debug)]
struct RunningScan {
    occasion: Occasion,
    progress: Arc<ScanProgress>,
    task: JoinHandle<Result<Tree, ScanError>>,
}

impl Drop for RunningScan {
    fn drop(&mut self) {
        self.progress.cancel();
    }
}

/// What the files were scanned for. Whatever a user does makes another one: a change of the spec, a request to try again,
/// an upgrade, a deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Occasion {
    features: Features,
    generation: Option<i64>,
    retry: Option<String>,
    is_deleted: bool,
}

impl Occasion {
    fn of(cluster: &Cluster) -> Self {
        let annotations = cluster.metadata.annotations.as_ref();
        Self {
            features: cluster.spec.features.clone(),
            generation: cluster.metadata.generation,
            retry: annotations.and_then(|all| all.get(RETRY)).cloned(),
            is_deleted: lifecycle::is_deleted(cluster),
        }
    }
}

impl TreeCache {
    pub(crate) fn new(files: FileCache) -> Self {
        Self {
            files,
            scanned: Mutex::default(),
            running: tokio::sync::Mutex::default(),
        }
    }

    /// The files of a cluster. Scans them if `is_new`, or unless that was done a moment ago for the same occasion.
    pub(crate) async fn get(
        &self,
        cluster: &Cluster,
        root: Option<&Path>,
        is_new: bool,
    ) -> Result<Tree, Error> {
        let occasion = Occasion::of(cluster);
        if let Some(tree) = self.cached(&occasion).filter(|_| !is_new) {
            return Ok(tree);
        }
        let tree = self.scan(&occasion, root).await?;
        let mut scanned = self.scanned.lock().unwrap_or_else(PoisonError::into_inner);
        *scanned = Some((occasion, Instant::now(), tree.clone()));
        Ok(tree)
    }

    /// Scans the files, or waits for the scan that runs for the same occasion.
    async fn scan(&self, occasion: &Occasion, root: Option<&Path>) -> Result<Tree, Error> {
        let mut running = self.running.lock().await;
        let current = running.take().filter(|scan| scan.occasion == *occasion);
        let mut scan = match current {
            Some(scan) => scan,
            None => start(self.files.clone(), occasion.clone(), root)?,
        };
        if let Ok(ended) = timeout(MAX_WAIT, &mut scan.task).await {
            return Ok(ended.map_err(|_| Error::Panicked)??);
        }
        let bytes = scan.progress.bytes();
        *running = Some(scan);
        Err(Error::Reading(bytes))
    }

    fn cached(&self, occasion: &Occasion) -> Option<Tree> {
        let scanned = self.scanned.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, at, tree) = scanned.as_ref()?;
        (known == occasion && at.elapsed() < MAX_AGE).then(|| tree.clone())
    }
}

fn start(files: FileCache, occasion: Occasion, root: Option<&Path>) -> Result<RunningScan, Error> {
    let features = &occasion.features;
    let entries: Vec<Entry> = features
        .files
        .iter()
        .map(|file| Entry {
            source: PathBuf::from(&file.src),
            destination: file.dst.clone(),
        })
        .collect();
    let root = match root {
        Some(root) => root.to_owned(),
        // Nothing is read then.
        None if entries.is_empty() => PathBuf::from("/"),
        None => return Err(Error::NoRoot),
    };
    let executables: BTreeSet<String> = features.hooks.values().cloned().collect();
    let progress = Arc::new(ScanProgress::default());
    let task = tokio::task::spawn_blocking({
        let progress = Arc::clone(&progress);
        let forced = features.files.iter().filter(|file| file.force);
        let forced: Vec<String> = forced.map(|file| file.dst.clone()).collect();
        move || {
            let tree = files.scan(&root, &entries, &executables, &progress)?;
            let forced = forced.iter().map(String::as_str);
            Ok(tree.guarded(cluster::is_system_path, forced))
        }
    });
    Ok(RunningScan {
        occasion,
        progress,
        task,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn clusters_share_their_files_and_see_new_ones() {
        let root = tempfile::tempdir().unwrap();
        fs_err::write(root.path().join("hook"), "one").unwrap();
        let cluster = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "c"},
            "spec": {"version": "1.0.0", "features": {"files": [{"src": "hook", "dst": "/opt/hook"}]}},
        });
        let cluster: Cluster = serde_json::from_value(cluster).unwrap();
        let files = FileCache::default();
        let clusters = [TreeCache::new(files.clone()), TreeCache::new(files)];
        let get = async |index: usize, is_new| {
            let tree = clusters[index].get(&cluster, Some(root.path()), is_new);
            tree.await.unwrap()
        };
        let first = get(0, true).await;
        assert!(first.is_shared_with(&get(1, true).await));
        fs_err::write(root.path().join("hook"), "two").unwrap();
        let second = get(1, true).await;
        assert!(!first.is_shared_with(&second));
        assert!(first.is_shared_with(&get(0, false).await), "it is recent");
        assert!(second.is_shared_with(&get(0, true).await));
    }

    #[tokio::test]
    async fn a_retry_a_change_and_a_deletion_use_the_files_as_they_are_now() {
        let root = tempfile::tempdir().unwrap();
        let object = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "c"},
            "spec": {"version": "1.0.0", "features": {"files": [{"src": "hook", "dst": "/opt/hook"}]}},
        });
        let cluster: Cluster = serde_json::from_value(object).unwrap();
        let mut retried = cluster.clone();
        let retry = (RETRY.to_owned(), "now".to_owned());
        retried.metadata.annotations = Some([retry].into());
        let mut changed = cluster.clone();
        changed.metadata.generation = Some(2);
        let mut deleted = cluster.clone();
        deleted.metadata.deletion_timestamp =
            Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
        for later in [retried, changed, deleted] {
            let files = TreeCache::new(FileCache::default());
            fs_err::write(root.path().join("hook"), "one").unwrap();
            let first = files.get(&cluster, Some(root.path()), true).await.unwrap();
            fs_err::write(root.path().join("hook"), "three").unwrap();
            let same = files.get(&cluster, Some(root.path()), false).await;
            assert_eq!(same.unwrap().digest(), first.digest());
            let later = files.get(&later, Some(root.path()), false).await;
            assert_ne!(later.unwrap().digest(), first.digest());
        }
    }
    #[tokio::test]
    async fn a_scan_that_takes_long_is_reported_and_cancelled_by_a_change() {
        let root = tempfile::tempdir().unwrap();
        let endless = fs_err::File::create(root.path().join("hook")).unwrap();
        endless.set_len(1 << 40).unwrap();
        let object = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "c"},
            "spec": {"version": "1.0.0", "features": {"files": [{"src": "hook", "dst": "/opt/hook"}]}},
        });
        let mut cluster: Cluster = serde_json::from_value(object).unwrap();
        let files = TreeCache::new(FileCache::default());
        for _ in 0..2 {
            let error = files.get(&cluster, Some(root.path()), true).await;
            assert!(matches!(error, Err(Error::Reading(_))), "{error:?}");
        }
        let progress = {
            let running = files.running.lock().await;
            Arc::clone(&running.as_ref().unwrap().progress)
        };
        cluster.spec.features.files.clear();
        cluster.metadata.generation = Some(2);
        files.get(&cluster, Some(root.path()), true).await.unwrap();
        // The thread lets go of it when it has noticed.
        while Arc::strong_count(&progress) > 1 {
            tokio::task::yield_now().await;
        }
    }
}

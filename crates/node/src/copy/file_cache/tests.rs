//! What trees share, and what they cost.

use std::collections::BTreeSet;

use super::super::{Entry, Tree};
use super::*;

/// A files root with a folder for each cluster; all folders have the same files.
fn root(folders: usize, files: usize, size: usize) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for folder in 0..folders {
        let folder = root.path().join(folder.to_string());
        fs_err::create_dir(&folder).unwrap();
        for file in 0..files {
            let content = vec![u8::try_from(file).unwrap(); size];
            fs_err::write(folder.join(file.to_string()), content).unwrap();
        }
    }
    root
}

fn scan(cache: &FileCache, root: &Path, source: &str, destination: &str) -> Tree {
    let entries = [Entry {
        source: source.into(),
        destination: destination.to_owned(),
    }];
    let progress = ScanProgress::default();
    cache
        .scan(root, &entries, &BTreeSet::new(), &progress)
        .unwrap()
}

fn held(cache: &FileCache) -> u64 {
    cache.shared().held.load(Ordering::Relaxed)
}

#[test]
fn any_number_of_clusters_with_the_same_files_keeps_one_copy() {
    let root = root(2, 5, 1000);
    let cache = FileCache::default();
    let one = scan(&cache, root.path(), "0", "/d");
    assert_eq!(held(&cache), 5000);
    let same: Vec<Tree> = (0..20)
        .map(|_| scan(&cache, root.path(), "0", "/d"))
        .collect();
    let others: Vec<Tree> = (0..20)
        .map(|number| scan(&cache, root.path(), "1", &format!("/d{number}")))
        .collect();
    assert_eq!(held(&cache), 5000);
    assert!(same.iter().all(|tree| tree.is_shared_with(&one)));
    assert!(others.iter().all(|tree| !tree.is_shared_with(&one)));
    drop((one, same, others));
    assert_eq!(held(&cache), 0, "nobody needs them");
    let last = scan(&cache, root.path(), "0", "/d");
    let shared = cache.shared();
    let known = (
        shared.files.len(),
        shared.contents.len(),
        shared.listings.len(),
    );
    assert_eq!(known, (5, 5, 1), "the others are forgotten");
    drop((shared, last));
}

#[test]
fn the_content_of_all_trees_is_bounded_and_large_files_are_not_kept() {
    let root = root(1, 20, 1000);
    let cache = FileCache::with_limit(9500);
    let tree = scan(&cache, root.path(), "0", "/d");
    assert_eq!((held(&cache), tree.size()), (9000, 20_000));
    drop(tree);
    fs_err::write(root.path().join("large"), vec![1; 300_000]).unwrap();
    let large = scan(&cache, root.path(), "large", "/large");
    assert_eq!((held(&cache), large.size()), (0, 300_000));
}

#[test]
fn large_files_are_read_again_only_if_they_changed() {
    let root = root(1, 1, 10);
    let large = root.path().join("0/large");
    fs_err::write(&large, vec![1; 300_000]).unwrap();
    let cache = FileCache::default();
    let _first = scan(&cache, root.path(), "0", "/d");
    // What a scan that reads nothing returns.
    let known: Vec<Arc<ScannedFile>> = {
        let mut shared = cache.shared();
        let files = shared.files.iter_mut();
        files
            .map(|(path, weak)| {
                let file = weak.upgrade().unwrap();
                let known = Arc::new(ScannedFile {
                    source: path.clone(),
                    size: file.size,
                    digest: "known".to_owned(),
                    content: None,
                    has_windows_line_endings: false,
                    stamp: file.stamp,
                });
                *weak = Arc::downgrade(&known);
                known
            })
            .collect()
    };
    let digests = |tree: &Tree| {
        let digest = |path| tree.digest_of(path).unwrap().to_owned();
        (digest("/d/large"), digest("/d/0"))
    };
    // Also for another cluster.
    for destination in ["/d", "/e"] {
        let tree = scan(&cache, root.path(), "0/large", destination);
        assert_eq!(tree.digest_of(destination), Some("known"));
    }
    let (large_digest, small) = digests(&scan(&cache, root.path(), "0", "/d"));
    assert_eq!(large_digest, "known");
    assert_ne!(small, "known");
    fs_err::write(&large, vec![2; 300_000]).unwrap();
    let (large_digest, _) = digests(&scan(&cache, root.path(), "0", "/d"));
    assert_ne!(large_digest, "known");
    drop(known);
}

#[test]
fn a_script_that_grows_while_it_is_read_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs_err::write(&path, vec![1; usize::try_from(SMALL).unwrap() + 1]).unwrap();
    assert!(
        read(&path, &ScanProgress::default())
            .unwrap()
            .content
            .is_none()
    );
    fs_err::write(&path, vec![1; usize::try_from(SMALL).unwrap()]).unwrap();
    assert!(
        read(&path, &ScanProgress::default())
            .unwrap()
            .content
            .is_some()
    );
}

#[test]
fn debug_output_omits_the_content_of_files() {
    let root = tempfile::tempdir().unwrap();
    fs_err::write(root.path().join("kubeconfig"), "AAAA").unwrap();
    let tree = scan(&FileCache::default(), root.path(), "kubeconfig", "/d");
    let text = format!("{tree:?}");
    assert!(text.contains("[4 bytes]"), "{text}");
    assert!(!text.contains("AAAA") && !text.contains("65, 65"), "{text}");
}

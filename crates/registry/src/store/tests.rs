//! The store across crashes, concurrent pushes and garbage collection.

use outrigger_oci::{Descriptor, OCI_MANIFEST};
use serde_json::json;

use super::*;

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
    (folder, store)
}

fn push_image(store: &Store, repository: &str, layer: &[u8], tag: &str) -> Digest {
    let descriptor = |bytes: &[u8]| {
        let digest = store.put_blob(repository, bytes).unwrap();
        Descriptor::new("application/octet-stream", digest, bytes.len() as u64)
    };
    let manifest = json!({"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": descriptor(b"{}"), "layers": [descriptor(layer)]});
    let bytes = serde_json::to_vec(&manifest).unwrap();
    let manifest = store
        .put_manifest(repository, bytes, None, outrigger_oci::Algorithm::Sha256)
        .unwrap();
    store.tag(repository, tag, &manifest.digest).unwrap();
    manifest.digest
}

const NOW: GcOptions = GcOptions {
    dry_run: false,
    untagged: true,
    grace: Some(Duration::ZERO),
};

#[test]
fn an_upload_is_resumed_by_the_next_process() {
    let (folder, store) = store();
    let upload = store.start_upload("a/b").unwrap();
    let mut chunks = vec![bytes::Bytes::from_static(b"hello ")].into_iter();
    assert_eq!(upload.append(&mut || chunks.next()).unwrap(), 6);
    let id = upload.id.clone();
    drop((upload, store));
    let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
    assert!(matches!(
        store.upload("other", &id),
        Err(StoreError::UploadUnknown)
    ));
    let upload = store.upload("a/b", &id).unwrap();
    assert_eq!(upload.size(), 6);
    let mut chunks = vec![bytes::Bytes::from_static(b"world")].into_iter();
    upload.append(&mut || chunks.next()).unwrap();
    let digest = Digest::of(b"hello world");
    upload.commit("a/b", &digest).unwrap();
    assert_eq!(store.open_blob("a/b", &digest).unwrap().size, 11);
    assert!(matches!(
        store.open_blob("a/c", &digest),
        Err(StoreError::BlobUnknown(_))
    ));
}

#[test]
fn content_with_another_digest_is_never_stored() {
    let (_folder, store) = store();
    let upload = store.start_upload("a").unwrap();
    let mut chunks = vec![bytes::Bytes::from_static(b"x")].into_iter();
    upload.append(&mut || chunks.next()).unwrap();
    let expected = Digest::of(b"y");
    assert!(matches!(
        upload.commit("a", &expected),
        Err(StoreError::DigestInvalid { .. })
    ));
    assert!(store.open_content(&expected).unwrap().is_none());
    assert!(store.open_content(&Digest::of(b"x")).unwrap().is_none());
    assert!(matches!(
        store.upload("a", &upload.id),
        Err(StoreError::UploadUnknown)
    ));
}

#[test]
fn a_blob_that_a_power_failure_damaged_is_removed() {
    let (folder, store) = store();
    let digest = store.put_blob("a", b"content").unwrap();
    store.flush();
    let marker = sync::marker(&folder.path().join("unsynced"), &digest);
    assert!(!marker.exists());
    fs_err::write(store.blob_path(&digest), b"").unwrap();
    fs_err::write(&marker, b"").unwrap();
    drop(store);
    let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
    assert!(matches!(
        store.open_blob("a", &digest),
        Err(StoreError::BlobUnknown(_))
    ));
}

#[test]
fn collection_keeps_what_tags_reach_and_removes_the_rest() {
    let (_folder, store) = store();
    let kept = push_image(&store, "a", b"kept", "v1");
    let replaced = push_image(&store, "a", b"replaced", "v2");
    push_image(&store, "a", b"kept", "v2");
    store.put_blob("b", b"orphan").unwrap();
    let dry = store
        .collect(GcOptions {
            dry_run: true,
            ..NOW
        })
        .unwrap();
    assert!(store.manifest("a", &replaced).is_ok());
    let collected = store.collect(NOW).unwrap();
    assert_eq!((collected.manifests, dry.manifests), (1, 1));
    assert_eq!(collected.blobs, 3);
    assert!(store.manifest("a", &kept).is_ok());
    assert!(store.manifest("a", &replaced).is_err());
    let mut problems = Vec::new();
    store.check(&mut |problem| problems.push(problem)).unwrap();
    assert_eq!(problems, []);
}

#[test]
fn a_push_during_collection_keeps_its_blobs() {
    let (_folder, store) = store();
    let digest = store.put_blob("a", b"layer of a push").unwrap();
    let later = GcOptions {
        grace: Some(Duration::from_hours(1)),
        ..NOW
    };
    assert_eq!(store.collect(later).unwrap(), Collected::default());
    assert!(store.open_blob("a", &digest).is_ok());
    // Without a grace period the blob is gone, and the manifest that needs it is rejected.
    store.collect(NOW).unwrap();
    let layer = Descriptor::new("a/b", digest, 15);
    let bytes = serde_json::to_vec(&json!({"schemaVersion": 2, "layers": [layer]})).unwrap();
    let put = store.put_manifest(
        "a",
        bytes,
        Some(OCI_MANIFEST),
        outrigger_oci::Algorithm::Sha256,
    );
    assert!(matches!(put, Err(StoreError::ManifestBlobUnknown(_))));
}

#[test]
fn a_quota_limits_uploads_and_collection_frees_it() {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        quota: Some(1 << 20),
        ..StoreOptions::default()
    };
    let store = Store::open(folder.path(), options).unwrap();
    store.put_blob("a", &vec![1; 700 << 10]).unwrap();
    assert!(matches!(
        store.put_blob("a", &vec![2; 700 << 10]),
        Err(StoreError::Quota { .. })
    ));
    Store::attach(folder.path(), StoreOptions::default())
        .unwrap()
        .collect(NOW)
        .unwrap();
    store.put_blob("a", &vec![2; 700 << 10]).unwrap();
}

#[test]
fn manifests_must_tell_the_truth_about_sizes() {
    let (_folder, store) = store();
    let digest = store.put_blob("a", b"layer").unwrap();
    let bytes = serde_json::to_vec(
        &json!({"schemaVersion": 2, "layers": [Descriptor::new("a/b", digest, 6)]}),
    )
    .unwrap();
    let put = store.put_manifest(
        "a",
        bytes,
        Some(OCI_MANIFEST),
        outrigger_oci::Algorithm::Sha256,
    );
    assert!(matches!(put, Err(StoreError::ManifestInvalid(_))));
}

#[test]
fn an_upload_that_does_not_fit_leaves_space_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        quota: Some(1 << 20),
        ..StoreOptions::default()
    };
    let store = Store::open(folder.path(), options).unwrap();
    let chunk = bytes::Bytes::from(vec![1; 700 << 10]);
    let upload = store.start_upload("a").unwrap();
    let mut chunks = vec![chunk.clone(), chunk.clone()].into_iter();
    let result = upload.append(&mut || chunks.next());
    assert!(
        matches!(result, Err(StoreError::Quota { .. })),
        "{result:?}"
    );
    assert!(store.upload("a", &upload.id).is_err());
    store.put_blob("a", &chunk).unwrap();
}

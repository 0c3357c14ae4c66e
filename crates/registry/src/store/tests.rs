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
fn no_registry_is_created_among_other_files() {
    let folder = tempfile::tempdir().unwrap();
    fs_err::create_dir(folder.path().join("lost+found")).unwrap();
    drop(Store::open(folder.path(), StoreOptions::default()).unwrap());
    fs_err::write(folder.path().join("users"), "").unwrap();
    drop(Store::open(folder.path(), StoreOptions::default()).unwrap());
    let other = tempfile::tempdir().unwrap();
    fs_err::write(other.path().join("Chart.yaml"), "").unwrap();
    let error = Store::open(other.path(), StoreOptions::default()).unwrap_err();
    assert!(matches!(error, StoreError::Foreign(_)), "{error}");
    assert_eq!(fs_err::read_dir(other.path()).unwrap().count(), 1);
}

#[test]
fn an_upload_is_resumed_by_the_next_process() {
    let (folder, store) = store();
    let upload = store.start_upload("a/b").unwrap();
    let mut chunks = vec![bytes::Bytes::from_static(b"hello ")].into_iter();
    assert_eq!(upload.append(0, &mut || chunks.next()).unwrap(), 6);
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
    upload.append(0, &mut || chunks.next()).unwrap();
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
    upload.append(0, &mut || chunks.next()).unwrap();
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
    assert_eq!(collected.removed.manifests, 1);
    assert_eq!(collected.removed.blobs, 3);
    assert_eq!(dry, collected, "a dry run reports what is removed");
    assert!(store.manifest("a", &kept).is_ok());
    assert!(store.manifest("a", &replaced).is_err());
    let mut problems = Vec::new();
    store.check(&mut |problem| problems.push(problem)).unwrap();
    assert_eq!(problems, []);
}

#[test]
fn a_manifest_that_gets_its_tag_during_collection_stays() {
    let (_folder, store) = store();
    push_image(&store, "a", b"other", "other");
    let digest = push_image(&store, "a", b"layer", "1");
    store.delete_tag("a", "1").unwrap();
    // The collection has read the tags, and the push writes its own now.
    store.set_manifest_aside("a", &digest).unwrap();
    store.tag("a", "1", &digest).unwrap();
    let mut collected = Collected::default();
    let removed = store.remove_manifests_aside("a", vec![digest.clone()], &mut collected);
    assert!(removed.unwrap().is_empty());
    assert_eq!(collected.kept.tagged.manifests, 1);
    assert_eq!(store.manifest("a", &digest).unwrap().digest, digest);
    // A collection that was killed leaves it aside.
    store.set_manifest_aside("a", &digest).unwrap();
    store.collect(NOW).unwrap();
    store.manifest("a", &digest).unwrap();
}

#[test]
fn no_tag_names_a_manifest_that_collection_removed() {
    let (_folder, store) = store();
    let collector = store.clone();
    let is_done = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let stop = Arc::clone(&is_done);
    let collecting = std::thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            collector.collect(NOW).unwrap();
        }
    });
    let mut pushed = Vec::new();
    for number in 0..1_000 {
        let config = Descriptor::new(
            "application/octet-stream",
            store.put_blob("a", b"{}").unwrap(),
            2,
        );
        let text = number.to_string();
        let manifest = json!({"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": config, "layers": [], "annotations": {"n": text}});
        let bytes = serde_json::to_vec(&manifest).unwrap();
        let sha256 = outrigger_oci::Algorithm::Sha256;
        // The config may be collected before the manifest refers to it: then the push is rejected.
        if let Ok(put) = store.put_tagged("a", &bytes, None, sha256, std::slice::from_ref(&text)) {
            pushed.push((text, put.digest));
        }
    }
    is_done.store(true, Ordering::Relaxed);
    collecting.join().unwrap();
    assert!(!pushed.is_empty());
    for (tag, digest) in pushed {
        assert_eq!(store.resolve_tag("a", &tag).unwrap(), digest);
        store.manifest("a", &digest).unwrap();
    }
}

#[test]
fn collection_reports_what_it_keeps_and_why() {
    let (_folder, store) = store();
    push_image(&store, "a", b"replaced", "v1");
    push_image(&store, "a", b"kept", "v1");
    store.put_blob("b", b"orphan").unwrap();
    store.start_upload("b").unwrap();
    let kept = |untagged: bool, grace: Duration| {
        let options = GcOptions {
            dry_run: true,
            untagged,
            grace: Some(grace),
        };
        let collected = store.collect(options).unwrap();
        let counts = |content: Content| (content.manifests, content.blobs, content.uploads);
        let Kept {
            tagged,
            untagged,
            recent,
        } = collected.kept;
        assert!(tagged.bytes > 0);
        [collected.removed, tagged, untagged, recent].map(counts)
    };
    let hour = Duration::from_hours(1);
    // An image of these tests is a manifest, a layer, and a config that all have.
    let tagged = (1, 3, 0);
    let now = kept(false, Duration::ZERO);
    assert_eq!(now, [(0, 1, 1), tagged, (1, 2, 0), (0, 0, 0)]);
    let now = kept(true, Duration::ZERO);
    assert_eq!(now, [(1, 3, 1), tagged, (0, 0, 0), (0, 0, 0)]);
    let later = kept(false, hour);
    assert_eq!(later, [(0, 0, 0), tagged, (1, 2, 0), (0, 1, 1)]);
    let later = kept(true, hour);
    assert_eq!(later, [(0, 0, 0), tagged, (0, 0, 0), (1, 3, 1)]);
}

#[test]
fn a_push_during_collection_keeps_its_blobs() {
    let (_folder, store) = store();
    let digest = store.put_blob("a", b"layer of a push").unwrap();
    let later = GcOptions {
        grace: Some(Duration::from_hours(1)),
        ..NOW
    };
    assert_eq!(store.collect(later).unwrap().removed, Content::default());
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
    let result = upload.append(0, &mut || chunks.next());
    assert!(
        matches!(result, Err(StoreError::Quota { .. })),
        "{result:?}"
    );
    assert!(store.upload("a", &upload.id).is_err());
    store.put_blob("a", &chunk).unwrap();
}

#[test]
fn a_small_quota_is_used_to_its_last_byte() {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        quota: Some(1000),
        ..StoreOptions::default()
    };
    let store = Store::open(folder.path(), options).unwrap();
    let append = |announced, length: usize| {
        let upload = store.start_upload("a").unwrap();
        let mut chunks = vec![bytes::Bytes::from(vec![1; length])].into_iter();
        let appended = upload.append(announced, &mut || chunks.next());
        appended.map_err(|error| error.to_string())
    };
    assert_eq!(append(600, 600), Ok(600));
    let full = "500 bytes do not fit: 600 of the 1000 bytes of the registry's quota are used";
    // The last chunk of an upload that is too large is not waited for.
    for length in [1, 500] {
        let error = append(500, length).unwrap_err();
        // The file that names the repository of an open upload counts, too.
        assert!(
            error.starts_with("500 bytes do not fit: 60"),
            "{error} {full}"
        );
    }
    assert_eq!(append(0, 390), Ok(390));
    // Those that failed were removed.
    assert_eq!(list(&folder.path().join("uploads")).unwrap().len(), 2);
}

fn problems(store: &Store) -> Vec<Problem> {
    let mut problems = Vec::new();
    store.check(&mut |problem| problems.push(problem)).unwrap();
    problems
}

#[test]
fn a_manifest_that_is_pushed_while_garbage_is_collected_keeps_its_blobs() {
    let (_folder, store) = store();
    // The collection read all manifests before this one was pushed.
    let before = collect::Live::default();
    push_image(&store, "a", b"layer", "v1");
    let orphan = store.put_blob("a", b"orphan").unwrap();
    let mut collected = Collected::default();
    let none = std::collections::HashSet::new();
    store.collect_links("a", &none, Duration::ZERO).unwrap();
    store
        .sweep(&before, Duration::ZERO, NOW, &mut collected)
        .unwrap();
    assert_eq!(problems(&store), []);
    assert_eq!(collected.removed.blobs, 1);
    assert!(store.open_content(&orphan).unwrap().is_none());
}

#[test]
fn what_an_interrupted_collection_set_aside_is_put_back() {
    let (folder, store) = store();
    push_image(&store, "a", b"layer", "v1");
    let layer = Digest::of(b"layer");
    store.set_aside(&layer).unwrap().unwrap();
    assert!(store.open_content(&layer).unwrap().is_none());
    drop(store);
    let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
    assert_eq!(problems(&store), []);
    assert!(store.open_blob("a", &layer).is_ok());
}

#[test]
fn an_image_whose_layer_a_power_failure_damaged_can_be_pushed_again() {
    let (folder, store) = store();
    let damaged = push_image(&store, "a", b"damaged", "v1");
    let intact = push_image(&store, "a", b"intact", "v2");
    store.flush();
    let layer = Digest::of(b"damaged");
    fs_err::write(store.blob_path(&layer), b"").unwrap();
    fs_err::write(sync::marker(&folder.path().join("unsynced"), &layer), b"").unwrap();
    drop(store);
    let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
    // A client that finds the manifest would not push the layer.
    assert!(store.manifest("a", &damaged).is_err());
    assert!(store.resolve_tag("a", "v1").is_err());
    assert!(store.manifest("a", &intact).is_ok());
    assert_eq!(problems(&store), []);
    push_image(&store, "a", b"damaged", "v1");
    assert_eq!(problems(&store), []);
}

#[test]
fn a_repair_removes_what_needs_corrupt_content_and_nothing_else() {
    let (_folder, store) = store();
    let damaged = push_image(&store, "a", b"damaged", "v1");
    let intact = push_image(&store, "a", b"intact", "v2");
    fs_err::write(store.blob_path(&Digest::of(b"damaged")), b"DAMAGED").unwrap();
    let found = problems(&store);
    assert_eq!(found.len(), 1, "{found:?}");
    store.repair(&found).unwrap();
    assert_eq!(problems(&store), []);
    // A client that finds the manifest would not push the layer.
    assert!(store.manifest("a", &damaged).is_err());
    assert!(store.resolve_tag("a", "v1").is_err());
    assert!(store.manifest("a", &intact).is_ok());
    push_image(&store, "a", b"damaged", "v1");
    assert_eq!(problems(&store), []);
}

#[test]
fn a_push_replaces_a_blob_that_is_damaged() {
    let (_folder, store) = store();
    let digest = store.put_blob("a", b"content").unwrap();
    fs_err::write(store.blob_path(&digest), b"CONTENT").unwrap();
    let upload = store.start_upload("a").unwrap();
    let mut chunks = vec![bytes::Bytes::from_static(b"content")].into_iter();
    upload.append(0, &mut || chunks.next()).unwrap();
    upload.commit("a", &digest).unwrap();
    assert_eq!(problems(&store), []);
}

#[test]
fn a_damaged_referrer_is_not_listed() {
    let (folder, store) = store();
    let subject = push_image(&store, "a", b"layer", "v1");
    let subject = Descriptor::new(OCI_MANIFEST, subject, 1);
    let bytes = json!({"schemaVersion": 2, "layers": [], "subject": subject}).to_string();
    let sha256 = outrigger_oci::Algorithm::Sha256;
    let referrer = store.put_manifest("a", bytes.into_bytes(), Some(OCI_MANIFEST), sha256);
    let referrer = referrer.unwrap().digest;
    assert_eq!(store.referrers("a", &subject.digest).unwrap().len(), 1);
    store.flush();
    fs_err::write(store.blob_path(&referrer), b"").unwrap();
    let marker = sync::marker(&folder.path().join("unsynced"), &referrer);
    fs_err::write(marker, b"").unwrap();
    drop(store);
    let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
    assert_eq!(store.referrers("a", &subject.digest).unwrap(), []);
}

#[test]
fn uploads_that_are_not_completed_keep_no_files_open() {
    let open_files = || fs_err::read_dir("/proc/self/fd").unwrap().count();
    let (_folder, store) = store();
    let before = open_files();
    let uploads: Vec<Upload> = (0..500).map(|_| store.start_upload("a").unwrap()).collect();
    // Other tests open files meanwhile, but not as many.
    assert!(open_files() < before + 250);
    let mut chunks = vec![bytes::Bytes::from_static(b"x")].into_iter();
    uploads[7].append(0, &mut || chunks.next()).unwrap();
    uploads[7].commit("a", &Digest::of(b"x")).unwrap();
    assert!(matches!(
        uploads[7].append(0, &mut || None),
        Err(StoreError::UploadUnknown)
    ));
}

#[test]
fn a_file_system_that_ignores_case_is_recognized() {
    let folder = tempfile::tempdir().unwrap();
    assert!(distinguishes_case(folder.path(), "CASE").unwrap());
    // This is what such a file system answers.
    fs_err::write(folder.path().join("case"), b"").unwrap();
    assert!(!distinguishes_case(folder.path(), "CASE").unwrap());
    assert!(!folder.path().join("CASE").exists());
}

#[test]
fn a_media_type_that_a_power_failure_emptied_is_that_of_the_manifest() {
    let (_folder, store) = store();
    let digest = push_image(&store, "a", b"layer", "v1");
    fs_err::write(store.manifest_path("a", &digest), b"").unwrap();
    assert_eq!(
        store.manifest("a", &digest).unwrap().media_type,
        OCI_MANIFEST
    );
}

#[test]
fn a_folder_is_served_by_one_process() {
    let (folder, store) = store();
    let open = || Store::open(folder.path(), StoreOptions::default());
    assert!(matches!(open(), Err(StoreError::InUse(_))));
    // Garbage collection and checks need no lock.
    let attached = Store::attach(folder.path(), StoreOptions::default()).unwrap();
    attached.collect(NOW).unwrap();
    drop(store);
    open().unwrap();
}

#[test]
fn uploads_that_no_client_continues_are_removed_after_a_day() {
    let (folder, store) = store();
    let [old, recent] = [(); 2].map(|()| store.start_upload("a").unwrap());
    let upload = folder.path().join("uploads").join(&old.id);
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    for path in [upload.join("data"), upload.clone()] {
        let file = fs_err::File::open(path).unwrap().into_parts().0;
        file.set_modified(long_ago).unwrap();
    }
    store.drop_abandoned_uploads().unwrap();
    assert!(matches!(
        store.upload("a", &old.id),
        Err(StoreError::UploadUnknown)
    ));
    assert!(store.upload("a", &recent.id).is_ok());
    assert!(!upload.exists());
}

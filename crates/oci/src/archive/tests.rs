//! Archives that Docker and other tools write, and those that are hostile.

use std::io::Write as _;

use serde_json::json;

use super::*;
use crate::copy::{Source, Tree};
use crate::manifest::{Manifest, OCI_MANIFEST};

type Entries<'a> = &'a [(&'a str, &'a [u8])];

fn tar_of(entries: Entries<'_>) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, data) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *data).unwrap();
    }
    builder.into_inner().unwrap()
}

fn docker_archive(layer: &[u8]) -> Vec<u8> {
    let diff_id = Digest::of(layer);
    let config = json!({"rootfs": {"type": "layers", "diff_ids": [diff_id]}}).to_string();
    let manifest =
        json!([{"Config": "c.json", "RepoTags": ["web:1"], "Layers": ["l/layer.tar"]}]).to_string();
    tar_of(&[
        ("l/layer.tar", layer),
        ("c.json", config.as_bytes()),
        ("manifest.json", manifest.as_bytes()),
    ])
}

async fn save_quietly(source: &Source, images: &[SavedImage], path: &Path) -> Result<(), Error> {
    let target = SaveTarget::of(path).unwrap();
    save(source, images, &target, &crate::Progress::default()).await
}

async fn read_layer(path: &Path) -> Result<Vec<u8>, Error> {
    let archive = Archive::open(path)?;
    let manifest = archive.resolve(&"web:1".parse().unwrap())?;
    let layer = &manifest.parsed.layers.as_ref().unwrap()[0];
    archive.blob(layer)?.read_all(1 << 30).await
}

#[tokio::test]
async fn docker_archives_are_read_plain_and_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let layer: Vec<u8> = (0..700_000u32).flat_map(u32::to_le_bytes).collect();
    let plain = docker_archive(&layer);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    let zstd = zstd::encode_all(&plain[..], 1).unwrap();
    for (name, bytes) in [
        ("plain", plain.clone()),
        ("gzip", gzip.finish().unwrap()),
        ("zstd", zstd),
    ] {
        let path = folder.path().join(name);
        fs_err::write(&path, bytes).unwrap();
        assert!(read_layer(&path).await.unwrap() == layer, "{name}");
    }
}

/// A layout of an image whose layer has this content.
fn layout_folder(folder: &Path, layer: &[u8]) {
    let write = |bytes: &[u8]| {
        let digest = Digest::of(bytes);
        let blobs = folder.join("blobs/sha256");
        fs_err::create_dir_all(&blobs).unwrap();
        fs_err::write(blobs.join(digest.hex()), bytes).unwrap();
        json!({"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": digest.to_string(), "size": bytes.len()})
    };
    let mut config = write(b"{}");
    config["mediaType"] = "application/vnd.oci.image.config.v1+json".into();
    let manifest = json!({"schemaVersion": 2, "config": config, "layers": [write(layer)]});
    let mut root = write(manifest.to_string().as_bytes());
    root["mediaType"] = "application/vnd.oci.image.manifest.v1+json".into();
    root["annotations"] = json!({"org.opencontainers.image.ref.name": "web:1"});
    let index = json!({"schemaVersion": 2, "manifests": [root]}).to_string();
    fs_err::write(folder.join("index.json"), index).unwrap();
    fs_err::write(
        folder.join("oci-layout"),
        r#"{"imageLayoutVersion": "1.0.0"}"#,
    )
    .unwrap();
}

#[tokio::test]
async fn compressed_layers_of_a_layout_folder_are_read_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&vec![7; 100_000]).unwrap();
    let layer = gzip.finish().unwrap();
    layout_folder(folder.path(), &layer);
    assert!(read_layer(folder.path()).await.unwrap() == layer);
}

#[tokio::test]
async fn only_regular_files_are_replaced_by_an_archive() {
    let folder = tempfile::tempdir().unwrap();
    layout_folder(&folder.path().join("layout"), b"x");
    let source = Source::Archive(Arc::new(
        Archive::open(&folder.path().join("layout")).unwrap(),
    ));
    let socket = folder.path().join("socket.tar");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let error = save_quietly(&source, &[], &socket).await.unwrap_err();
    assert!(error.to_string().contains("socket"), "{error}");
    let (target, link) = (folder.path().join("a.tar"), folder.path().join("link.tar"));
    fs_err::write(&target, "old").unwrap();
    fs_err::os::unix::fs::symlink(&target, &link).unwrap();
    save_quietly(&source, &[], &link).await.unwrap();
    assert!(fs_err::symlink_metadata(&link).unwrap().is_symlink());
    assert_ne!(fs_err::read(&target).unwrap(), b"old");
}

#[tokio::test]
async fn truncated_and_changed_archives_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tar");
    let plain = docker_archive(&vec![7; 100_000]);
    for length in [0, 100, 600, 50_000, plain.len() - 3000] {
        fs_err::write(&path, &plain[..length]).unwrap();
        assert!(read_layer(&path).await.is_err(), "{length}");
    }
    let mut changed = plain;
    changed[1000] = 8;
    fs_err::write(&path, changed).unwrap();
    assert!(matches!(
        read_layer(&path).await,
        Err(Error::DigestMismatch { .. })
    ));
}

#[test]
fn names_and_links_cannot_leave_the_archive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tar");
    let mut builder = tar::Builder::new(Vec::new());
    for (name, target) in [
        ("c.json", "/etc/passwd"),
        ("d.json", "../../../../etc/passwd"),
        ("e.json", "e.json"),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        builder.append_link(&mut header, name, target).unwrap();
    }
    let manifest = json!([{"Config": "c.json", "Layers": []}, {"Config": "e.json", "Layers": []}, {"Config": "../x", "Layers": []}]).to_string();
    let mut header = tar::Header::new_gnu();
    header.set_size(manifest.len() as u64);
    builder
        .append_data(&mut header, "manifest.json", manifest.as_bytes())
        .unwrap();
    fs_err::write(&path, builder.into_inner().unwrap()).unwrap();
    let error = Archive::open(&path).unwrap_err().to_string();
    assert!(error.contains("\"c.json\" is missing"), "{error}");
}

#[tokio::test]
async fn saved_archives_are_reproducible_and_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let docker = folder.path().join("docker.tar");
    fs_err::write(&docker, docker_archive(b"layer")).unwrap();
    let source = Source::Archive(Arc::new(Archive::open(&docker).unwrap()));
    let name: Reference = "web:1".parse().unwrap();
    let found = source.resolve(&name).await.unwrap();
    let tree = Tree::read(&source, name.repository(), found.manifest)
        .await
        .unwrap();
    let image = SavedImage {
        repository: name.repository().clone(),
        name: Some(name.clone()),
        tree,
    };
    let mut saved = Vec::new();
    for file in ["a.tar", "b.tar", "c.tar.gz", "d.tar.zst"] {
        let path = folder.path().join(file);
        save_quietly(&source, std::slice::from_ref(&image), &path)
            .await
            .unwrap();
        let archive = Archive::open(&path).unwrap();
        assert_eq!(archive.images()[0].names, [name.to_string()]);
        assert!(read_layer(&path).await.unwrap() == b"layer");
        saved.push(fs_err::read(path).unwrap());
    }
    assert!(saved[0] == saved[1]);
    let layout = folder.path().join("layout");
    fs_err::create_dir(&layout).unwrap();
    for _ in 0..2 {
        save_quietly(&source, std::slice::from_ref(&image), &layout)
            .await
            .unwrap();
        assert!(read_layer(&layout).await.unwrap() == b"layer");
    }
}

/// All files below a folder, without folders.
fn files_below(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in fs_err::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    files
}

#[tokio::test]
async fn an_interrupted_save_leaves_no_temporary_file() {
    let folder = tempfile::tempdir().unwrap();
    let docker = folder.path().join("docker.tar");
    fs_err::write(&docker, docker_archive(b"layer")).unwrap();
    let source = Source::Archive(Arc::new(Archive::open(&docker).unwrap()));
    let image = image_named(&source, "web:1").await;
    let saved = folder.path().join("saved");
    fs_err::create_dir(&saved).unwrap();
    for name in ["a.tar", "b.tar.zst", "layout/"] {
        let progress = crate::Progress::default();
        progress.cancel();
        let target = SaveTarget::of(&saved.join(name)).unwrap();
        let result = save(&source, std::slice::from_ref(&image), &target, &progress).await;
        assert!(matches!(result, Err(Error::Canceled)), "{name}: {result:?}");
        assert_eq!(files_below(&saved), Vec::<String>::new(), "{name}");
    }
}

#[tokio::test]
async fn a_repeated_save_removes_what_a_killed_one_left() {
    let folder = tempfile::tempdir().unwrap();
    let docker = folder.path().join("docker.tar");
    fs_err::write(&docker, docker_archive(b"layer")).unwrap();
    let source = Source::Archive(Arc::new(Archive::open(&docker).unwrap()));
    let image = image_named(&source, "web:1").await;
    let saved = folder.path().join("saved");
    let blobs = saved.join("layout/blobs/sha256");
    fs_err::create_dir_all(&blobs).unwrap();
    let blob = format!(".{}.Ab1234.partial", Digest::of(b"layer").hex());
    for left in [
        saved.join(".a.tar.Ab1234.partial"),
        saved.join("layout/.index.json.Ab1234.partial"),
        blobs.join(blob),
    ] {
        fs_err::write(left, "half").unwrap();
    }
    for name in ["a.tar", "layout/"] {
        let path = saved.join(name);
        save_quietly(&source, std::slice::from_ref(&image), &path)
            .await
            .unwrap();
    }
    let left = files_below(&saved);
    assert!(
        left.iter().all(|name| !name.ends_with(".partial")),
        "{left:?}"
    );
}

/// An image of an archive under another name.
async fn image_named(source: &Source, name: &str) -> SavedImage {
    let found = source.resolve(&"web:1".parse().unwrap()).await.unwrap();
    let name: Reference = name.parse().unwrap();
    let tree = Tree::read(source, name.repository(), found.manifest);
    SavedImage {
        repository: name.repository().clone(),
        tree: tree.await.unwrap(),
        name: Some(name),
    }
}

#[tokio::test]
async fn a_folder_keeps_the_images_of_earlier_and_concurrent_saves() {
    let folder = tempfile::tempdir().unwrap();
    let docker = folder.path().join("docker.tar");
    fs_err::write(&docker, docker_archive(b"layer")).unwrap();
    let source = Source::Archive(Arc::new(Archive::open(&docker).unwrap()));
    let layout = folder.path().join("layout/");
    let names = ["a:1", "b:1", "c:1", "b:1"];
    let saves = names.map(|name| {
        let (source, layout) = (&source, &layout);
        async move {
            let image = image_named(source, name).await;
            save_quietly(source, &[image], layout).await.unwrap();
        }
    });
    futures::future::join_all(saves).await;
    let archive = Archive::open(&layout).unwrap();
    let found: Vec<&str> = archive
        .images()
        .iter()
        .flat_map(|image| image.names.iter().map(String::as_str))
        .collect();
    let expected = ["a:1", "b:1", "c:1"].map(|name| format!("docker.io/library/{name}"));
    assert_eq!(found, expected);
}

#[tokio::test]
async fn saved_files_have_the_permissions_of_other_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let docker = folder.path().join("docker.tar");
    fs_err::write(&docker, docker_archive(b"layer")).unwrap();
    let source = Source::Archive(Arc::new(Archive::open(&docker).unwrap()));
    let image = image_named(&source, "web:1").await;
    let mode = |path: &Path| fs_err::metadata(path).unwrap().permissions().mode();
    let saved = folder.path().join("saved.tar");
    save_quietly(&source, std::slice::from_ref(&image), &saved)
        .await
        .unwrap();
    assert_eq!(mode(&saved), mode(&docker));
    let layout = folder.path().join("layout/");
    save_quietly(&source, &[image], &layout).await.unwrap();
    assert_eq!(mode(&layout.join("index.json")), mode(&docker));
}

#[test]
fn a_layout_whose_manifest_was_replaced_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tar");
    let manifest = serde_json::to_vec(&Manifest {
        schema_version: 2,
        layers: Some(Vec::new()),
        ..Manifest::default()
    })
    .unwrap();
    let wrong = Digest::of(b"other");
    let index = json!({"schemaVersion": 2, "manifests": [Descriptor::new(OCI_MANIFEST, wrong.clone(), manifest.len() as u64)]}).to_string();
    let name = format!("blobs/sha256/{}", wrong.hex());
    let bytes = tar_of(&[
        ("oci-layout", b"{}"),
        ("index.json", index.as_bytes()),
        (&name, &manifest),
    ]);
    fs_err::write(&path, bytes).unwrap();
    assert!(matches!(
        Archive::open(&path),
        Err(Error::DigestMismatch { .. })
    ));
}

#[test]
fn a_name_that_is_larger_than_memory_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tar.gz");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut header = tar::Header::new_gnu();
    header.set_path("././@LongLink").unwrap();
    header.set_entry_type(tar::EntryType::GNULongName);
    header.set_size(1 << 40);
    header.set_cksum();
    gzip.write_all(header.as_bytes()).unwrap();
    for _ in 0..5 {
        gzip.write_all(&vec![b'a'; 1 << 20]).unwrap();
    }
    fs_err::write(&path, gzip.finish().unwrap()).unwrap();
    let error = Archive::open(&path).unwrap_err().to_string();
    assert!(
        error.contains("the header of an entry is too long"),
        "{error}"
    );
}

#[tokio::test]
async fn documents_in_an_archive_are_not_kept_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tar");
    let sbom = format!("{{\"spdxVersion\":\"{}\"}}", "x".repeat(3 << 20));
    let names: Vec<String> = (0..12).map(|sbom| format!("blobs/sha256/{sbom}")).collect();
    let entries: Vec<(&str, &[u8])> = names
        .iter()
        .map(|name| (name.as_str(), sbom.as_bytes()))
        .collect();
    let mut bytes = tar_of(&entries);
    // The archive ends with two empty blocks.
    bytes.truncate(bytes.len() - 1024);
    bytes.extend(docker_archive(b"layer"));
    fs_err::write(&path, bytes).unwrap();
    assert_eq!(read_layer(&path).await.unwrap(), b"layer");
}

/// An archive with an image, its signature and its SBOM, as a registry would have them.
#[tokio::test]
async fn what_is_attached_to_an_image_is_saved_and_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let docker = folder.path().join("docker.tar");
    fs_err::write(&docker, docker_archive(b"layer")).unwrap();
    let mut archive = Archive::open(&docker).unwrap();
    let name: Reference = "web:1".parse().unwrap();
    let root = archive.resolve(&name).unwrap();
    let blob = |archive: &mut Archive, bytes: &[u8], kind: &str| {
        let digest = Digest::of(bytes);
        archive
            .blobs
            .insert(digest.clone(), Entry::Memory(bytes.to_vec()));
        Descriptor::new(kind, digest, bytes.len() as u64)
    };
    let mut add = |layer: &[u8], subject: Option<Descriptor>| {
        let manifest = Manifest {
            schema_version: 2,
            media_type: Some(OCI_MANIFEST.to_owned()),
            config: Some(blob(&mut archive, b"{}", "application/x")),
            layers: Some(vec![blob(&mut archive, layer, "application/json")]),
            subject,
            ..Manifest::default()
        };
        let bytes = serde_json::to_vec(&manifest).unwrap();
        let manifest = Arc::new(RawManifest::parse(bytes, Some(OCI_MANIFEST)).unwrap());
        let digest = manifest.digest.clone();
        archive.small.insert(digest.clone(), manifest);
        digest
    };
    let sbom = add(b"sbom", Some(root.descriptor()));
    let signature = add(b"signature", None);
    let tag = format!("sha256-{}.sig", root.digest.hex());
    archive.images.push(ArchivedImage {
        names: vec![format!("docker.io/library/web:{tag}")],
        digest: signature.clone(),
    });
    let source = Source::Archive(Arc::new(archive));
    let tree = Tree::read(&source, name.repository(), root.clone());
    let repository = name.repository().clone();
    let mut images = vec![SavedImage {
        name: Some(name.clone()),
        repository: repository.clone(),
        tree: tree.await.unwrap(),
    }];
    for attached in source.attached(&name, &root).await.unwrap() {
        let name = attached.tag.map(|tag| repository.with_tag(&tag).unwrap());
        images.push(SavedImage {
            name,
            repository: repository.clone(),
            tree: attached.tree,
        });
    }
    assert_eq!(images.len(), 3);
    let saved = folder.path().join("saved.tar");
    save_quietly(&source, &images, &saved).await.unwrap();
    let archive = Archive::open(&saved).unwrap();
    let referrers = archive.referrers(&root.digest);
    assert_eq!(referrers.len(), 1);
    assert_eq!(referrers[0].digest, sbom);
    let images = archive.images();
    assert_eq!(images.len(), 1);
    assert_eq!(images[0].digest, root.digest);
    let signed = archive.resolve(&repository.with_tag(&tag).unwrap());
    assert_eq!(signed.unwrap().digest, signature);
    // `docker load` gets the image alone.
    let mut tar = tar::Archive::new(fs_err::File::open(&saved).unwrap());
    let mut entries = tar.entries().unwrap().map(Result::unwrap);
    let index = entries.find(|entry| &*entry.path_bytes() == b"manifest.json");
    let index: serde_json::Value = serde_json::from_reader(index.unwrap()).unwrap();
    assert_eq!(index.as_array().unwrap().len(), 1);
}

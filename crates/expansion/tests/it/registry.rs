//! Images that a package's archive lacks, streamed from a registry in the test process.

use std::path::{Path, PathBuf};

use outrigger_expansion::archive::MIN_CHUNK;
use outrigger_expansion::artifact::{pull, push};
use outrigger_expansion::build::{self, BuildOptions, WriteOptions};
use outrigger_expansion::{EntryKind, scan, verify};
use outrigger_oci::{
    Blob, Client, Descriptor, Digest, OCI_CONFIG, OCI_INDEX, OCI_MANIFEST, Options, RawManifest,
    Reference,
};
use outrigger_registry::{Server, ServerOptions, Store, StoreOptions};
use serde_json::json;

use crate::corpus::listing;
use crate::sample::{
    Sample, build_folder, chain, extract_to, noise, open_package, progress, reader,
};

struct Registry {
    folder: tempfile::TempDir,
    address: String,
    client: Client,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Registry {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
        let any = "127.0.0.1:0".parse().unwrap();
        let server = Server::bind(any, store, ServerOptions::default()).await;
        let server = server.unwrap();
        let address = server.address().unwrap().to_string();
        let options = Options {
            plain_http: [address.clone()].into(),
            ..Options::default()
        };
        Self {
            folder,
            address,
            client: Client::new(options),
            task: tokio::spawn(server.run(std::future::pending())),
        }
    }

    fn image(&self, name: &str) -> Reference {
        format!("{}/{name}", self.address).parse().unwrap()
    }

    /// Pushes an image for two platforms, whose layers are noise of these seeds.
    async fn push(&self, name: &str, seeds: [u64; 2]) {
        let image = self.image(name);
        let describe =
            |kind: &str, bytes: &[u8]| Descriptor::new(kind, Digest::of(bytes), bytes.len() as u64);
        let mut children = Vec::new();
        for (architecture, seed) in ["amd64", "arm64"].into_iter().zip(seeds) {
            let (config, layer) = (architecture.as_bytes().to_vec(), noise(seed, 300_000));
            let manifest = json!({
                "schemaVersion": 2,
                "mediaType": OCI_MANIFEST,
                "config": describe(OCI_CONFIG, &config),
                "layers": [describe("application/octet-stream", &layer)],
            });
            for bytes in [config, layer] {
                let blob = Blob::memory(bytes.clone(), &describe("a/b", &bytes));
                let pushed = self.client.push_blob(image.repository(), blob, None).await;
                pushed.unwrap();
            }
            let manifest = RawManifest::parse(manifest.to_string().into_bytes(), None).unwrap();
            let target = image.repository().with_digest(manifest.digest.clone());
            self.client.push_manifest(&target, &manifest).await.unwrap();
            let mut child = serde_json::to_value(manifest.descriptor()).unwrap();
            child["platform"] = json!({"os": "linux", "architecture": architecture});
            children.push(child);
        }
        let index = json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": children});
        let index = RawManifest::parse(index.to_string().into_bytes(), None).unwrap();
        self.client.push_manifest(&image, &index).await.unwrap();
    }

    /// A package with an image of its archive, and this one.
    fn sample(&self, name: &str) -> Sample {
        let sample = Sample::new();
        let listed = format!("example.com/side:1, \"{}/{name}\"]", self.address);
        sample.define("example.com/side:1]", &listed);
        sample
    }

    async fn build(
        &self,
        sample: &Sample,
        name: &str,
        platforms: &[&str],
    ) -> Result<PathBuf, build::Error> {
        let options = BuildOptions {
            platforms: platforms
                .iter()
                .map(|platform| platform.parse().unwrap())
                .collect(),
            base: None,
        };
        let plan = build::plan(&sample.source(), &self.client, &options).await?;
        let target = sample.path(name);
        plan.write(&target, WriteOptions::default(), &progress())
            .await?;
        Ok(target)
    }

    /// The file with the content of a blob.
    fn blob(&self, digest: &Digest) -> PathBuf {
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs_err::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.file_name().unwrap().to_string_lossy() == digest.hex() {
                    return path;
                }
            }
        }
        panic!("{digest} is not in the registry");
    }
}

fn files_of(folder: &Path) -> Vec<String> {
    let entries = fs_err::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn images_of_registries_and_archives_are_in_one_layout() {
    let registry = Registry::start().await;
    // One layer is that of the archive, and the platforms share the other.
    registry.push("team/app:1", [20, 20]).await;
    let sample = registry.sample("team/app:1");
    let path = registry.build(&sample, "a.tar.zst", &[]).await.unwrap();
    let opened = open_package(&path).unwrap();
    assert_eq!(listing(&verify(&opened.scanned)), "");
    let built = opened.built.unwrap();
    assert_eq!(built.lock.images().len(), 3);
    let count = |kind| {
        built
            .lock
            .entries()
            .filter(|entry| entry.kind == kind)
            .count()
    };
    // The archive: two manifests, two configurations, two layers. The registry: an index, two manifests, two configurations,
    // one layer.
    assert_eq!(
        (count(EntryKind::Manifest), count(EntryKind::Blob)),
        (2 + 3, 4 + 3)
    );
    // What is extracted has all images, so that it is built without the registry, and is the same.
    extract_to(&path, None, &sample.path("extracted"));
    drop(registry);
    let again = sample.path("again.tar.zst");
    let (source, target) = (sample.path("extracted"), again.clone());
    let options = BuildOptions::default();
    let building = std::thread::spawn(move || build_folder(&source, &target, &options, None));
    building.join().unwrap().unwrap();
    assert!(fs_err::read(path).unwrap() == fs_err::read(again).unwrap());
    assert_eq!(
        listing(&verify(&scan(&sample.path("extracted")).unwrap())),
        ""
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn other_platforms_are_left_out() {
    let registry = Registry::start().await;
    registry.push("team/app:1", [21, 22]).await;
    let sample = registry.sample("team/app:1");
    let size = |path: &Path| fs_err::metadata(path).unwrap().len();
    let all = registry.build(&sample, "all.tar.zst", &[]).await.unwrap();
    let one = registry
        .build(&sample, "one.tar.zst", &["linux/arm64"])
        .await
        .unwrap();
    assert!(
        size(&one) + 290_000 < size(&all),
        "{} {}",
        size(&one),
        size(&all)
    );
    assert_eq!(listing(&verify(&open_package(&one).unwrap().scanned)), "");
    assert_eq!(reader(&one).unwrap().root().platforms, ["linux/arm64"]);
    let error = registry
        .build(&sample, "none.tar.zst", &["linux/s390x"])
        .await
        .unwrap_err();
    let text = chain(&error);
    assert!(
        text.contains("has no image for linux/s390x; it has linux/amd64, linux/arm64"),
        "{text}"
    );
}

/// A blob is verified before its last byte is written, so that the package never gets its name.
#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_sends_other_content_is_found() {
    let registry = Registry::start().await;
    registry.push("team/app:1", [23, 24]).await;
    let sample = registry.sample("team/app:1");
    let layer = noise(23, 300_000);
    fs_err::write(registry.blob(&Digest::of(&layer)), noise(25, 300_000)).unwrap();
    let error = registry.build(&sample, "a.tar.zst", &[]).await.unwrap_err();
    let text = chain(&error);
    assert!(
        text.contains(&format!(
            "failed to read images/blobs/sha256/{}",
            Digest::of(&layer).hex()
        )),
        "{text}"
    );
    assert_eq!(files_of(sample.folder.path()), ["sample"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn packages_and_chunks_are_pushed_and_pulled_as_they_are() {
    let registry = Registry::start().await;
    let sample = Sample::new();
    let (path, chunk) = {
        let sample = &sample;
        std::thread::scope(|scope| {
            let building = scope.spawn(|| {
                let path = sample.build("a.tar.zst");
                let options = BuildOptions::default();
                (
                    path,
                    sample
                        .build_with("c.tar.zst", &options, Some(MIN_CHUNK))
                        .paths,
                )
            });
            building.join().unwrap()
        })
    };
    let client = &registry.client;
    fs_err::create_dir(sample.path("pulled")).unwrap();
    for (package, name) in [(&path, "one"), (&chunk[2], "chunks")] {
        let reference = registry.image(&format!("packages/{name}:1.0.0"));
        let digest = push(package, &reference, client, &progress())
            .await
            .unwrap();
        // Repeated, it is the same artifact.
        assert_eq!(
            push(package, &reference, client, &progress())
                .await
                .unwrap(),
            digest
        );
        let target = sample.path(&format!("pulled/{name}.tar.zst"));
        let pulled = pull(&reference, &target, client, &progress())
            .await
            .unwrap();
        let original = if name == "one" {
            std::slice::from_ref(&path)
        } else {
            &chunk[..]
        };
        assert_eq!(pulled.len(), original.len());
        for (pulled, original) in pulled.iter().zip(original) {
            assert!(fs_err::read(pulled).unwrap() == fs_err::read(original).unwrap());
        }
        open_package(&pulled[0]).unwrap();
    }
    registry.push("team/app:1", [30, 31]).await;
    let image = registry.image("team/app:1");
    let error = pull(&image, &sample.path("x.tar.zst"), client, &progress())
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{image} is not an expansion package, but an index")
    );
    // What is damaged is not pushed.
    let mut bytes = fs_err::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs_err::write(&path, bytes).unwrap();
    let reference = registry.image("packages/damaged:1");
    let error = push(&path, &reference, client, &progress())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("is damaged"), "{error}");
    // Whatever the registry sends, the file has the digest of its layer.
    let whole = Digest::of(&fs_err::read(sample.path("pulled/one.tar.zst")).unwrap());
    let stored = registry.blob(&whole);
    let size = usize::try_from(fs_err::metadata(&stored).unwrap().len()).unwrap();
    fs_err::write(stored, noise(9, size)).unwrap();
    let reference = registry.image("packages/one:1.0.0");
    let before = files_of(sample.folder.path());
    pull(&reference, &sample.path("y.tar.zst"), client, &progress())
        .await
        .unwrap_err();
    assert_eq!(files_of(sample.folder.path()), before);
}

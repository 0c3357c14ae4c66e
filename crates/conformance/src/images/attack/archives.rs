//! Hostile archives, and archives on full disks.

use std::io::{Read, Write as _};
use std::path::Path;

use anyhow::ensure;
use flate2::Compression;
use flate2::write::GzEncoder;
use outrigger_oci::{Algorithm, Digest};
use serde_json::json;

use super::tmpfs::Tmpfs;
use super::{Attack, Scene, Used};

/// An archive that is written to a file, because the memory of this process would count as that of its children.
type Tar = tar::Builder<std::fs::File>;

fn create(path: &Path) -> anyhow::Result<Tar> {
    Ok(tar::Builder::new(
        fs_err::File::create(path)?.into_parts().0,
    ))
}

/// Writes an archive of `docker save` with one image.
fn docker_archive(
    path: &Path,
    name: &str,
    layer: impl Read,
    size: u64,
    diff_id: &str,
) -> anyhow::Result<()> {
    let config = json!({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [diff_id]}});
    let manifest = json!([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]);
    let mut tar = create(path)?;
    append(&mut tar, "config.json", config.to_string().as_bytes())?;
    append_stream(&mut tar, "layer.tar", layer, size)?;
    append(&mut tar, "manifest.json", manifest.to_string().as_bytes())?;
    Ok(tar.into_inner()?.flush()?)
}

fn append(tar: &mut Tar, name: &str, content: &[u8]) -> anyhow::Result<()> {
    append_stream(tar, name, content, content.len() as u64)
}

fn append_stream(tar: &mut Tar, name: &str, content: impl Read, size: u64) -> anyhow::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o644);
    Ok(tar.append_data(&mut header, name, content)?)
}

/// Bytes that do not compress.
struct RandomBytes(fastrand::Rng);

impl Read for RandomBytes {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.fill(buffer);
        Ok(buffer.len())
    }
}

/// Writes an archive with one image whose layer has this many bytes.
pub(super) fn write_image(path: &Path, name: &str, size: u64) -> anyhow::Result<()> {
    let layer = || RandomBytes(fastrand::Rng::with_seed(size)).take(size);
    let mut hasher = Algorithm::Sha256.hasher();
    let mut content = layer();
    let mut buffer = vec![0; 64 << 10];
    while let length @ 1.. = content.read(&mut buffer)? {
        hasher.update(&buffer[..length]);
    }
    docker_archive(path, name, layer(), size, &hasher.finish().to_string())
}

/// Bytes that a few kilobytes decompress to.
fn bomb(mebibytes: usize) -> anyhow::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let zeros = vec![0; 1 << 20];
    for _ in 0..mebibytes {
        encoder.write_all(&zeros)?;
    }
    Ok(encoder.finish()?)
}

impl Scene {
    /// Loads an archive into a registry of ours, whose content must stay correct. Returns the bytes that it stores, too.
    async fn load(
        &self,
        write: impl Fn(&Path) -> anyhow::Result<()>,
    ) -> anyhow::Result<(Used, u64)> {
        let path = self.folder.join("archive.tar");
        write(&path)?;
        let registry = self.registry("registry").await?;
        let (archive, to) = (path.display().to_string(), &registry.address);
        let used = self
            .client(&["image", "load", &archive, "--to", to, "--plain-http", to])
            .await?;
        self.check(&registry).await?;
        Ok((used, stored(&registry.data)?))
    }
}

/// The bytes of all files below a folder.
fn stored(folder: &Path) -> anyhow::Result<u64> {
    let mut total = 0;
    for entry in fs_err::read_dir(folder)? {
        let entry = entry?;
        total += if entry.file_type()?.is_dir() {
            stored(&entry.path())?
        } else {
            entry.metadata()?.len()
        };
    }
    Ok(total)
}

/// An archive that is rejected.
fn rejected(
    name: &'static str,
    write: fn(&Path) -> anyhow::Result<()>,
    expected: &'static str,
) -> Attack {
    Attack::new(name, move |scene: Scene| async move {
        let (used, _) = scene.load(write).await?;
        used.failed_with(expected)
    })
}

pub(super) fn attacks() -> Vec<Attack> {
    vec![
        rejected("a truncated archive", truncated, "is not an image archive"),
        rejected("an archive with links", links, "is missing"),
        rejected(
            "an archive with devices, `..` and absolute names",
            names,
            "is missing",
        ),
        rejected(
            "an archive that is a gzip bomb",
            archive_bomb,
            "is not an image archive",
        ),
        rejected(
            "a manifest.json of 100 MB",
            large_manifest,
            "is not an image archive",
        ),
        rejected(
            "a name without end",
            endless_name,
            "the header of an entry is too long",
        ),
        Attack::new("a layer that is a gzip bomb", async |scene: Scene| {
            let layer = bomb(512)?;
            let diff_id = Digest::of(b"never computed").to_string();
            let (name, size) = ("example.com/bomb:1", layer.len() as u64);
            let write = |path: &Path| docker_archive(path, name, layer.as_slice(), size, &diff_id);
            let (used, stored) = scene.load(write).await?;
            used.succeeded()?;
            ensure!(stored < 2 * size, "the registry stores {stored} bytes");
            Ok(used.outcome(&format!("copied as it is, {} KiB", stored >> 10)))
        }),
        Attack::new("a disk that is full while an archive is saved", full_disk),
        Attack::new("two copies into one folder", two_copies),
    ]
}

fn truncated(path: &Path) -> anyhow::Result<()> {
    write_image(path, "example.com/a:1", 100_000)?;
    let file = fs_err::OpenOptions::new().write(true).open(path)?;
    Ok(file.set_len(60_000)?)
}

fn links(path: &Path) -> anyhow::Result<()> {
    let entries = [
        (tar::EntryType::Symlink, "config.json", "/etc/passwd"),
        (tar::EntryType::Link, "layer.tar", "../../../etc/passwd"),
    ];
    special(path, &entries)
}

fn names(path: &Path) -> anyhow::Result<()> {
    let entries = [
        (tar::EntryType::Block, "config.json", ""),
        (tar::EntryType::Fifo, "layer.tar", ""),
        (tar::EntryType::Regular, "../../config.json", ""),
        (tar::EntryType::Regular, "/config.json", ""),
    ];
    special(path, &entries)
}

/// An archive whose config and layer are special files. Names are written as they are, which the library rejects.
fn special(path: &Path, entries: &[(tar::EntryType, &str, &str)]) -> anyhow::Result<()> {
    let mut tar = create(path)?;
    for (kind, name, target) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_size(0);
        let fields = header.as_old_mut();
        fields.name[..name.len()].copy_from_slice(name.as_bytes());
        fields.linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_cksum();
        tar.append(&header, std::io::empty())?;
    }
    let manifest = json!([{"Config": "config.json", "RepoTags": ["example.com/a:1"], "Layers": ["layer.tar"]}]);
    append(&mut tar, "manifest.json", manifest.to_string().as_bytes())?;
    Ok(tar.into_inner()?.flush()?)
}

/// A compressed archive with one large file that is not an image.
fn archive_bomb(path: &Path) -> anyhow::Result<()> {
    const SIZE: usize = 512;
    let mut header = tar::Header::new_gnu();
    header.set_path("zeros")?;
    header.set_size((SIZE as u64) << 20);
    header.set_cksum();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(header.as_bytes())?;
    let zeros = vec![0; 1 << 20];
    for _ in 0..=SIZE {
        encoder.write_all(&zeros)?;
    }
    Ok(fs_err::write(path, encoder.finish()?)?)
}

/// A compressed archive with an entry whose name has 512 MiB.
fn endless_name(path: &Path) -> anyhow::Result<()> {
    const SIZE: usize = 512;
    let mut header = tar::Header::new_gnu();
    header.set_path("././@LongLink")?;
    header.set_entry_type(tar::EntryType::GNULongName);
    header.set_size((SIZE as u64) << 20);
    header.set_cksum();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(header.as_bytes())?;
    let name = vec![b'a'; 1 << 20];
    for _ in 0..=SIZE {
        encoder.write_all(&name)?;
    }
    Ok(fs_err::write(path, encoder.finish()?)?)
}

fn large_manifest(path: &Path) -> anyhow::Result<()> {
    let mut tar = create(path)?;
    let content = std::io::repeat(b'[').take(100_000_000);
    append_stream(&mut tar, "manifest.json", content, 100_000_000)?;
    Ok(tar.into_inner()?.flush()?)
}

/// Saves an image to a disk on which it does not fit.
async fn full_disk(scene: Scene) -> anyhow::Result<crate::attack::Outcome> {
    let registry = scene.registry("registry").await?;
    let archive = scene.folder.join("image.tar");
    write_image(&archive, "example.com/team/app:1", 20 << 20)?;
    let (file, address) = (archive.display().to_string(), &registry.address);
    let plain = ["--plain-http", address];
    let load = ["image", "load", &file, "--to", address];
    scene
        .client(&[&load[..], &plain].concat())
        .await?
        .succeeded()?;
    let folder = scene.folder.join("disk");
    let disk = Tmpfs::mount(&folder, 8)?;
    let (image, target) = (format!("{address}/team/app:1"), folder.join("a.tar"));
    let target = target.display().to_string();
    let save = ["image", "save", &image, "--to", &target];
    let save = [&save[..], &plain].concat();
    let used = scene.client(&save).await?;
    let outcome = used.failed_with("No space left")?;
    let left = fs_err::read_dir(&folder)?.count();
    ensure!(left == 0, "{left} files are left on the disk");
    disk.resize(64)?;
    scene.client(&save).await?.succeeded()?;
    Ok(outcome)
}

/// Two processes save different images with a common layer to one layout.
async fn two_copies(scene: Scene) -> anyhow::Result<crate::attack::Outcome> {
    let registry = scene.registry("registry").await?;
    let address = &registry.address;
    let plain = ["--plain-http", address];
    for name in ["a", "b"] {
        let archive = scene.folder.join(format!("{name}.tar"));
        write_image(&archive, &format!("example.com/team/{name}:1"), 10 << 20)?;
        let file = archive.display().to_string();
        let load = ["image", "load", &file, "--to", address];
        scene
            .client(&[&load[..], &plain].concat())
            .await?
            .succeeded()?;
    }
    let folder = format!("{}/", scene.folder.join("layout").display());
    let save = |name: &str| {
        let image = format!("{address}/team/{name}:1");
        let save = ["image", "save", &image, "--to", &folder];
        scene.start(&[&save[..], &plain].concat())
    };
    let (a, b) = tokio::try_join!(save("a")?, save("b")?)?;
    a.succeeded()?;
    b.succeeded()?;
    let other = scene.registry("other").await?;
    let load = ["image", "load", &folder, "--to", &other.address];
    let load = [&load[..], &["--plain-http", &other.address]].concat();
    let used = scene.client(&load).await?;
    used.succeeded()?;
    scene.check(&other).await?;
    for name in ["a", "b"] {
        ensure!(
            used.stdout.contains(&format!("/team/{name}:1")),
            "{name} is lost: {}",
            used.stdout
        );
    }
    Ok(used.outcome("both images are in the folder"))
}

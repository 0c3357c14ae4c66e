//! Images to copy: 40 by default, with shared base layers. They are pushed from archives by our own client.

use std::io::{Read, Write};
use std::path::Path;

use anyhow::ensure;
use outrigger_oci::{Algorithm, Hasher};
use serde_json::json;

use super::registries::Registry;
use crate::process::command;

/// How many images, and how large their layers are in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Workload {
    pub(crate) images: usize,
    pub(crate) base: usize,
    pub(crate) own: usize,
}

/// Base images that the others share.
const BASES: usize = 4;

impl Workload {
    /// The names of the images, without a registry.
    pub(crate) fn names(&self) -> Vec<String> {
        (0..self.images)
            .map(|image| format!("team{}/app{image}:1.0", image % 3))
            .collect()
    }

    /// Pushes all images to a registry. Returns the number of bytes of all layers, each once.
    pub(crate) async fn push(
        &self,
        binary: &Path,
        folder: &Path,
        registry: &Registry,
    ) -> anyhow::Result<u64> {
        let archive = folder.join("workload.tar");
        let bytes = self.write(&archive)?;
        let pushed = command(binary)
            .args([
                "image",
                "load",
                "--to",
                &registry.address,
                "--plain-http",
                &registry.address,
            ])
            .arg(&archive)
            .output()
            .await?;
        ensure!(
            pushed.status.success(),
            "load failed: {}",
            String::from_utf8_lossy(&pushed.stderr)
        );
        fs_err::remove_file(archive)?;
        Ok(bytes)
    }

    /// Writes an archive as `docker save` does. Returns the number of bytes of all layers.
    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<u64> {
        let mut random = fastrand::Rng::with_seed(17);
        let file = fs_err::File::create(path)?;
        let mut tar = tar::Builder::new(std::io::BufWriter::new(file));
        let mut total = 0;
        let mut layer =
            |tar: &mut tar::Builder<_>, name: &str, size: usize| -> anyhow::Result<String> {
                total += size as u64;
                let mut content = RandomBytes::new(&mut random, size);
                append_stream(tar, name, &mut content, size as u64)?;
                Ok(content.hasher.finish().to_string())
            };
        let mut bases = Vec::new();
        for base in 0..BASES {
            bases.push(layer(
                &mut tar,
                &format!("base{base}/layer.tar"),
                self.base,
            )?);
        }
        let mut manifest = Vec::new();
        for (image, name) in self.names().iter().enumerate() {
            let own = layer(&mut tar, &format!("own{image}/layer.tar"), self.own)?;
            let base = image % BASES;
            let config = json!({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [bases[base], own]}});
            append(
                &mut tar,
                &format!("{image}.json"),
                config.to_string().as_bytes(),
            )?;
            let layers = [
                format!("base{base}/layer.tar"),
                format!("own{image}/layer.tar"),
            ];
            manifest.push(json!({"Config": format!("{image}.json"), "RepoTags": [format!("source.local/{name}")], "Layers": layers}));
        }
        append(
            &mut tar,
            "manifest.json",
            serde_json::to_string(&manifest)?.as_bytes(),
        )?;
        tar.into_inner()?.flush()?;
        Ok(total)
    }
}

fn append(tar: &mut tar::Builder<impl Write>, name: &str, content: &[u8]) -> anyhow::Result<()> {
    append_stream(tar, name, content, content.len() as u64)
}

fn append_stream(
    tar: &mut tar::Builder<impl Write>,
    name: &str,
    content: impl Read,
    size: u64,
) -> anyhow::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o644);
    Ok(tar.append_data(&mut header, name, content)?)
}

/// Bytes that do not compress. They are never in memory together: the memory of this process when it starts a client counts
/// as that of the client.
struct RandomBytes<'r> {
    random: &'r mut fastrand::Rng,
    left: usize,
    is_first: bool,
    hasher: Hasher,
}

impl<'r> RandomBytes<'r> {
    fn new(random: &'r mut fastrand::Rng, size: usize) -> Self {
        Self {
            random,
            left: size,
            is_first: true,
            hasher: Algorithm::Sha256.hasher(),
        }
    }
}

impl Read for RandomBytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.left.min(buffer.len());
        let Some(chunk) = buffer.get_mut(..length) else {
            return Ok(0);
        };
        self.random.fill(chunk);
        // Not the beginning of a gzip stream, which a layer may be.
        if let Some(first) = chunk.first_mut()
            && std::mem::take(&mut self.is_first)
        {
            *first = b'x';
        }
        self.hasher.update(chunk);
        self.left -= length;
        Ok(length)
    }
}

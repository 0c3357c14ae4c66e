//! A package with a chart, files, hooks and images, and short forms of what tests do with it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use outrigger_expansion::archive::{self, Reader, Written};
use outrigger_expansion::build::{self, BuildOptions, WriteOptions};
use outrigger_expansion::{OpenError, Opened, Progress, extract, find_built, open};
use outrigger_oci::{Client, Digest, Options};
use serde_json::json;
use tempfile::TempDir;

/// A temporary folder with the folder of a package, and what is built of it.
pub(crate) struct Sample {
    pub(crate) folder: TempDir,
}

/// Bytes that do not compress.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// An archive of `docker save` with images, each a name and its layers.
pub(crate) fn docker_archive(images: &[(&str, &[Vec<u8>])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut append = |name: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, bytes).unwrap();
    };
    let mut manifest = Vec::new();
    for (index, (name, layers)) in images.iter().enumerate() {
        let diff_ids: Vec<Digest> = layers.iter().map(|layer| Digest::of(layer)).collect();
        let config = json!({"rootfs": {"type": "layers", "diff_ids": diff_ids}}).to_string();
        let mut names = Vec::new();
        for (number, layer) in layers.iter().enumerate() {
            let name = format!("{index}-{number}/layer.tar");
            append(&name, layer);
            names.push(name);
        }
        let config_name = format!("{index}.json");
        append(&config_name, config.as_bytes());
        manifest.push(json!({"Config": config_name, "RepoTags": [name], "Layers": names}));
    }
    append("manifest.json", json!(manifest).to_string().as_bytes());
    builder.into_inner().unwrap()
}

const DEFINITION: &str = "\
name: sample
version: 1.0.0
charts: [web]
images: [example.com/web:1, example.com/side:1]
files: [etc/app.conf, {src: opt/tool, mode: \"0750\"}]
hooks: [pre-install]
provider: [1.36.4/amd64/bin/tool]
";

impl Sample {
    /// The package, whose images are in an archive.
    pub(crate) fn new() -> Self {
        let sample = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        sample.write("expansion.yaml", DEFINITION);
        sample.write("values.yaml", "port: 80\n");
        sample.write(
            "charts/web/Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 0.1.0\nicon: https://example.com/web.png\n",
        );
        sample.write("charts/web/values.yaml", "image: example.com/web:1\n");
        let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: web, image: \"{{ .Values.image }}\"}]\n";
        sample.write("charts/web/templates/pod.yaml", pod);
        sample.write("files/etc/app.conf", "port = {{ .Values.port }}\n");
        sample.write("files/opt/tool", noise(1, 1500));
        sample.write("hooks/pre-install", "#!/bin/sh\nexit 0\n");
        sample.mode("hooks/pre-install", 0o755);
        sample.write("provider/1.36.4/amd64/bin/tool", noise(2, 3000));
        sample.images(&[3, 4]);
        sample
    }

    /// Writes the archive of images. Both share the layer of the first seed.
    pub(crate) fn images(&self, seeds: &[u64]) {
        let layers: Vec<Vec<u8>> = seeds.iter().map(|seed| noise(*seed, 6000)).collect();
        let images = [
            ("example.com/web:1", &layers[..]),
            ("example.com/side:1", &layers[..1]),
        ];
        self.write("images.tar", docker_archive(&images));
    }

    pub(crate) fn source(&self) -> PathBuf {
        self.path("sample")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file of the package.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.source().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, content).unwrap();
    }

    pub(crate) fn mode(&self, path: &str, mode: u32) {
        let path = self.source().join(path);
        let mode = std::fs::Permissions::from_mode(mode);
        fs_err::set_permissions(path, mode).unwrap();
    }

    /// Replaces text of the definition.
    pub(crate) fn define(&self, from: &str, to: &str) {
        let text = fs_err::read_to_string(self.source().join("expansion.yaml")).unwrap();
        assert!(text.contains(from), "{text}");
        self.write("expansion.yaml", text.replace(from, to));
    }

    /// Builds the package to a file of this name.
    pub(crate) fn build(&self, name: &str) -> PathBuf {
        self.build_with(name, &BuildOptions::default(), None);
        self.path(name)
    }

    pub(crate) fn build_delta(&self, name: &str, base: &Path) -> PathBuf {
        let options = BuildOptions {
            base: Some(base.to_owned()),
            ..BuildOptions::default()
        };
        self.build_with(name, &options, None);
        self.path(name)
    }

    pub(crate) fn build_with(
        &self,
        name: &str,
        options: &BuildOptions,
        chunk_size: Option<u64>,
    ) -> Written {
        let built = build_folder(&self.source(), &self.path(name), options, chunk_size);
        built.unwrap()
    }
}

pub(crate) fn build_folder(
    source: &Path,
    target: &Path,
    options: &BuildOptions,
    chunk_size: Option<u64>,
) -> Result<Written, build::Error> {
    block_on(async {
        let client = Client::new(Options::default());
        let plan = build::plan(source, &client, options).await?;
        let options = WriteOptions {
            chunk_size,
            signatures: None,
        };
        plan.write(target, options, &progress()).await
    })
}

pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work)
}

pub(crate) fn progress() -> Arc<Progress> {
    Arc::default()
}

pub(crate) fn open_package(path: &Path) -> Result<Opened, OpenError> {
    open(path, None, &progress())
}

/// The documents of a built package.
pub(crate) fn reader(path: &Path) -> Result<Reader, archive::Error> {
    Reader::open(&find_built(path)?, &progress())
}

pub(crate) fn extract_to(path: &Path, base: Option<&Path>, folder: &Path) {
    let base = base.map(|base| reader(base).unwrap());
    extract(reader(path).unwrap(), base, folder).unwrap();
}

/// An error with its causes, a line each.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = format!("{error}\n");
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!("  caused by: {error}\n"));
        cause = error.source();
    }
    text
}

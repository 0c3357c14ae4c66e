//! `bench expansion`: a package with large images is built, verified and loaded, and compared with what people do today: unpack
//! it, and copy each image with skopeo.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use outrigger_oci::{Algorithm, Digest};
use outrigger_testing::TestContext;
use outrigger_testing::peers::SKOPEO;
use serde_json::{Value, json};

use super::package::{CONFIG, LAYER, MANIFEST, index_of, output_flag, write_cluster};
use crate::bench::measure::{Cost, run as measured};
use crate::bench::{Report, mebibytes};
use crate::images::registries::Registry;

const IMAGES: u64 = 5;

/// The bytes that are written at once.
const PIECE: usize = 1 << 20;

/// What the memory of a command may grow by, whatever the size of the package.
const MEMORY: f64 = 64.0;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Size of the layers of all images, in MiB. It needs four times as much disk space
    #[arg(long, value_name = "MIB", default_value_t = 5 << 10)]
    size: u64,
}

pub(crate) async fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let context = TestContext::new(binary)?;
    let folder = context.directory().to_owned();
    let layer = (args.size << 20) / IMAGES;
    write_package(&context, layer)?;
    let bench = Bench {
        context,
        report: Report::default(),
    };
    bench.run(&folder, layer).await
}

struct Bench {
    context: TestContext,
    report: Report,
}

impl Bench {
    async fn run(mut self, folder: &Path, layer: u64) -> anyhow::Result<()> {
        let flag = output_flag(&self.context)?;
        let idle = self.measure("start of the program", &["version"])?;
        let build = ["expansion", "build", "package", flag, "package.tar.zst"];
        self.bounded("build", &build, idle)?;
        let verify = ["expansion", "verify", "package.tar.zst", "--allow-unsigned"];
        self.bounded("verify", &verify, idle)?;
        let install = [
            "install",
            "--config",
            "cluster.yaml",
            "--allow-unsigned",
            "--until",
            "LoadImages",
        ];
        // The same without a package: API server and machine.
        let without = [&install[..], &["--data", "without"]].concat();
        let without = self.measure("install without a package", &without)?;
        let with = ["--expansion", "package.tar.zst", "--data", "data"];
        let with = self.bounded(
            "install until LoadImages",
            &[&install[..], &with].concat(),
            without,
        )?;
        self.check_disk(folder)?;
        self.compare_with_skopeo(folder, with, without).await?;
        self.check_delta(folder, flag, layer)?;
        self.report.finish()
    }

    fn measure(&self, name: &str, args: &[&str]) -> anyhow::Result<Cost> {
        let cost = measured(&mut self.context.command(args.iter().copied()))?;
        Report::measured(&format!("{name}: time"), cost.wall.as_secs_f64(), "s");
        Ok(cost)
    }

    /// Measures a command whose memory must not grow with the package.
    fn bounded(&mut self, name: &str, args: &[&str], base: Cost) -> anyhow::Result<Cost> {
        let cost = self.measure(name, args)?;
        let memory = mebibytes(cost.memory.saturating_sub(base.memory));
        let name = format!("{name}: memory above that without a package");
        self.report.at_most(&name, memory, MEMORY, "MiB");
        Ok(cost)
    }

    /// Nothing of the images is anywhere but in the store of the registry.
    fn check_disk(&mut self, folder: &Path) -> anyhow::Result<()> {
        let package = fs_err::metadata(folder.join("package.tar.zst"))?.len();
        let data = folder.join("data");
        let outside = size_of(&data)?
            .saturating_sub(size_of(&data.join("registry"))?)
            .saturating_sub(size_of(&folder.join("without"))?);
        let (outside, limit) = (mebibytes(outside), hundredths(mebibytes(package / 100)));
        let name = "install: disk outside of the registry";
        self.report.at_most(name, outside, limit.max(1.0), "MiB");
        Ok(())
    }

    async fn compare_with_skopeo(
        &mut self,
        folder: &Path,
        with: Cost,
        without: Cost,
    ) -> anyhow::Result<()> {
        let Ok(skopeo) = SKOPEO.installed() else {
            Report::measured("skopeo is not installed", 0.0, "s");
            return Ok(());
        };
        let flag = output_flag(&self.context)?;
        let extract = ["expansion", "extract", "package.tar.zst", flag, "unpacked"];
        let mut total = self.measure("unpack", &extract)?.wall;
        let binary = self.context.command([]).get_program().to_owned();
        let registry = Registry::outrigger(Path::new(&binary), &folder.join("other")).await?;
        for number in 0..IMAGES {
            let copy = copy_command(&skopeo, folder, number, &registry.address);
            let mut copy = copy?;
            total += measured(&mut copy)?.wall;
        }
        Report::measured("unpack and skopeo copy: time", total.as_secs_f64(), "s");
        let own = with.wall.saturating_sub(without.wall).as_secs_f64();
        let name = "install is faster by the factor";
        self.report
            .at_least(name, total.as_secs_f64() / own.max(0.001), 2.0, "");
        fs_err::remove_dir_all(folder.join("unpacked"))?;
        Ok(())
    }

    /// A delta for one changed layer is hardly larger than that layer.
    fn check_delta(&mut self, folder: &Path, flag: &str, layer: u64) -> anyhow::Result<()> {
        write_images(&folder.join("package/images"), layer, 1)?;
        let build = [
            "expansion",
            "build",
            "package",
            flag,
            "delta.tar.zst",
            "--delta-from",
            "package.tar.zst",
        ];
        self.measure("build a delta", &build)?;
        let delta = fs_err::metadata(folder.join("delta.tar.zst"))?.len();
        let above = mebibytes(delta.saturating_sub(layer));
        let limit = hundredths(mebibytes(layer / 50) + 0.25);
        self.report
            .at_most("delta: bytes above those of the layer", above, limit, "MiB");
        Ok(())
    }
}

/// Copies an image of the unpacked layout to a registry.
fn copy_command(
    skopeo: &Path,
    folder: &Path,
    number: u64,
    registry: &str,
) -> anyhow::Result<Command> {
    let tool = TestContext::new(skopeo)?;
    let images = folder.join("unpacked/images");
    let source = format!("oci:{}:{}", images.display(), image(number));
    let target = format!("docker://{registry}/bench/image-{number}:1");
    let args = [
        "--insecure-policy",
        "copy",
        "--quiet",
        "--dest-tls-verify=false",
    ];
    let mut command = tool.command(args);
    command.arg(source).arg(target).current_dir(folder);
    command
        .env("HOME", folder)
        .env("LD_LIBRARY_PATH", SKOPEO.libraries()?);
    Ok(command)
}

/// A limit as it is printed.
fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn image(number: u64) -> String {
    format!("registry.test/bench/image-{number}:1")
}

fn write_package(context: &TestContext, layer: u64) -> anyhow::Result<()> {
    write_cluster(context, "bench")?;
    let images: Vec<String> = (0..IMAGES)
        .map(|number| format!("  - {}\n", image(number)))
        .collect();
    let definition = format!("name: bench\nversion: 1.0.0\nimages:\n{}", images.concat());
    context.write("package/expansion.yaml", definition)?;
    write_images(&context.directory().join("package/images"), layer, 0)
}

/// Writes an OCI layout. The content of the first image follows from the version, and that of the others does not.
fn write_images(folder: &Path, layer: u64, version: u64) -> anyhow::Result<()> {
    if folder.exists() {
        fs_err::remove_dir_all(folder)?;
    }
    let blobs = folder.join("blobs/sha256");
    fs_err::create_dir_all(&blobs)?;
    let mut manifests = Vec::new();
    for number in 0..IMAGES {
        let seed = if number == 0 { version * 1000 } else { number };
        let layer = write_layer(&blobs, layer, seed + 1)?;
        let config = json!({"architecture": "amd64", "os": "linux", "number": number});
        let config = write_blob(&blobs, &config, CONFIG)?;
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer],
        });
        let mut entry = write_blob(&blobs, &manifest, MANIFEST)?;
        entry["annotations"] = json!({"io.containerd.image.name": image(number)});
        manifests.push(entry);
    }
    fs_err::write(folder.join("index.json"), index_of(&manifests).to_string())?;
    fs_err::write(
        folder.join("oci-layout"),
        r#"{"imageLayoutVersion":"1.0.0"}"#,
    )?;
    Ok(())
}

fn write_blob(blobs: &Path, content: &Value, kind: &str) -> anyhow::Result<Value> {
    let content = content.to_string();
    let digest = Digest::of(content.as_bytes());
    fs_err::write(blobs.join(digest.hex()), &content)?;
    Ok(json!({"mediaType": kind, "digest": digest.to_string(), "size": content.len()}))
}

/// Content that cannot be compressed.
fn write_layer(blobs: &Path, size: u64, seed: u64) -> anyhow::Result<Value> {
    let mut random = fastrand::Rng::with_seed(seed);
    let path = blobs.join("layer");
    let mut file = fs_err::File::create(&path)?;
    let mut hasher = Algorithm::Sha256.hasher();
    let mut piece = vec![0; PIECE];
    let mut left = usize::try_from(size)?;
    while left > 0 {
        let length = left.min(PIECE);
        random.fill(&mut piece[..length]);
        hasher.update(&piece[..length]);
        file.write_all(&piece[..length])?;
        left -= length;
    }
    let digest = hasher.finish();
    fs_err::rename(&path, blobs.join(digest.hex()))?;
    Ok(json!({"mediaType": LAYER, "digest": digest.to_string(), "size": size}))
}

/// The bytes of all files below a folder. Machines are mounted folders of this system, which are left out.
fn size_of(folder: &Path) -> anyhow::Result<u64> {
    let mut size = 0;
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        ensure!(folder.exists(), "{} does not exist", folder.display());
        for entry in fs_err::read_dir(&folder)? {
            let entry = entry?;
            let metadata = entry.metadata().context("a file was removed")?;
            if entry.file_name() == OsStr::new("machines") {
                continue;
            }
            if metadata.is_dir() {
                left.push(entry.path());
            } else if metadata.is_file() {
                size += metadata.len();
            }
        }
    }
    Ok(size)
}

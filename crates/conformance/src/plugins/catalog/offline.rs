//! A site without internet: `image sync` fills a registry from stand-in upstream repositories, which are switched off.
#![expect(
    clippy::print_stdout,
    reason = "the report is the output of this command"
)]

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};

use super::upstream::Upstream;
use super::{Expected, Plugins, Site, archives, catalog_plugin, manifest};
use crate::images::registries::Registry;
use crate::process::command;

/// Where the catalogue is on the internet.
const CATALOGUE: &str = "https://charts.kubegems.io/plugins";

/// What is on the internet: the catalogue, the charts that its plugins use, and their images.
struct Internet {
    catalogue: Upstream,
    charts: Upstream,
    images: Registry,
}

pub(super) async fn run(binary: &Path, charts: &Path) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let directory = scratch.path();
    let internet = Internet {
        catalogue: Upstream::start().await?,
        charts: Upstream::start().await?,
        images: Registry::outrigger(binary, &directory.join("upstream")).await?,
    };
    let (plugins, shown) = internet.publish(charts).await?;
    write_plugins(directory, &plugins)?;
    // Some images are not in fields named `image`.
    let mut images = internet.list(binary, directory).await?;
    images.retain(|image| !image.starts_with(&internet.images.address));
    images.extend(shown);
    push_images(binary, directory, &images, &internet.images.address).await?;
    let site = Registry::outrigger(binary, &directory.join("site")).await?;
    let registry = site.address.clone();
    let summary = internet.sync(binary, directory, &registry).await?;
    check_summary(&summary, &plugins)?;
    drop(internet);

    let mirror = format!("*=oci://{registry}/charts");
    let flags = [
        "--chart-mirror",
        &mirror,
        "--plain-http",
        &registry,
        "--image-registry",
        &registry,
    ];
    let cluster = Site::start(binary, directory, &flags).await?;
    cluster.install(&plugins).await?;
    verify(binary, directory, &cluster, &registry).await
}

impl Internet {
    /// Publishes the catalogue unchanged, and stand-ins for the charts that its plugins use. Returns the images that Helm
    /// shows, too.
    async fn publish(&self, charts: &Path) -> anyhow::Result<(Plugins, BTreeSet<String>)> {
        let mut plugins = Plugins::new();
        let mut stand_ins = Vec::new();
        let mut images = BTreeSet::new();
        for archive in archives::list(charts)? {
            let (name, version) = archives::name_and_version(&archive)?;
            let spec = json!({"repo": CATALOGUE, "chart": name, "version": version});
            let (plugin, output) = catalog_plugin(&name, &archive, spec).await?;
            stand_ins.extend(output.children);
            images.extend(output.images);
            let file = archive.file_name().context("an archive has a name")?;
            self.catalogue
                .add(&file.to_string_lossy(), fs_err::read(&archive)?);
            plugins.insert(name, plugin);
        }
        let index = fs_err::read(charts.join("index.yaml"))?;
        self.catalogue.add("index.yaml", index);
        let registry = self.images.address.as_str();
        let stand_ins = self.charts.add_stand_ins(&stand_ins, Some(registry))?;
        images.extend(stand_ins.iter().map(|image| format!("{registry}/{image}")));
        Ok((plugins, images))
    }

    /// A command on the plugins, with the internet replaced.
    fn command(&self, binary: &Path, directory: &Path, verb: &str) -> tokio::process::Command {
        let mut command = command(binary);
        command
            .args(["image", verb, "--output", "json", "--plugins"])
            .arg(directory.join(PLUGINS))
            .args(["--plain-http", &self.images.address])
            .args(["--registry-mirror", &format!("*={}", self.images.address)])
            .args([
                "--chart-mirror",
                &format!("{CATALOGUE}={}", self.catalogue.url),
            ])
            .args(["--chart-mirror", &format!("*={}", self.charts.url)])
            .env("XDG_CACHE_HOME", directory.join("cache"));
        command
    }

    /// The images of the plugins.
    async fn list(&self, binary: &Path, directory: &Path) -> anyhow::Result<BTreeSet<String>> {
        let mut list = self.command(binary, directory, "list");
        let output = list.args(["--confidence", "likely"]).output().await?;
        let images: Vec<Value> = serde_json::from_slice(&output.stdout)
            .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
        let names = images.iter().filter_map(|image| image["image"].as_str());
        Ok(names.map(str::to_owned).collect())
    }

    /// Fills the registry of the site with everything that the plugins need.
    async fn sync(&self, binary: &Path, directory: &Path, to: &str) -> anyhow::Result<Value> {
        let mut sync = self.command(binary, directory, "sync");
        let output = sync.args(["--to", to, "--plain-http", to]).output().await?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        serde_json::from_slice(&output.stdout).with_context(|| format!("no summary: {stderr}"))
    }
}

/// The file with the plugins of the site.
const PLUGINS: &str = "site.yaml";

fn write_plugins(directory: &Path, plugins: &Plugins) -> anyhow::Result<()> {
    let manifests = plugins.iter().map(|(name, plugin)| manifest(name, plugin));
    let text: String = manifests
        .map(|manifest| format!("{manifest}\n---\n"))
        .collect();
    Ok(fs_err::write(directory.join(PLUGINS), text)?)
}

/// Pushes one image under many names.
async fn push_images(
    binary: &Path,
    directory: &Path,
    names: &BTreeSet<String>,
    to: &str,
) -> anyhow::Result<()> {
    let layer = b"not a real layer".to_vec();
    let diff_id = outrigger_oci::Digest::of(&layer).to_string();
    let config = json!({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [diff_id]}});
    // Names of other registries are paths of the mirror; the digests of some are not known here.
    let path = |name: &String| match name.strip_prefix(&format!("{to}/")) {
        Some(_) => name.clone(),
        None => format!("{to}/{name}"),
    };
    let names: Vec<String> = names.iter().map(path).collect();
    let manifest = json!([{"Config": "config.json", "RepoTags": names, "Layers": ["layer.tar"]}]);
    let files = [
        ("config.json", config.to_string().into_bytes()),
        ("layer.tar", layer),
        ("manifest.json", manifest.to_string().into_bytes()),
    ];
    let archive = directory.join("images.tgz");
    let files = files.map(|(name, content)| (name.to_owned(), content));
    fs_err::write(&archive, archives::pack(&files)?)?;
    let output = command(binary)
        .args(["image", "load", "--to", to, "--plain-http", to])
        .arg(&archive)
        .output()
        .await?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "image load failed: {stderr}");
    Ok(())
}

/// Everything was copied, except for plugins that Helm rejects too and for sources that are not supported.
fn check_summary(summary: &Value, plugins: &Plugins) -> anyhow::Result<()> {
    let list = |field: &str| summary[field].as_array().cloned().unwrap_or_default();
    let (charts, images, failed) = (list("charts"), list("images"), list("failedPlugins"));
    for result in charts.iter().chain(&images) {
        ensure!(
            result["result"] == "copied" || result["result"] == "unchanged",
            "{result}"
        );
    }
    let expected = plugins
        .values()
        .filter(|plugin| plugin.expected != Expected::Ready)
        .count();
    println!(
        "{} charts and {} images copied; {} plugins are not, {expected} are expected",
        charts.len(),
        images.len(),
        failed.len()
    );
    ensure!(failed.len() <= expected, "plugins failed: {failed:#?}");
    Ok(())
}

/// All pods run images that the registry of the site has.
async fn verify(
    binary: &Path,
    directory: &Path,
    cluster: &Site,
    registry: &str,
) -> anyhow::Result<()> {
    let deployments: Api<Deployment> = Api::all(cluster.client.clone());
    let mut images = BTreeSet::new();
    for deployment in deployments.list(&ListParams::default()).await? {
        let pod = deployment.spec.and_then(|spec| spec.template.spec);
        let containers = pod.map(|pod| pod.containers).unwrap_or_default();
        images.extend(
            containers
                .into_iter()
                .filter_map(|container| container.image),
        );
    }
    ensure!(!images.is_empty(), "no plugin runs an image");
    let foreign: Vec<&String> = images
        .iter()
        .filter(|image| !image.starts_with(&format!("{registry}/")))
        .collect();
    ensure!(foreign.is_empty(), "not from the site: {foreign:?}");
    let list = directory.join("running.txt");
    let text: String = images.iter().map(|image| format!("{image}\n")).collect();
    fs_err::write(&list, text)?;
    let verified = command(binary)
        .args([
            "image",
            "verify",
            "--in",
            registry,
            "--plain-http",
            registry,
            "--list",
        ])
        .arg(&list)
        .output()
        .await?;
    let missing = String::from_utf8_lossy(&verified.stdout);
    ensure!(verified.status.success(), "images are missing: {missing}");
    println!("{} images run, all from {registry}", images.len());
    Ok(())
}

//! Images and charts with real clients of our registry (skopeo, both Helms, containerd), and with Debian's registry.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::PostParams;
use kube::runtime::wait::await_condition;
use outrigger_api::plugin::{Phase, Plugin};
use outrigger_controller::{Options, crds};
use outrigger_oci::{Algorithm, Digest};
use outrigger_registry::{Access, Server, ServerOptions, Store, StoreOptions};
use outrigger_testing::TestContext;
use outrigger_testing::embedded_api;
use outrigger_testing::peers::{HELM3, HELM4, Peer, SKOPEO};
use outrigger_testing::registries::{Containerd, DockerRegistry};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::deploy::binary;

const TIMEOUT: Duration = Duration::from_mins(1);

/// `ann:hunter2`, as `htpasswd -B` writes it, and as clients send it.
const HTPASSWD: &str = "ann:$2b$04$swkJo2sgo/sOEugpQFOEouvONlPdWSbe9cIynho8MCDP9HRvfSh3S\n";
const USER: &str = "ann:hunter2";
const BASIC: &str = "YW5uOmh1bnRlcjI=";

/// Our registry, with a user who may push.
struct Registry {
    address: String,
    folder: TempDir,
    server: JoinHandle<()>,
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Registry {
    async fn start() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let users = folder.path().join("htpasswd");
        fs_err::write(&users, HTPASSWD)?;
        let mut access = Access::read(&users)?;
        access.anonymous_pull = true;
        access.tokens = true;
        let store = Store::open(&folder.path().join("data"), StoreOptions::default())?;
        let options = ServerOptions {
            access,
            ..ServerOptions::default()
        };
        let server = Server::bind("127.0.0.1:0".parse()?, store, options).await?;
        let address = server.address()?.to_string();
        let auth = json!({"auths": {&address: {"auth": BASIC}}});
        fs_err::write(folder.path().join("config.json"), auth.to_string())?;
        let server = tokio::spawn(server.run(std::future::pending()));
        Ok(Self {
            address,
            folder,
            server,
        })
    }

    /// The credentials of the user, in the format of Docker.
    fn credentials(&self) -> String {
        self.folder.path().join("config.json").display().to_string()
    }
}

async fn run(context: &TestContext, args: &[&str]) -> anyhow::Result<String> {
    output(context.command(args.iter().copied()), args).await
}

/// Runs a command to the end on another thread, since our registry is served by this process.
async fn output(mut command: Command, args: &[&str]) -> anyhow::Result<String> {
    let output = tokio::task::spawn_blocking(move || command.output()).await??;
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    ensure!(output.status.success(), "{args:?} failed: {stdout}{stderr}");
    Ok(stdout)
}

/// The content of an OCI layout.
struct Layout<'a> {
    folder: &'a Path,
}

impl Layout<'_> {
    fn add(&self, kind: &str, content: &[u8]) -> anyhow::Result<Value> {
        let digest = Digest::of(content);
        let folder = self.folder.join("blobs").join(Algorithm::Sha256.name());
        fs_err::create_dir_all(&folder)?;
        fs_err::write(folder.join(digest.hex()), content)?;
        Ok(json!({
            "mediaType": format!("application/vnd.oci.image.{kind}"),
            "digest": digest.to_string(),
            "size": content.len(),
        }))
    }

    fn add_image(&self, text: &str, architecture: &str) -> anyhow::Result<Value> {
        let layer = tar_of("hello.txt", format!("{text} on {architecture}").as_bytes())?;
        let config = json!({"architecture": architecture, "os": "linux",
            "rootfs": {"type": "layers", "diff_ids": [Digest::of(&layer).to_string()]}});
        let manifest = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": self.add("config.v1+json", config.to_string().as_bytes())?,
            "layers": [self.add("layer.v1.tar", &layer)?]});
        let mut manifest = self.add("manifest.v1+json", manifest.to_string().as_bytes())?;
        manifest["platform"] = json!({"os": "linux", "architecture": architecture});
        Ok(manifest)
    }
}

fn tar_of(name: &str, content: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    let mut tar = tar::Builder::new(Vec::new());
    tar.append_data(&mut header, name, content)?;
    Ok(tar.into_inner()?)
}

/// Writes an image for two platforms as an OCI layout, and returns its digest.
fn write_image(folder: &Path, name: &str, text: &str) -> anyhow::Result<String> {
    let layout = Layout { folder };
    let manifests = [
        layout.add_image(text, "amd64")?,
        layout.add_image(text, "arm64")?,
    ];
    let index = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests});
    let mut root = layout.add("index.v1+json", index.to_string().as_bytes())?;
    let digest = root["digest"].as_str().context("no digest")?.to_owned();
    root["annotations"] =
        json!({"org.opencontainers.image.ref.name": name, "io.containerd.image.name": name});
    let index = json!({"schemaVersion": 2, "manifests": [root]});
    fs_err::write(folder.join("index.json"), index.to_string())?;
    fs_err::write(
        folder.join("oci-layout"),
        "{\"imageLayoutVersion\":\"1.0.0\"}",
    )?;
    Ok(digest)
}

const CHART: &[(&str, &str)] = &[
    (
        "Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.0.0+7\n",
    ),
    ("values.yaml", "image: example.com/team/app:1\n"),
    (
        "templates/web.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: {{ .Release.Name }}}\nspec:\n  \
         selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      \
         containers: [{name: web, image: {{ .Values.image | quote }}}]\n",
    ),
];

/// Writes the chart, and returns its archive.
async fn package(context: &TestContext) -> anyhow::Result<String> {
    for (name, content) in CHART {
        context.write(&format!("web/{name}"), content)?;
    }
    run(context, &["package", "web"]).await?;
    Ok("web-1.0.0+7.tgz".to_owned())
}

#[tokio::test]
async fn skopeo_pushes_to_and_pulls_from_our_registry() -> anyhow::Result<()> {
    let registry = Registry::start().await?;
    let skopeo = TestContext::new(SKOPEO.installed()?)?;
    let digest = write_image(&skopeo.directory().join("image"), "app", "skopeo")?;
    let remote = format!("docker://{}/team/app:1", registry.address);
    let copy = ["--insecure-policy", "copy", "--all", "--preserve-digests"];
    let push = ["--dest-tls-verify=false", "oci:image:app", &remote];
    let refused = run(&skopeo, &[&copy[..], &push].concat()).await;
    assert!(refused.is_err(), "a client without credentials pushed");
    let creds = ["--dest-creds", USER];
    run(&skopeo, &[&copy[..], &creds, &push].concat()).await?;
    let inspect = [
        "inspect",
        "--tls-verify=false",
        "--format={{.Digest}}",
        &remote,
    ];
    assert_eq!(run(&skopeo, &inspect).await?.trim(), digest);
    let tags = format!("docker://{}/team/app", registry.address);
    let tags = run(&skopeo, &["list-tags", "--tls-verify=false", &tags]).await?;
    assert_eq!(serde_json::from_str::<Value>(&tags)?["Tags"], json!(["1"]));
    let pull = ["--src-tls-verify=false", &remote, "oci:pulled:app"];
    run(&skopeo, &[&copy[..], &pull].concat()).await?;
    let blobs = |layout: &str| -> anyhow::Result<Vec<String>> {
        let folder = skopeo.directory().join(layout).join("blobs/sha256");
        let names = fs_err::read_dir(folder)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let mut names = names.collect::<anyhow::Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
    };
    assert_eq!(blobs("pulled")?, blobs("image")?);
    Ok(())
}

async fn helm_pushes_and_pulls(helm: Peer) -> anyhow::Result<()> {
    let registry = Registry::start().await?;
    let helm = TestContext::new(helm.installed()?)?;
    let ours = TestContext::new(binary()?)?;
    let archive = package(&helm).await?;
    let bytes = fs_err::read(helm.directory().join(&archive))?;
    let (to, address) = (
        format!("oci://{}/charts", registry.address),
        &registry.address,
    );
    let push = ["push", &archive, &to, "--plain-http"];
    let refused = run(&helm, &push).await;
    assert!(refused.is_err(), "a client without credentials pushed");
    let credentials = registry.credentials();
    let config = ["--registry-config", &credentials];
    run(&helm, &[&push[..], &config].concat()).await?;

    let chart = format!("{to}/web");
    let version = ["--version", "1.0.0+7"];
    let pull = ["pull", &chart, "--plain-http", "--destination", "oci"];
    fs_err::create_dir(helm.directory().join("oci"))?;
    run(&helm, &[&pull[..], &version].concat()).await?;
    let pulled = fs_err::read(helm.directory().join("oci").join(&archive))?;
    assert!(pulled == bytes, "from the registry");

    let repository = format!("http://{address}");
    fs_err::create_dir(helm.directory().join("repository"))?;
    let pull = [
        "pull",
        "web",
        "--repo",
        &repository,
        "--destination",
        "repository",
    ];
    run(&helm, &[&pull[..], &version].concat()).await?;
    let pulled = fs_err::read(helm.directory().join("repository").join(&archive))?;
    assert!(pulled == bytes, "from the chart repository");

    let pull = [
        "chart",
        "pull",
        &chart,
        "--plain-http",
        address,
        "--version",
    ];
    run(&ours, &[&pull[..], &["^1"]].concat()).await?;
    let pulled = fs_err::read(ours.directory().join(&archive))?;
    assert!(pulled == bytes, "by our client");
    remote_charts_render_as_local_ones(&ours, &archive, address).await?;
    dependencies_resolve_as_in_helm(&helm, &ours, address).await
}

/// Renders a chart from a file, a registry and a repository.
async fn remote_charts_render_as_local_ones(
    ours: &TestContext,
    archive: &str,
    address: &str,
) -> anyhow::Result<()> {
    let template = async |chart: &str, flags: &[&str]| {
        run(
            ours,
            &[&["chart", "template", "rel", chart], flags].concat(),
        )
        .await
    };
    let local = template(archive, &[]).await?;
    assert!(!local.is_empty());
    let chart = format!("oci://{address}/charts/web");
    let flags = ["--plain-http", address, "--version", "^1"];
    assert_eq!(template(&chart, &flags).await?, local);
    let repository = format!("http://{address}");
    assert_eq!(template("web", &["--repo", &repository]).await?, local);
    Ok(())
}

/// Resolves a dependency in a chart repository with Helm and with ours, then one in the registry with ours.
async fn dependencies_resolve_as_in_helm(
    helm: &TestContext,
    ours: &TestContext,
    address: &str,
) -> anyhow::Result<()> {
    let chart = |repository: &str| {
        let dependency = format!("- name: web\n  version: ^1\n  repository: {repository}\n");
        format!("apiVersion: v2\nname: parent\nversion: 0.1.0\ndependencies:\n{dependency}")
    };
    let lock = |context: &TestContext| -> anyhow::Result<Vec<String>> {
        let text = fs_err::read_to_string(context.directory().join("parent/Chart.lock"))?;
        let lines = text.lines().filter(|line| !line.starts_with("generated:"));
        Ok(lines.map(ToOwned::to_owned).collect())
    };
    let repository = format!("http://{address}");
    for context in [helm, ours] {
        context.write("parent/Chart.yaml", chart(&repository))?;
    }
    run(helm, &["dependency", "update", "parent"]).await?;
    run(ours, &["chart", "dependency", "update", "parent"]).await?;
    assert_eq!(lock(ours)?, lock(helm)?);
    let archive = "parent/charts/web-1.0.0+7.tgz";
    let read = |context: &TestContext| fs_err::read(context.directory().join(archive));
    assert!(read(ours)? == read(helm)?, "from the chart repository");

    fs_err::remove_dir_all(ours.directory().join("parent/charts"))?;
    ours.write(
        "parent/Chart.yaml",
        chart(&format!("oci://{address}/charts")),
    )?;
    let update = ["chart", "dependency", "update", "parent", "--plain-http"];
    run(ours, &[&update[..], &[address]].concat()).await?;
    assert!(read(ours)? == read(helm)?, "from the registry");
    fs_err::remove_dir_all(ours.directory().join("parent/charts"))?;
    let build = ["chart", "dependency", "build", "parent", "--plain-http"];
    run(ours, &[&build[..], &[address]].concat()).await?;
    assert!(read(ours)? == read(helm)?, "from the lock");
    Ok(())
}

#[tokio::test]
async fn helm_3_pushes_to_and_pulls_from_our_registry() -> anyhow::Result<()> {
    helm_pushes_and_pulls(HELM3).await
}

#[tokio::test]
async fn helm_4_pushes_to_and_pulls_from_our_registry() -> anyhow::Result<()> {
    helm_pushes_and_pulls(HELM4).await
}

/// Our commands with one registry that is reached over plain HTTP.
struct Client<'a> {
    context: TestContext,
    registries: [&'a str; 2],
    credentials: String,
}

impl<'a> Client<'a> {
    fn new(ours: &'a Registry, other: &'a str) -> anyhow::Result<Self> {
        Ok(Self {
            context: TestContext::new(binary()?)?,
            registries: [&ours.address, other],
            credentials: ours.credentials(),
        })
    }

    async fn run(&self, args: &[&str]) -> anyhow::Result<String> {
        let [a, b] = self.registries;
        let flags = ["--plain-http", a, "--plain-http", b];
        let auth = ["--authfile", &self.credentials];
        run(&self.context, &[args, &flags, &auth].concat()).await
    }

    /// Copies or loads images, and returns the summary.
    async fn transfer(&self, args: &[&str]) -> anyhow::Result<Value> {
        let text = self.run(&[args, &["--output", "json"]].concat()).await?;
        Ok(serde_json::from_str(&text)?)
    }
}

#[tokio::test]
async fn we_push_to_and_pull_from_debians_registry() -> anyhow::Result<()> {
    let registry = Registry::start().await?;
    let debian = DockerRegistry::start().await?;
    let client = Client::new(&registry, debian.address())?;
    let folder = client.context.directory().join("image");
    let digest = write_image(&folder, "example.com/team/app:1", "debian")?;
    let loaded = client
        .transfer(&["image", "load", "image", "--to", debian.address()])
        .await?;
    // A layer and a config for each platform.
    assert_eq!(loaded["blobsSent"], 4);

    let there = format!("{}/team/app:1", debian.address());
    let here = format!("{}/team/app:1", registry.address);
    let copied = client.transfer(&["image", "copy", &there, &here]).await?;
    assert_eq!(copied["images"][0]["digest"], digest.as_str());
    assert_eq!(copied["blobsSent"], 4);
    let again = client.transfer(&["image", "copy", &there, &here]).await?;
    assert_eq!(
        (&again["unchanged"], &again["bytesSent"]),
        (&json!(1), &json!(0))
    );

    let renamed = format!("{}/other/app:2", debian.address());
    let back = client.transfer(&["image", "copy", &here, &renamed]).await?;
    assert_eq!(back["images"][0]["digest"], digest.as_str());
    let mounted = format!("{}/third/app:3", debian.address());
    let mounted = client
        .transfer(&["image", "copy", &renamed, &mounted])
        .await?;
    assert_eq!(
        (&mounted["blobsMounted"], &mounted["bytesSent"]),
        (&json!(4), &json!(0))
    );

    client
        .run(&["image", "save", &renamed, "--to", "saved.tar.gz"])
        .await?;
    let reloaded = client
        .transfer(&["image", "load", "saved.tar.gz", "--to", &registry.address])
        .await?;
    assert_eq!(reloaded["images"][0]["digest"], digest.as_str());
    Ok(())
}

#[tokio::test]
async fn containerd_pushes_to_and_pulls_from_our_registry() -> anyhow::Result<()> {
    let registry = Registry::start().await?;
    let containerd = Containerd::start().await?;
    let ctr = async |args: &[&str]| output(containerd.ctr(args), args).await;
    let client = Client::new(&registry, "unused.local")?;
    let folder = client.context.directory().join("ours");
    let pulled = write_image(&folder, "example.com/team/ours:1", "ours")?;
    client
        .transfer(&["image", "load", "ours", "--to", &registry.address])
        .await?;
    let image = format!("{}/team/ours:1", registry.address);
    ctr(&[
        "images",
        "pull",
        "--plain-http",
        "--snapshotter",
        "native",
        &image,
    ])
    .await?;
    let listed = ctr(&["images", "list"]).await?;
    assert!(
        listed.contains(&image) && listed.contains(&pulled),
        "{listed}"
    );

    let folder = client.context.directory().join("theirs");
    let pushed = write_image(&folder, "example.com/team/theirs:1", "theirs")?;
    let layout = tar_of_folder(&folder)?;
    let archive = client.context.directory().join("theirs.tar");
    fs_err::write(&archive, layout)?;
    let archive = archive.display().to_string();
    let image = format!("{}/team/theirs:1", registry.address);
    ctr(&[
        "images",
        "import",
        "--all-platforms",
        "--no-unpack",
        &archive,
    ])
    .await?;
    let local = "example.com/team/theirs:1";
    ctr(&[
        "images",
        "push",
        "--plain-http",
        "--user",
        USER,
        &image,
        local,
    ])
    .await?;
    let inspected = client.run(&["image", "inspect", &image]).await?;
    assert!(inspected.contains(&pushed), "{inspected}");
    client
        .run(&["image", "verify", &image, "--in", &registry.address])
        .await?;
    Ok(())
}

fn tar_of_folder(folder: &Path) -> anyhow::Result<Vec<u8>> {
    let mut tar = tar::Builder::new(Vec::new());
    tar.append_dir_all(".", folder)?;
    Ok(tar.into_inner()?)
}

/// A chart in our registry whose image comes from another one, which is not needed once it is copied.
#[tokio::test]
async fn a_plugin_from_a_registry_runs_images_of_that_registry() -> anyhow::Result<()> {
    let registry = Registry::start().await?;
    let upstream = DockerRegistry::start().await?;
    let client = Client::new(&registry, upstream.address())?;
    let folder = client.context.directory().join("image");
    write_image(&folder, "example.com/team/app:1", "plugin")?;
    client
        .transfer(&["image", "load", "image", "--to", upstream.address()])
        .await?;
    let helm = TestContext::new(HELM4.installed()?)?;
    let archive = package(&helm).await?;
    let archive = helm.directory().join(archive).display().to_string();
    let image = format!("image={}/team/app:1", upstream.address());
    let set = ["--chart", &archive, "--set", &image];
    let sync = ["image", "sync", "--to", &registry.address];
    let copied = client.transfer(&[&sync[..], &set].concat()).await?;
    assert_eq!(copied["blobsSent"], 4);
    let charts = format!("oci://{}/charts", registry.address);
    client.run(&["chart", "push", &archive, &charts]).await?;
    let value = format!("{}/team/app:1", upstream.address());
    drop(upstream);

    let spec = json!({"repo": charts, "chart": "web", "version": "^1", "values": {"image": value}});
    let relocated = run_plugin(&registry.address, spec).await?;
    assert_eq!(relocated, format!("{}/team/app:1", registry.address));
    let containerd = Containerd::start().await?;
    let pull = [
        "images",
        "pull",
        "--plain-http",
        "--snapshotter",
        "native",
        &relocated,
    ];
    output(containerd.ctr(&pull), &pull).await?;
    Ok(())
}

/// Installs a plugin in an embedded cluster with a site-wide registry, and returns the image that its pods run.
async fn run_plugin(registry: &str, spec: Value) -> anyhow::Result<String> {
    let server = embedded_api::start(Duration::from_millis(1)).await;
    let client = embedded_api::client(&server);
    crds::install(&client, true).await?;
    let options = Options {
        image_registry: Some(registry.to_owned()),
        fetcher: outrigger_repository::Options {
            plain_http: [registry.to_owned()].into(),
            ..outrigger_repository::Options::default()
        },
        ..Options::default()
    };
    let stop = std::future::pending();
    let controller = tokio::spawn(outrigger_controller::run(client.clone(), options, stop));
    let plugins: Api<Plugin> = Api::default_namespaced(client.clone());
    let plugin = json!({"apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {"name": "web"}, "spec": spec});
    plugins
        .create(&PostParams::default(), &serde_json::from_value(plugin)?)
        .await?;
    let is_ready = |plugin: Option<&Plugin>| {
        plugin.is_some_and(|plugin| plugin.is_observed() && plugin.phase() == Phase::Ready)
    };
    let ready = await_condition(plugins.clone(), "web", is_ready);
    if tokio::time::timeout(TIMEOUT, ready).await.is_err() {
        anyhow::bail!("the plugin is {:#?}", plugins.get("web").await?.status);
    }
    let deployments: Api<Deployment> = Api::default_namespaced(client);
    let deployment = serde_json::to_value(deployments.get("web").await?)?;
    controller.abort();
    let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
    Ok(image.as_str().context("no image")?.to_owned())
}

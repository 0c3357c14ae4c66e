//! A package with images that take a moment to load, and hooks that take a moment to run.

use std::collections::BTreeMap;

use anyhow::ensure;
use outrigger_oci::Digest;
use outrigger_testing::TestContext;
use serde_json::{Value, json};

pub(super) const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";
pub(super) const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

const IMAGES: usize = 5;

/// The bytes of a layer, which no compression makes small.
const LAYER_BYTES: usize = 4 << 20;

/// Address and port of the stand-in machine.
pub(super) const MACHINE: (&str, u16) = ("127.0.81.1", 2281);

/// Writes the configuration, the package as a folder (`folder`), and built (`built.tar.zst`).
pub(super) fn write(context: &TestContext) -> anyhow::Result<()> {
    write_cluster(context, "crash")?;
    let file = |path: &str, content: &[u8]| context.write(&format!("folder/{path}"), content);
    let images: Vec<String> = (0..IMAGES)
        .map(|number| format!("  - {}\n", name(number)))
        .collect();
    let definition = format!(
        "name: crash\nversion: 1.0.0\ncharts: [web]\nimages:\n{}files: [etc/site.conf, opt/PreInstall]\n\
         hooks: [pre-install, post-cluster-ready, post-install]\nplugins: [web.yaml]\n",
        images.concat()
    );
    file("expansion.yaml", definition.as_bytes())?;
    file(
        "charts/web/Chart.yaml",
        b"apiVersion: v2\nname: web\nversion: 1.0.0\n",
    )?;
    let map = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n";
    file("charts/web/templates/map.yaml", map)?;
    let plugin =
        b"apiVersion: outrigger.dev/v1beta1\nkind: Plugin\nmetadata: {name: web}\nspec: {}\n";
    file("plugins/web.yaml", plugin)?;
    file("files/etc/site.conf", b"name = {{ .Package.Name }}\n")?;
    file("files/opt/PreInstall", b"#!/bin/sh\necho ran >>/opt/ran\n")?;
    for hook in ["pre-install", "post-cluster-ready", "post-install"] {
        let script = "#!/bin/sh\nsleep 0.1\necho \"$OUTRIGGER_HOOK\" >>\"$OUTRIGGER_DATA/hooks.log\"\nsleep 0.1\n";
        file(&format!("hooks/{hook}"), script.as_bytes())?;
    }
    for (path, content) in layout() {
        file(&format!("images/{path}"), &content)?;
    }
    let flag = output_flag(context)?;
    let built = context.run(["expansion", "build", "folder", flag, "built.tar.zst"])?;
    ensure!(built.starts_with("exit code: 0"), "{built}");
    Ok(())
}

/// Writes the manifest of a cluster on one stand-in machine to `cluster.yaml`.
pub(super) fn write_cluster(context: &TestContext, name: &str) -> anyhow::Result<()> {
    let (address, port) = MACHINE;
    let cluster = json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster",
        "metadata": {"name": name, "annotations": {"outrigger.dev/stand-in-machines": "true"}},
        "spec": {
            "version": "1.36.4", "clusterCIDR": "10.244.0.0/16",
            "machines": [{"ip": address, "port": port, "password": "b3V0cmlnZ2Vy"}],
        },
    });
    context.write("cluster.yaml", cluster.to_string())
}

/// The flag that names the output of `expansion build`.
pub(super) fn output_flag(context: &TestContext) -> anyhow::Result<&'static str> {
    let help = context.run(["expansion", "build", "--help"])?;
    Ok(if help.contains("--to ") { "--to" } else { "-o" })
}

fn name(number: usize) -> String {
    format!("registry.test/crash/image-{number}:1")
}

/// An OCI layout. Each image has a layer of its own.
fn layout() -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut blob = |content: Vec<u8>, kind: &str| -> Value {
        let digest = Digest::of(&content);
        let size = content.len();
        files.insert(format!("blobs/sha256/{}", digest.hex()), content);
        json!({"mediaType": kind, "digest": digest.to_string(), "size": size})
    };
    let manifests: Vec<Value> = (0..IMAGES)
        .map(|number| {
            let config = json!({"architecture": "amd64", "os": "linux", "number": number});
            let config = blob(config.to_string().into_bytes(), CONFIG);
            let mut content = vec![0; LAYER_BYTES];
            fastrand::fill(&mut content);
            let layer = blob(content, LAYER);
            let manifest = json!({
                "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer],
            });
            let mut entry = blob(manifest.to_string().into_bytes(), MANIFEST);
            entry["annotations"] = json!({"io.containerd.image.name": name(number)});
            entry
        })
        .collect();
    let index = index_of(&manifests).to_string();
    files.insert("index.json".to_owned(), index.into_bytes());
    let marker = br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec();
    files.insert("oci-layout".to_owned(), marker);
    files
}

/// The index of an OCI layout.
pub(super) fn index_of(manifests: &[Value]) -> Value {
    json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": manifests,
    })
}

//! A package with everything, and the site that it is for.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;

use anyhow::ensure;
use outrigger_oci::Digest;
use outrigger_testing::TestContext;
use serde_json::{Value, json};

use crate::deploy::binary;

/// The images of the package. Three are run by charts.
pub(super) const IMAGES: [&str; 5] = [
    "registry.test/site/web:1",
    "registry.test/site/api:1",
    "registry.test/site/db:1",
    "registry.test/tools/probe:2",
    "docker.io/library/pause:3.10",
];

pub(super) const SKIPPED: &str = "EnsurePreflight";
pub(super) const DELEGATED: &str = "EnsureCilium";

/// A file that is no template.
pub(super) const BLOB: &[u8] = b"\x00{{ not rendered }}\xff";

const DEFINITION: &str = "\
name: demo
version: 1.0.0
charts: [api, db, web]
images:
  - registry.test/site/web:1
  - registry.test/site/api:1
  - registry.test/site/db:1
  - registry.test/tools/probe:2
  - docker.io/library/pause:3.10
files:
  - {src: etc/site.conf, mode: \"0640\"}
  - opt/site/blob.bin
  - opt/site/PreClusterInstall
  - opt/site/PostClusterInstall
  - opt/site/PreInstall
  - opt/site/PostInstall
hooks: [pre-install, post-cluster-ready, post-install]
provider: [1.36.4/amd64/bin/kubelet]
plugins: [site.yaml]
operator: operator/network
create_cluster_skip_conditions: [EnsurePreflight]
create_cluster_delegate_conditions: [EnsureCilium]
create_cluster_extra_args:
  kubeletExtraArgs: {max-pods: \"200\"}
";

const CLUSTER: &str = "\
apiVersion: outrigger.dev/v1beta1
kind: Cluster
metadata:
  name: site
  annotations: {outrigger.dev/stand-in-machines: \"true\"}
spec:
  version: 1.36.4
  clusterCIDR: 10.244.0.0/16
  machines:
    - {ip: 127.0.78.1, port: 2278, password: b3V0cmlnZ2Vy}
";

/// Writes the package to `expansion`, and the configuration, values and provider folder of the site.
pub(super) fn write(context: &TestContext) -> anyhow::Result<()> {
    write_site(context)?;
    let file = |path: &str, content: &[u8]| context.write(&format!("expansion/{path}"), content);
    file("expansion.yaml", DEFINITION.as_bytes())?;
    file("values.yaml", b"zone: south\n")?;
    for chart in ["web", "api", "db"] {
        let metadata = format!("apiVersion: v2\nname: {chart}\nversion: 1.0.0\n");
        file(&format!("charts/{chart}/Chart.yaml"), metadata.as_bytes())?;
        file(
            &format!("charts/{chart}/templates/deployment.yaml"),
            deployment(chart).as_bytes(),
        )?;
    }
    let plugins = ["api", "db", "web"].map(|name| {
        format!("apiVersion: outrigger.dev/v1beta1\nkind: Plugin\nmetadata: {{name: {name}}}\nspec: {{}}\n")
    });
    file("plugins/site.yaml", plugins.join("---\n").as_bytes())?;
    let config = "zone = {{ .Values.zone }}\nname = {{ .Package.Name }}\n";
    file("files/etc/site.conf", config.as_bytes())?;
    file("files/opt/site/blob.bin", BLOB)?;
    for hook in [
        "PreClusterInstall",
        "PostClusterInstall",
        "PreInstall",
        "PostInstall",
    ] {
        let script = "#!/bin/sh\necho \"$OUTRIGGER_HOOK\" >>/opt/site/ran\n";
        file(&format!("files/opt/site/{hook}"), script.as_bytes())?;
    }
    for hook in ["pre-install", "post-cluster-ready", "post-install"] {
        let script = "#!/bin/sh\necho \"$OUTRIGGER_HOOK $OUTRIGGER_PACKAGE\" >>\"$OUTRIGGER_DATA/hooks.log\"\n";
        file(&format!("hooks/{hook}"), script.as_bytes())?;
    }
    file("provider/1.36.4/amd64/bin/kubelet", b"patched kubelet")?;
    // The example of the SDK.
    let operator = binary()?.with_file_name("examples/network_operator");
    let missing = "run `cargo build -p outrigger-sdk --example network_operator` first";
    ensure!(operator.is_file(), "{missing}");
    file("operator/network", &fs_err::read(operator)?)?;
    let program = context.directory().join("expansion/operator/network");
    fs_err::set_permissions(program, std::fs::Permissions::from_mode(0o755))?;
    for (path, content) in layout() {
        file(&format!("images/{path}"), &content)?;
    }
    Ok(())
}

fn write_site(context: &TestContext) -> anyhow::Result<()> {
    context.write("cluster.yaml", CLUSTER)?;
    context.write("site-values.yaml", "zone: north\n")?;
    for name in ["kubelet", "kubeadm", "kubectl"] {
        let path = format!("provider/1.36.4/amd64/bin/{name}");
        context.write(&path, format!("original {name}"))?;
    }
    let built = context.run(["provider", "build", "provider"])?;
    ensure!(built.starts_with("exit code: 0"), "{built}");
    Ok(())
}

fn deployment(name: &str) -> String {
    let labels = json!({"app": name});
    let container = json!({"name": name, "image": format!("registry.test/site/{name}:1")});
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [container]},
        }},
    });
    format!("{object}\n")
}

const LAYER: &str = "application/vnd.oci.image.layer.v1.tar";

/// An OCI layout with the images, which share a layer.
fn layout() -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut blob = |content: &[u8], kind: &str| -> Value {
        let digest = Digest::of(content);
        files.insert(format!("blobs/sha256/{}", digest.hex()), content.to_vec());
        json!({"mediaType": kind, "digest": digest.to_string(), "size": content.len()})
    };
    let shared = blob(&vec![7; 300_000], LAYER);
    let manifests = IMAGES.map(|name| {
        let config = json!({"architecture": "amd64", "os": "linux", "name": name});
        let config = blob(
            config.to_string().as_bytes(),
            "application/vnd.oci.image.config.v1+json",
        );
        let own = blob(format!("layer of {name}").as_bytes(), LAYER);
        let kind = "application/vnd.oci.image.manifest.v1+json";
        let manifest = json!({
            "schemaVersion": 2, "mediaType": kind, "config": config, "layers": [shared, own],
        });
        let mut entry = blob(manifest.to_string().as_bytes(), kind);
        entry["annotations"] = json!({"io.containerd.image.name": name});
        entry
    });
    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": manifests,
    });
    files.insert("index.json".to_owned(), index.to_string().into_bytes());
    files.insert(
        "oci-layout".to_owned(),
        br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec(),
    );
    files
}

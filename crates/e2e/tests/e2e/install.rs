//! The installer: a package with everything on stand-in machines, every effect compared with the expected set; and the same
//! without the package.

mod package;
mod process;

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::ensure;
use kube::Api;
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::condition::{Condition, ConditionStatus};
use outrigger_api::installation::{Installation, InstallationPhase, Inventory};
use outrigger_api::machine::Machine;
use outrigger_api::plugin::{Phase, Plugin};
use outrigger_api::repository::Repository;
use outrigger_oci::{Digest, Reference};
use outrigger_registry::{Store, StoreOptions};
use outrigger_testing::TestContext;

use self::package::{DELEGATED, IMAGES, SKIPPED};
use self::process::{Install, SiteRegistry};
use crate::deploy::binary;

const NAME: &str = "site";

fn read(root: &Path, path: &str) -> String {
    fs_err::read_to_string(root.join(path)).unwrap()
}

fn mode(root: &Path, path: &str) -> u32 {
    let metadata = fs_err::metadata(root.join(path)).unwrap();
    metadata.permissions().mode() & 0o777
}

/// The types of conditions with this reason.
fn with_reason<'c>(conditions: &'c [Condition], reason: &str) -> BTreeSet<&'c str> {
    let with = conditions.iter().filter(|it| it.reason == reason);
    with.map(|condition| condition.kind.as_str()).collect()
}

#[tokio::test]
async fn a_package_brings_everything_and_without_it_there_is_no_trace() -> anyhow::Result<()> {
    let context = TestContext::new(binary()?)?;
    package::write(&context)?;
    let with = with_package(&context).await?;
    // The folder that is used by default.
    fs_err::rename(
        context.directory().join("expansion"),
        context.directory().join("elsewhere"),
    )?;
    let without = without_package(&context).await?;
    let own = BTreeSet::from([DELEGATED, SKIPPED, "EnsureCopyFiles"]);
    let of_hooks = |kind: &&String| kind.ends_with("Hook");
    let common = |conditions: &BTreeSet<String>| -> BTreeSet<String> {
        let others = conditions
            .iter()
            .filter(|kind| !own.contains(kind.as_str()));
        others.filter(|kind| !of_hooks(kind)).cloned().collect()
    };
    assert_eq!(common(&with), common(&without));
    Ok(())
}

/// The command that installs the package, and pushes its images to a registry.
fn command(registry: &str) -> Vec<String> {
    let args = "install --config cluster.yaml --provider provider --values site-values.yaml --data data \
                --push-plain-http --push-to";
    let args = args.split_whitespace().map(str::to_owned);
    args.chain([format!("{registry}/mirror")]).collect()
}

/// Installs with the package. Returns the conditions of the cluster and its machine.
async fn with_package(context: &TestContext) -> anyhow::Result<BTreeSet<String>> {
    let root = context.directory();
    let site = root.join("site-registry");
    let registry = SiteRegistry::start(&site).await?;
    let command = command(&registry.address);
    let mut args: Vec<&str> = command.iter().map(String::as_str).collect();
    args.push("--serve");
    let install = Install::start(context, &args, "data").await?;
    let installation = install.until_installed(NAME).await?;
    let kubeconfig = root.join("data/share/operator.kubeconfig");
    process::check_operator_rights(&kubeconfig, NAME, DELEGATED).await?;
    check_installation(&installation);
    let conditions = check_cluster(&install).await?;
    check_plugins(&install).await?;
    install.stop().await?;
    registry.stop().await?;
    check_machine(&root.join("data/machines/machine-127-0-78-1"));
    check_site(root);
    check_registry(&root.join("data/registry"), "", &installation)?;
    check_charts(&root.join("data/registry"))?;
    check_registry(&site, "mirror/", &installation)?;
    again(context, &args[..args.len() - 1])?;
    Ok(conditions)
}

fn check_installation(installation: &Installation) {
    let status = installation.status.as_ref().unwrap();
    assert_eq!(status.phase, InstallationPhase::Installed);
    let done = [
        "CreateGlobalCluster",
        "ExecutePostClusterReadyHook",
        "ExecutePostInstallHook",
        "ExecutePreInstallHook",
        "InstallPlugins",
        "LoadExpansionOperatorImage",
        "LoadImages",
        "PatchHookFiles",
        "PushImages",
        "SetupLocalRegistry",
        "StartExpansionOperator",
        "TagImages",
        "UploadCharts",
        "WriteKubeconfig",
    ];
    assert_eq!(
        with_reason(&status.conditions, "Done"),
        BTreeSet::from(done)
    );
    assert_eq!(status.conditions.len(), done.len());
    let hooks: BTreeSet<(&str, Option<i32>)> = status
        .hooks
        .iter()
        .map(|hook| (hook.name.as_str(), hook.exit_code))
        .collect();
    let expected = ["pre-install", "post-cluster-ready", "post-install"];
    assert_eq!(hooks, expected.map(|name| (name, Some(0))).into());
    let inventory = &status.inventory;
    assert_eq!(inventory.images.len(), IMAGES.len());
    assert_eq!(inventory.charts, ["api-1.0.0", "db-1.0.0", "web-1.0.0"]);
    assert_eq!(
        inventory.plugins,
        ["default/api", "default/db", "default/web"]
    );
}

/// Returns the types of all conditions of the cluster and of its machine.
async fn check_cluster(install: &Install) -> anyhow::Result<BTreeSet<String>> {
    let cluster = Api::<Cluster>::all(install.client.clone())
        .get(NAME)
        .await?;
    let machines = Api::<Machine>::all(install.client.clone());
    let machines = machines.list(&kube::api::ListParams::default()).await?;
    let status = cluster.status.unwrap();
    assert_eq!(status.phase, ClusterPhase::Running);
    let conditions = status.conditions.iter().chain(
        machines
            .items
            .iter()
            .flat_map(|machine| &machine.status.as_ref().unwrap().conditions),
    );
    let conditions: Vec<Condition> = conditions.cloned().collect();
    if !cluster.spec.features.skip_conditions.is_empty() {
        assert_eq!(
            with_reason(&conditions, "Skipped"),
            BTreeSet::from([SKIPPED])
        );
        let delegated = conditions.iter().find(|it| it.kind == DELEGATED).unwrap();
        assert_eq!(delegated.status, ConditionStatus::True);
        let arguments = &cluster.spec.kubelet_extra_args;
        assert_eq!(arguments.get("max-pods").map(String::as_str), Some("200"));
    }
    let kinds = conditions.into_iter().map(|condition| condition.kind);
    Ok(kinds.collect())
}

async fn check_plugins(install: &Install) -> anyhow::Result<()> {
    let plugins = Api::<Plugin>::namespaced(install.client.clone(), "default");
    for name in ["web", "api", "db"] {
        let plugin = plugins.get(name).await?;
        assert_eq!(plugin.phase(), Phase::Ready, "{name}");
        assert_eq!(plugin.status.unwrap().version.as_deref(), Some("1.0.0"));
    }
    let repositories = Api::<Repository>::all(install.client.clone());
    let repository = repositories.get("expansion").await?;
    assert!(repository.spec.url.starts_with("http://127.0.0.1:"));
    Ok(())
}

fn check_machine(machine: &Path) {
    // The value of the site, in the template of the package.
    assert_eq!(
        read(machine, "etc/site.conf"),
        "zone = north\nname = demo\n"
    );
    assert_eq!(mode(machine, "etc/site.conf"), 0o640);
    assert_eq!(
        fs_err::read(machine.join("opt/site/blob.bin")).unwrap(),
        package::BLOB
    );
    let ran = read(machine, "opt/site/ran");
    let expected = [
        "PreClusterInstall",
        "PreInstall",
        "PostInstall",
        "PostClusterInstall",
    ];
    assert_eq!(ran.lines().collect::<Vec<_>>(), expected);
}

fn check_site(root: &Path) {
    let log = read(root, "data/hooks.log");
    let expected =
        "pre-install demo 1.0.0\npost-cluster-ready demo 1.0.0\npost-install demo 1.0.0\n";
    assert_eq!(log, expected);
    assert_eq!(mode(root, "data/share/admin.kubeconfig"), 0o600);
    assert_eq!(mode(root, "data/share/operator.kubeconfig"), 0o600);
    assert_eq!(mode(root, "data/hooks/pre-install"), 0o700);
    // The original stays; the copy has the file of the package, and its digest.
    let kubelet = "1.36.4/amd64/bin/kubelet";
    assert_eq!(
        read(root, &format!("provider/{kubelet}")),
        "original kubelet"
    );
    assert_eq!(
        read(root, &format!("data/provider/{kubelet}")),
        "patched kubelet"
    );
    assert_eq!(
        read(root, "data/provider/1.36.4/amd64/bin/kubeadm"),
        "original kubeadm"
    );
    let index = read(root, "data/provider/provider.yaml");
    assert!(
        index.contains(Digest::of(b"patched kubelet").hex()),
        "{index}"
    );
}

fn check_registry(folder: &Path, prefix: &str, installation: &Installation) -> anyhow::Result<()> {
    let store = Store::open(folder, StoreOptions::default())?;
    let inventory = &installation.status.as_ref().unwrap().inventory;
    for image in &inventory.images {
        let image: Reference = image.parse()?;
        let path = format!("{prefix}{}", image.repository().path());
        let digest = image.digest().unwrap();
        assert_eq!(
            store.tagged(&path, image.tag().unwrap()).as_ref(),
            Some(digest)
        );
        ensure!(store.has_manifest(&path, digest), "{image}");
    }
    Ok(())
}

fn check_charts(folder: &Path) -> anyhow::Result<()> {
    let store = Store::open(folder, StoreOptions::default())?;
    for chart in ["web", "api", "db"] {
        ensure!(
            store.tagged(&format!("charts/{chart}"), "1.0.0").is_some(),
            "{chart}"
        );
    }
    Ok(())
}

/// The same command again has nothing to do.
fn again(context: &TestContext, args: &[&str]) -> anyhow::Result<()> {
    let root = context.directory();
    let plan = context.run(args.iter().copied().chain(["--plan", "-o", "json"]))?;
    ensure!(plan.starts_with("exit code: 0"), "{plan}");
    ensure!(
        !plan.contains("\"run\"") && plan.contains("\"done\""),
        "{plan}"
    );
    let text = context.run(args.iter().copied())?;
    ensure!(text.starts_with("exit code: 0"), "{text}");
    check_site(root);
    check_machine(&root.join("data/machines/machine-127-0-78-1"));
    Ok(())
}

async fn without_package(context: &TestContext) -> anyhow::Result<BTreeSet<String>> {
    let args = [
        "install",
        "--config",
        "cluster.yaml",
        "--provider",
        "provider",
        "--data",
        "bare",
        "--serve",
    ];
    let install = Install::start(context, &args, "bare").await?;
    let installation = install.until_installed(NAME).await?;
    let conditions = check_cluster(&install).await?;
    let plugins = Api::<Plugin>::all(install.client.clone());
    let plugins = plugins.list(&kube::api::ListParams::default()).await?;
    assert!(plugins.items.is_empty());
    install.stop().await?;
    let spec = serde_json::to_value(&installation.spec)?;
    assert!(
        spec.get("package").is_none() && spec.get("hooks").is_none(),
        "{spec}"
    );
    let status = installation.status.unwrap();
    let steps = with_reason(&status.conditions, "Done");
    assert_eq!(
        steps,
        BTreeSet::from(["CreateGlobalCluster", "WriteKubeconfig"])
    );
    assert_eq!(status.conditions.len(), 2);
    assert_eq!(status.inventory, Inventory::default());
    let root = context.directory().join("bare");
    for folder in [
        "hooks", "files", "operator", "provider", "registry", "attempts",
    ] {
        assert!(!root.join(folder).exists(), "{folder}");
    }
    let log = read(context.directory(), "bare.log");
    for word in ["package", "expansion", "demo"] {
        assert!(!log.contains(word), "{log}");
    }
    Ok(conditions)
}

//! The chart in `deploy/`, installed by Helm 4 on a real API server. There is no kubelet, so the test runs the binary with the
//! arguments, the environment and the service account of the Deployment.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Config};
use outrigger_api::plugin::{Phase, Plugin};
use outrigger_testing::TestContext;
use outrigger_testing::kubernetes::{self, RealKubernetes};
use outrigger_testing::peers::HELM4;
use serde_json::json;

const TIMEOUT: Duration = Duration::from_mins(1);

const SYSTEM: &str = "outrigger-system";

/// The binary that `cargo xtask e2e` builds before the tests.
pub(crate) fn binary() -> anyhow::Result<PathBuf> {
    let test = std::env::current_exe()?;
    let folder = test.parent().and_then(Path::parent).context("no folder")?;
    let binary = folder.join("outrigger");
    ensure!(binary.is_file(), "run `cargo build --bin outrigger` first");
    Ok(binary)
}

/// A cluster in which Helm has installed the chart.
struct Cluster {
    kubernetes: RealKubernetes,
    context: TestContext,
}

impl Cluster {
    async fn start() -> anyhow::Result<Self> {
        let kubernetes = RealKubernetes::start(kubernetes::Options::default()).await?;
        let context = TestContext::new(binary()?)?;
        let cluster = Self {
            kubernetes,
            context,
        };
        cluster.helm(&["install", "--create-namespace"])?;
        Ok(cluster)
    }

    /// Installs or upgrades the chart.
    fn helm(&self, verb: &[&str]) -> anyhow::Result<()> {
        let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/chart");
        let helm = TestContext::new(HELM4.installed()?)?;
        let mut command = helm.command(verb.iter().copied());
        command.arg("outrigger").arg(chart.canonicalize()?);
        command.args(["--namespace", SYSTEM, "--kubeconfig"]);
        let output = command.arg(self.kubernetes.kubeconfig()).output()?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "helm {verb:?}: {stderr}");
        Ok(())
    }

    /// Runs the container of the Deployment.
    async fn run_container(&self, log: &str) -> anyhow::Result<Controller> {
        let deployments: Api<Deployment> = Api::namespaced(self.kubernetes.client(), SYSTEM);
        let deployment = deployments.get("outrigger").await?;
        let pod = deployment.spec.and_then(|spec| spec.template.spec);
        let pod = pod.context("the Deployment has no pod")?;
        let account = pod.service_account_name.unwrap_or_default();
        let kubeconfig = self.write_kubeconfig(&account).await?;
        let container = pod.containers.into_iter().next().context("no container")?;
        // All run on one node here, so that ports are chosen by the system.
        let args: Vec<String> = container
            .args
            .unwrap_or_default()
            .iter()
            .map(|arg| arg.replace("$(POD_NAMESPACE)", SYSTEM))
            .map(|arg| arg.replace(":8081", ":0").replace(":8443", ":0"))
            .collect();
        let mut command = self.context.command(args.iter().map(String::as_str));
        for variable in container.env.unwrap_or_default() {
            let value = variable.value.unwrap_or_else(|| SYSTEM.to_owned());
            command.env(variable.name, value.replace("/cache", "cache"));
        }
        let log = self.context.directory().join(log);
        command.stderr(fs_err::File::create(&log)?.into_parts().0);
        let child = command
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .stdin(Stdio::null())
            .spawn()?;
        let controller = Controller { child, log };
        controller.line("serving plugins").await?;
        Ok(controller)
    }

    /// A kubeconfig with a token of a service account.
    async fn write_kubeconfig(&self, account: &str) -> anyhow::Result<PathBuf> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.kubernetes.client(), SYSTEM);
        let request = serde_json::from_value(json!({"spec": {"audiences": []}}))?;
        let token = accounts
            .create_token_request(account, &PostParams::default(), &request)
            .await?;
        let token = token.status.and_then(|status| status.token);
        let text = fs_err::read_to_string(self.kubernetes.kubeconfig())?;
        let mut kubeconfig = Kubeconfig::from_yaml(&text)?;
        for user in &mut kubeconfig.auth_infos {
            let user = user.auth_info.as_mut().context("a user without data")?;
            user.token = token.clone().map(Into::into);
        }
        let path = self.context.directory().join("kubeconfig");
        fs_err::write(&path, serde_json::to_vec(&kubeconfig)?)?;
        Ok(path)
    }

    /// Creates a namespace whose plugins may install what its admin may.
    async fn create_team(&self, name: &str) -> anyhow::Result<()> {
        let client = self.kubernetes.client();
        let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
        let parameters = PostParams::default();
        Api::all(client.clone())
            .create(&parameters, &namespace)
            .await?;
        let account = json!({"metadata": {"name": "outrigger-plugin"}});
        let account: ServiceAccount = serde_json::from_value(account)?;
        Api::namespaced(client.clone(), name)
            .create(&parameters, &account)
            .await?;
        let binding: RoleBinding = serde_json::from_value(json!({
            "metadata": {"name": "outrigger-plugin"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
            "subjects": [{"kind": "ServiceAccount", "name": "outrigger-plugin", "namespace": name}],
        }))?;
        Api::namespaced(client, name)
            .create(&parameters, &binding)
            .await?;
        self.until_authorized(name).await
    }

    /// Waits until the API server has noticed the binding.
    async fn until_authorized(&self, namespace: &str) -> anyhow::Result<()> {
        let user = format!("system:serviceaccount:{namespace}:outrigger-plugin");
        let review: SubjectAccessReview = serde_json::from_value(json!({"spec": {
            "user": user,
            "resourceAttributes": {"namespace": namespace, "verb": "create", "resource": "configmaps"},
        }}))?;
        let reviews: Api<SubjectAccessReview> = Api::all(self.kubernetes.client());
        let start = Instant::now();
        while start.elapsed() < TIMEOUT {
            let review = reviews.create(&PostParams::default(), &review).await?;
            if review.status.is_some_and(|status| status.allowed) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        bail!("{user} is not authorized")
    }

    fn plugins(&self, namespace: &str) -> Api<Plugin> {
        Api::namespaced(self.kubernetes.client(), namespace)
    }

    async fn create_plugin(&self, namespace: &str, name: &str) -> anyhow::Result<()> {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}});
        let plugin: Plugin = serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {"name": name},
            "spec": {"kind": "manifests", "resources": [map]},
        }))?;
        let plugins = self.plugins(namespace);
        plugins.create(&PostParams::default(), &plugin).await?;
        Ok(())
    }

    async fn until_phase(
        &self,
        namespace: &str,
        name: &str,
        phase: Phase,
    ) -> anyhow::Result<Plugin> {
        let has_phase = |plugin: Option<&Plugin>| {
            plugin.is_some_and(|plugin| plugin.is_observed() && plugin.phase() == phase)
        };
        let plugins = self.plugins(namespace);
        let waited = await_condition(plugins.clone(), name, has_phase);
        match tokio::time::timeout(TIMEOUT, waited).await {
            Ok(plugin) => plugin?.context("the plugin was deleted"),
            Err(_) => bail!("{name} is {:#?}", plugins.get(name).await?.status),
        }
    }

    /// The metrics of a controller, as an administrator reads them.
    async fn metrics(&self, controller: &Controller) -> anyhow::Result<String> {
        let line = controller.line("serving metrics").await?;
        let line: serde_json::Value = serde_json::from_str(&line)?;
        let address = line["address"].as_str().unwrap_or_default();
        let port = address.rsplit(':').next().unwrap_or_default();
        let admin = Kubeconfig::read_from(self.kubernetes.kubeconfig())?;
        let admin = Config::from_custom_kubeconfig(admin, &KubeConfigOptions::default()).await?;
        let mut config = Config::new(format!("https://127.0.0.1:{port}").parse()?);
        config.accept_invalid_certs = true;
        config.auth_info = admin.auth_info;
        let get = http::Request::get("/metrics").body(Vec::new())?;
        Ok(Client::try_from(config)?.request_text(get).await?)
    }
}

/// A running container; killed on drop.
struct Controller {
    child: Child,
    log: PathBuf,
}

impl Drop for Controller {
    fn drop(&mut self) {
        // It may have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Controller {
    /// Waits for a log line that contains a text.
    async fn line(&self, text: &str) -> anyhow::Result<String> {
        let start = Instant::now();
        loop {
            let log = fs_err::read_to_string(&self.log)?;
            if let Some(line) = log.lines().find(|line| line.contains(text)) {
                return Ok(line.to_owned());
            }
            ensure!(start.elapsed() < TIMEOUT, "no {text:?} in {log}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_chart_runs_with_its_own_roles_and_is_upgraded_in_place() -> anyhow::Result<()> {
    let cluster = Cluster::start().await?;
    let mut first = cluster.run_container("first.log").await?;
    cluster.create_team("team-a").await?;
    for number in 0..5 {
        cluster
            .create_plugin("team-a", &format!("before-{number}"))
            .await?;
    }
    for number in 0..5 {
        let name = format!("before-{number}");
        cluster.until_phase("team-a", &name, Phase::Ready).await?;
    }
    let disabled = json!({"spec": {"enabled": false}});
    let patch = kube::api::Patch::Merge(&disabled);
    cluster
        .plugins("team-a")
        .patch("before-4", &PatchParams::default(), &patch)
        .await?;
    cluster
        .until_phase("team-a", "before-4", Phase::Disabled)
        .await?;

    // The roles permit all that the controller and the account of the plugins request.
    let metrics = cluster.metrics(&first).await?;
    assert!(
        metrics.contains("outrigger_plugins{phase=\"Ready\"} 4"),
        "{metrics}"
    );
    assert!(!metrics.contains("code=\"403\""), "{metrics}");

    // Without an account nothing is installed.
    cluster.create_plugin("default", "nobody").await?;
    let plugin = cluster
        .until_phase("default", "nobody", Phase::Failed)
        .await?;
    let message = &plugin.condition("Ready").context("no condition")?.message;
    assert!(
        message.contains("system:serviceaccount:default:outrigger-plugin"),
        "{message}"
    );

    // The new pod starts, then the old one ends, while plugins are created.
    cluster.helm(&["upgrade", "--set", "replicas=3"])?;
    let second = cluster.run_container("second.log").await?;
    for number in 0..5 {
        cluster
            .create_plugin("team-a", &format!("during-{number}"))
            .await?;
    }
    let start = Instant::now();
    terminate(&mut first)?;
    let stopped = start.elapsed();
    second.line("acquired leadership").await?;
    println!(
        "stopped after {stopped:?}, taken over after {:?}",
        start.elapsed()
    );
    for number in 0..5 {
        cluster
            .create_plugin("team-a", &format!("after-{number}"))
            .await?;
    }
    for number in 0..5 {
        for prefix in ["during", "after"] {
            let name = format!("{prefix}-{number}");
            cluster.until_phase("team-a", &name, Phase::Ready).await?;
        }
    }
    assert!(stopped < Duration::from_secs(1), "{stopped:?}");
    Ok(())
}

/// Sends SIGTERM and waits for the exit.
fn terminate(controller: &mut Controller) -> anyhow::Result<()> {
    let pid = rustix::process::Pid::from_child(&controller.child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
    let status = controller.child.wait()?;
    ensure!(status.success(), "{status}");
    Ok(())
}

//! The fixture: an API server with simulated workloads, and a controller process.

use std::fmt::Debug;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use k8s_openapi::NamespaceResourceScope;
use kube::api::PostParams;
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Resource};
use outrigger_api::plugin::{Phase, Plugin};
use outrigger_apiserver::server::Server;
use outrigger_apiserver::transport::{Listener, write_kubeconfig};
use outrigger_testing::{TestContext, embedded_api};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

/// An API server, and a folder for its clients.
pub(super) struct Cluster {
    pub(super) client: Client,
    pub(super) context: TestContext,
    server: Server,
}

impl Cluster {
    pub(super) async fn start() -> Self {
        let server = embedded_api::start(Duration::from_millis(1)).await;
        let address = "127.0.0.1:0".parse().unwrap();
        let listener = Listener::bind(address, false).await.unwrap();
        let address = listener.address();
        server.serve(listener);
        let context = TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap();
        let kubeconfig = context.directory().join("kubeconfig");
        write_kubeconfig(&kubeconfig, address, server.credentials()).unwrap();
        Self {
            client: embedded_api::client(&server),
            context,
            server,
        }
    }

    /// Starts a controller and waits until it serves.
    pub(super) fn serve(&self, args: &[&str]) -> Controller {
        let controller = self.spawn(args);
        controller.line(|line| line.contains("serving plugins"));
        controller
    }

    pub(super) fn spawn(&self, args: &[&str]) -> Controller {
        let all = ["serve", "--install-crds", "--kubeconfig", "kubeconfig"];
        let mut command = self.context.command(all.into_iter().chain(args.to_vec()));
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let received = Arc::clone(&lines);
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                received.lock().unwrap().push(line);
            }
        });
        Controller { child, lines }
    }

    pub(super) async fn create(&self, name: &str, spec: Value) {
        let plugin = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {"name": name}, "spec": spec,
        });
        let plugin = serde_json::from_value(plugin).unwrap();
        self.plugins()
            .create(&PostParams::default(), &plugin)
            .await
            .unwrap();
    }

    /// Creates a plugin that consists of one ConfigMap.
    pub(super) async fn create_manifests(&self, name: &str) {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        self.create(name, json!({"kind": "manifests", "resources": [map]}))
            .await;
    }

    pub(super) fn plugins(&self) -> Api<Plugin> {
        Api::default_namespaced(self.client.clone())
    }

    /// Waits until a condition of a plugin has a reason. Returns its message.
    pub(super) async fn until(&self, name: &str, condition: &str, reason: &str) -> String {
        let is_met = |plugin: Option<&Plugin>| {
            let condition = plugin.and_then(|plugin| plugin.condition(condition));
            condition.is_some_and(|condition| condition.reason == reason)
        };
        let waited = await_condition(self.plugins(), name, is_met);
        let Ok(plugin) = tokio::time::timeout(TIMEOUT, waited).await else {
            let plugin = self.plugins().get(name).await.unwrap();
            panic!("{name} is {:#?}", plugin.status);
        };
        let plugin = plugin.unwrap().unwrap();
        plugin.condition(condition).unwrap().message.clone()
    }

    /// Waits until an object of the default namespace exists.
    pub(super) async fn until_exists<K>(&self, name: &str)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Send
            + 'static,
    {
        let api: Api<K> = Api::default_namespaced(self.client.clone());
        let exists = await_condition(api, name, |object: Option<&K>| object.is_some());
        let exists = tokio::time::timeout(TIMEOUT, exists).await;
        exists.unwrap().unwrap();
    }

    pub(super) async fn until_ready(&self, name: &str) {
        let is_ready = |plugin: Option<&Plugin>| {
            plugin.is_some_and(|plugin| plugin.is_observed() && plugin.phase() == Phase::Ready)
        };
        let waited = await_condition(self.plugins(), name, is_ready);
        let Ok(plugin) = tokio::time::timeout(TIMEOUT, waited).await else {
            let plugin = self.plugins().get(name).await.unwrap();
            panic!("{name} is {:#?}", plugin.status);
        };
        plugin.unwrap();
    }

    pub(super) async fn close(self) {
        self.server.close().await;
    }
}

/// A controller process; killed on drop.
pub(super) struct Controller {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Drop for Controller {
    fn drop(&mut self) {
        // It may have exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Controller {
    /// Waits for a log line.
    #[track_caller]
    pub(super) fn line(&self, is_met: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        while start.elapsed() < TIMEOUT {
            if let Some(line) = self.lines().into_iter().find(|line| is_met(line)) {
                return line;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("no such line in {:#?}", self.lines());
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// The address in the log line about what is served.
    #[track_caller]
    pub(super) fn address(&self, what: &str) -> String {
        let line = self.line(|line| line.contains(&format!("serving {what}")));
        let (_, address) = line.split_once("address=").unwrap();
        address.split_whitespace().next().unwrap().to_owned()
    }

    /// Sends SIGTERM and waits for the exit. Returns how long it took.
    pub(super) fn terminate(&mut self) -> (ExitStatus, Duration) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let start = Instant::now();
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let status = self.child.wait().unwrap();
        (status, start.elapsed())
    }

    pub(super) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

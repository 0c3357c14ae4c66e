//! A running `outrigger up` for tests that run commands as a user would, and the normalization of what they print.

use std::fmt::Debug;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Output, Stdio};

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, Resource};
use outrigger_api::plugin::Plugin;
use outrigger_testing::TestContext;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A cluster, and the directory in which its commands run. It ends when it is dropped.
pub(crate) struct LocalCluster {
    pub(crate) context: TestContext,
    up: Child,
    kubeconfig: String,
}

impl Drop for LocalCluster {
    fn drop(&mut self) {
        // It may have exited.
        let _ = self.up.kill();
        let _ = self.up.wait();
    }
}

impl LocalCluster {
    /// Starts a cluster, and waits until plugins can be created.
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a cluster with further arguments of `outrigger up`.
    pub(crate) fn start_with(arguments: &[&str]) -> Self {
        let context = TestContext::new(env!("CARGO_BIN_EXE_outrigger")).unwrap();
        let mut command = context.command(["up"]);
        command.args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut up = command.spawn().unwrap();
        let mut kubeconfig = String::new();
        let mut stdout = BufReader::new(up.stdout.take().unwrap());
        stdout.read_line(&mut kubeconfig).unwrap();
        let mut stderr = BufReader::new(up.stderr.take().unwrap()).lines();
        let is_ready = |line: String| line.contains("press Ctrl-C");
        let mut lines = stderr.by_ref().map_while(Result::ok);
        assert!(lines.any(is_ready), "the cluster does not start");
        std::thread::spawn(move || stderr.map_while(Result::ok).for_each(drop));
        Self {
            context,
            up,
            kubeconfig: kubeconfig.trim().to_owned(),
        }
    }

    /// Changes a ConfigMap of the namespace `default` as another tool would.
    pub(crate) fn patch_config_map(&self, name: &str, patch: &Value) {
        self.patch::<ConfigMap>(name, patch);
    }

    /// Changes a plugin of the namespace `default`.
    pub(crate) fn patch_plugin(&self, name: &str, patch: &Value) {
        self.patch::<Plugin>(name, patch);
    }

    fn patch<K>(&self, name: &str, patch: &Value)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let kubeconfig = Kubeconfig::read_from(&self.kubeconfig).unwrap();
            let options = KubeConfigOptions::default();
            let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
            let client = Client::try_from(config.unwrap()).unwrap();
            let api: Api<K> = Api::namespaced(client, "default");
            let parameters = PatchParams {
                field_manager: Some("someone-else".to_owned()),
                ..PatchParams::default()
            };
            let patched = api.patch(name, &parameters, &Patch::Merge(patch)).await;
            patched.unwrap();
        });
    }

    /// What a command on the cluster prints, stdout before stderr, and its exit code unless that is 0.
    pub(crate) fn output(&self, command: &mut Command) -> String {
        let Output {
            status,
            stdout,
            stderr,
        } = command
            .env("KUBECONFIG", &self.kubeconfig)
            .output()
            .unwrap();
        let text = String::from_utf8([stdout, stderr].concat()).unwrap();
        let directory = self.context.directory().display().to_string();
        let text = text.replace(&directory, "/work");
        let lines: String = text.lines().map(|line| normalize(line) + "\n").collect();
        match status.code() {
            Some(0) => lines,
            code => format!("{lines}(exit code {})\n", code.unwrap_or(-1)),
        }
    }
}

/// Replaces what differs from run to run: ages, times, names of pods and ports.
pub(crate) fn normalize(line: &str) -> String {
    let line = &normalize_go_time(line);
    let mut previous = "";
    let words = line.split(' ').map(|word| {
        if std::mem::replace(&mut previous, word) == "pod" {
            return normalize_pod(word);
        }
        let core = word.trim_start_matches('(');
        if is_age(core) {
            let width = word.len();
            let open = if word.starts_with('(') { "(" } else { "" };
            return match open {
                "" => format!("{:width$}", "1s"),
                open => format!("{open}1s"),
            };
        }
        if core.len() >= 20 && core.starts_with("20") && core.contains('T') && core.ends_with('Z') {
            return "2026-01-02T03:04:05Z".to_owned();
        }
        word.to_owned()
    });
    let line = words.collect::<Vec<_>>().join(" ");
    normalize_ports(line.trim_end())
}

/// Replaces the random parts of the name of a pod of a Deployment.
fn normalize_pod(word: &str) -> String {
    let parts: Vec<&str> = word.trim_end_matches(':').rsplitn(3, '-').collect();
    let rest = if word.ends_with(':') { ":" } else { "" };
    match parts.as_slice() {
        [_, _, workload] => format!("{workload}-HASH{rest}"),
        _ => word.to_owned(),
    }
}

/// Replaces the ports of loopback addresses.
pub(crate) fn normalize_ports(line: &str) -> String {
    let mut parts = line.split("127.0.0.1:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |line, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        format!("{line}127.0.0.1:PORT{rest}")
    })
}

/// Replaces a time as Helm prints it, such as `2026-01-02 03:04:05.678 +0000 UTC`. Helm omits trailing zeros, and the width
/// of the column follows.
fn normalize_go_time(line: &str) -> String {
    if let Some((before, after)) = line.split_once("\tUPDATED ") {
        return format!(
            "{before}\t{:39}{}",
            "UPDATED",
            after.trim_start_matches(' ')
        );
    }
    let time = line.split_once(" +0000 UTC").map(|(before, _)| before);
    match time.and_then(|before| before.rsplit_once('\t')) {
        Some((_, time)) => line.replace(time, "2026-01-02 03:04:05.678901234"),
        None => line.to_owned(),
    }
}

/// Whether a word is an age such as `3s` or `2m10s`.
fn is_age(word: &str) -> bool {
    let has_digit = word.starts_with(|c: char| c.is_ascii_digit());
    let ends = word.ends_with('s') || word.ends_with('m');
    let units = |c: char| c.is_ascii_digit() || c == 'm' || c == 's';
    has_digit && ends && word.len() <= 6 && word.chars().all(units)
}

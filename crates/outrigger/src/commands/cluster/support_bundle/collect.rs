//! Asks machines, in bounded time, for texts of bounded size.

use std::time::{Duration, Instant};

use kube::Client;
use outrigger_api::machine::Machine;
use outrigger_cluster::Ssh;
use outrigger_node::{Command, Output, Status};

use crate::commands::machine::connect::connect;

/// A file of a bundle, and the shell text that prints it.
pub(super) type Question = (&'static str, &'static str);

/// How much of the beginning and of the end of an answer is kept.
const CAPTURE: usize = 512 * 1024;
/// No question may take longer, so that others are asked as well.
const MAX_QUESTION: Duration = Duration::from_secs(20);
const MIN_QUESTION: Duration = Duration::from_secs(1);

/// What all machines are asked.
pub(super) const MACHINE: &[Question] = &[
    (
        "facts.txt",
        "date -u; uptime; uname -a; cat /etc/os-release; free -m; df -h; ip address; ip route; cat /proc/cmdline",
    ),
    (
        "versions.txt",
        "kubelet --version; kubeadm version -o short; kubectl version --client; containerd --version; runc --version; ctr version",
    ),
    (
        "services.txt",
        "systemctl --no-pager --failed; systemctl --no-pager status kubelet containerd outrigger-routes",
    ),
    (
        "kubelet.txt",
        "journalctl -u kubelet -n 2000 --no-pager -o short-iso",
    ),
    (
        "containerd.txt",
        "journalctl -u containerd -n 1000 --no-pager -o short-iso",
    ),
    ("kernel.txt", "journalctl -k -n 300 --no-pager -o short-iso"),
    (
        "containers.txt",
        "crictl ps -a || ctr -n k8s.io tasks ls; ctr -n k8s.io images ls -q",
    ),
    (
        "files.txt",
        "ls -lR /etc/kubernetes /etc/cni/net.d /var/lib/outrigger 2>&1 | head -n 1000; ls -l /var/lib/kubelet /var/lib/etcd",
    ),
];

/// What machines of the control plane are asked as well.
pub(super) const CLUSTER: &[Question] = &[
    (
        "control-plane.txt",
        "for log in /var/log/pods/kube-system_etcd-*/*/*.log /var/log/pods/kube-system_kube-*/*/*.log; do \
         [ -e \"$log\" ] || continue; echo \"==> $log\"; tail -n 300 \"$log\"; done",
    ),
    (
        "nodes.txt",
        "export KUBECONFIG=/etc/kubernetes/admin.conf; kubectl --request-timeout 5s get nodes -o wide && \
         kubectl --request-timeout 5s describe nodes",
    ),
    (
        "pods.txt",
        "kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout 5s get pods -A -o wide",
    ),
    (
        "cluster-events.txt",
        "kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout 5s get events -A --sort-by=.lastTimestamp | tail -n 500",
    ),
];

/// What a machine answered.
#[derive(Debug, Default)]
pub(super) struct Collected {
    /// Files with their texts.
    pub(super) answers: Vec<(&'static str, String)>,
    /// Why some are missing.
    pub(super) failure: Option<String>,
}

/// Asks a machine until the time is over, or its connection is lost.
pub(super) async fn collect(
    client: &Client,
    ssh: &Ssh,
    machine: &Machine,
    questions: Vec<Question>,
    limit: Duration,
) -> Collected {
    let end = Instant::now() + limit;
    let mut collected = Collected::default();
    let connected = tokio::time::timeout(limit, async {
        let machine = connect(client, ssh, machine).await?;
        machine.open().await?;
        anyhow::Ok(machine)
    });
    let machine = match connected.await {
        Ok(Ok(machine)) => machine,
        Ok(Err(error)) => {
            collected.failure = Some(format!("did not answer: {error:#}"));
            return collected;
        }
        Err(_) => {
            collected.failure = Some(format!("did not answer within {limit:?}"));
            return collected;
        }
    };
    for (file, text) in questions {
        let left = end.saturating_duration_since(Instant::now());
        if left < MIN_QUESTION {
            collected.failure = Some(format!("not all files within {limit:?}"));
            break;
        }
        let command = Command::shell(text)
            .timeout(left.min(MAX_QUESTION))
            .capture(CAPTURE);
        match machine.run(&command).await {
            Ok(output) => collected.answers.push((file, answer(&output))),
            Err(error) => {
                let text = format!("[{error}]\n");
                let is_lost = error.is_connection_loss();
                collected.answers.push((file, text));
                if is_lost {
                    collected.failure = Some(error.to_string());
                    break;
                }
            }
        }
    }
    collected
}

fn answer(output: &Output) -> String {
    let mut text = output.stdout.text();
    let errors = output.stderr.text();
    if !errors.is_empty() {
        text.push_str(&format!("\n[stderr]\n{errors}"));
    }
    match &output.status {
        Status::Exited(0) => {}
        Status::Exited(code) => text.push_str(&format!("\n[exit code {code}]\n")),
        Status::Killed(signal) => text.push_str(&format!("\n[killed by {signal}]\n")),
    }
    text
}

//! An upgrade to the next minor version: the service of a cluster answers all the time, a machine that fails stops the
//! upgrade, and it is resumed.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use outrigger_api::step::FlowName;
use outrigger_testing::lab::Options;
use outrigger_testing::peers::lab::{CURRENT, NEXT};

use super::fixture::{
    apply, check_hooks, create, kubectl, nodes, ready_nodes, start, until_running,
};
use super::{connect, lab_with, stdout};

const PORT: u16 = 30080;

#[tokio::test]
#[ignore = "takes minutes: cargo xtask e2e --slow"]
async fn a_service_answers_all_requests_while_the_cluster_is_upgraded() -> anyhow::Result<()> {
    let Some((_turn, lab)) = lab_with(NEXT).await else {
        return Ok(());
    };
    let _network = lab.enter()?;
    let machines = lab.machines(&["cp1", "w1", "w2"], Options::default())?;
    let mut connections = Vec::new();
    for machine in &machines {
        connections.push(connect(machine).await?);
    }
    let up = start(&[CURRENT, NEXT]).await?;
    create(&up, &lab, &machines[..1], &machines[1..]).await?;
    until_running(&up, 3).await?;
    apply(&connections[0], WORKLOAD).await?;
    kubectl(
        &connections[0],
        "rollout status deployment/web --timeout=240s",
    )
    .await?;
    let client = Client::start(machines[0].address())?;

    let skipped = up.run(&["cluster", "upgrade", "demo", "1.99.0"]);
    let refusal = skipped
        .err()
        .context("a minor version was skipped")?
        .to_string();
    ensure!(refusal.contains("more than one minor version"), "{refusal}");

    // The first worker fails, so that the second one does not begin.
    stdout(&connections[1], "touch /run/broken-PreUpgrade").await?;
    let upgrade = ["cluster", "upgrade", "demo", NEXT.kubernetes];
    let failed = up.run(&[&upgrade[..], &["--wait", "--timeout", "20m"]].concat());
    let failure = failed
        .err()
        .context("the upgrade did not stop")?
        .to_string();
    ensure!(failure.contains("PreUpgrade"), "{failure}");
    let mut half = nodes(&["w1", "w2"], CURRENT.kubernetes);
    half.extend(nodes(&["cp1"], NEXT.kubernetes));
    assert_eq!(ready_nodes(&up).await?, half);
    stdout(&connections[1], "rm /run/broken-PreUpgrade").await?;
    up.run(&["cluster", "retry", "demo", "--wait", "--timeout", "20m"])?;

    let all = nodes(&["cp1", "w1", "w2"], NEXT.kubernetes);
    assert_eq!(ready_nodes(&up).await?, all);
    let (answered, failures) = client.stop()?;
    ensure!(
        failures.is_empty(),
        "{} of {answered} requests failed: {failures:#?}",
        failures.len()
    );
    ensure!(answered > 100, "only {answered} requests");
    check_hooks(&connections, &[FlowName::Create, FlowName::Upgrade]).await?;
    let cordoned = kubectl(
        &connections[0],
        "get nodes -o jsonpath={.items[*].spec.unschedulable}",
    );
    assert_eq!(cordoned.await?, "");
    let backups = stdout(&connections[0], "ls /var/lib/outrigger/node/backups").await?;
    let (from, to) = (CURRENT.kubernetes, NEXT.kubernetes);
    assert_eq!(backups, format!("etcd-{from}-before-{to}.db"));
    up.run(&["cluster", "delete", "demo", "--wait", "--timeout", "10m"])?;
    Ok(())
}

/// Two replicas, of which one is always there. A pod answers until all machines know that it ends.
const WORKLOAD: &str = r#"apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}
      containers:
      - name: app
        image: example.test/app:1
        command: [/app, serve, ":8080"]
        readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
        lifecycle: {preStop: {sleep: {seconds: 10}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80, targetPort: 8080, nodePort: 30080}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
"#;

/// Sends one request after the other to the service, each over its own connection.
struct Client {
    is_stopped: Arc<AtomicBool>,
    thread: JoinHandle<(usize, Vec<String>)>,
}

impl Client {
    /// The thread is in the network of the calling one.
    fn start(machine: Ipv4Addr) -> anyhow::Result<Self> {
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&is_stopped);
        let thread = std::thread::Builder::new().spawn(move || {
            let (mut answered, mut failures) = (0, Vec::new());
            while !stop.load(Ordering::Relaxed) {
                match request(machine) {
                    Ok(()) => answered += 1,
                    Err(error) => failures.push(format!("request {answered}: {error:#}")),
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            (answered, failures)
        })?;
        Ok(Self { is_stopped, thread })
    }

    fn stop(self) -> anyhow::Result<(usize, Vec<String>)> {
        self.is_stopped.store(true, Ordering::Relaxed);
        let ended = self.thread.join();
        ended.map_err(|_| anyhow::anyhow!("the client panicked"))
    }
}

fn request(machine: Ipv4Addr) -> anyhow::Result<()> {
    let timeout = Duration::from_secs(5);
    let address = SocketAddr::from((machine, PORT));
    let mut stream = TcpStream::connect_timeout(&address, timeout)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    ensure!(
        answer.starts_with("HTTP/1.0 200") && answer.contains("web-"),
        "{answer}"
    );
    Ok(())
}

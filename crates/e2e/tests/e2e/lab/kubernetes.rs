//! Plain kubeadm makes a node of a machine, with the programs and images of the lab. It shows what the lab can do, and is
//! what providers are compared with.

use outrigger_node::{Entry, Machine, Tree};
use outrigger_testing::lab::Lab;
use outrigger_testing::peers::lab::CURRENT;

use super::{connect, lab, stdout};

const CONTAINERD: &str = r#"version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.k8s.io/pause:3.10.2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
"#;

const KUBELET_UNIT: &str = "[Unit]
After=containerd.service
[Service]
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=/usr/bin/kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf \
--kubeconfig=/etc/kubernetes/kubelet.conf --config=/var/lib/kubelet/config.yaml $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
Restart=always
RestartSec=1
[Install]
WantedBy=multi-user.target
";

/// What the kernel of the host does not allow is left out: see the preflight check, and the limits of conntrack.
const KUBEADM: &str = "apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
nodeRegistration:
  criSocket: unix:///run/containerd/containerd.sock
  imagePullPolicy: Never
  ignorePreflightErrors: [SystemVerification]
  taints: []
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: VERSION
networking: {podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/16}
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
conntrack: {maxPerCore: 0, min: 0}
";

const POD_NETWORK: &str = r#"{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true, "ipam": {"type": "host-local",
   "ranges": [[{"subnet": "10.244.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
"#;

#[tokio::test]
#[ignore = "takes minutes: cargo xtask e2e --slow"]
async fn kubeadm_makes_a_node_that_runs_pods() -> anyhow::Result<()> {
    let Some((_turn, lab)) = lab().await else {
        return Ok(());
    };
    let _network = lab.enter()?;
    let machine = prepare(&lab).await?;
    stdout(&machine, "kubeadm init --config /etc/kubeadm.yaml").await?;
    let kubectl = async |arguments: &str| {
        let command = format!("kubectl --kubeconfig /etc/kubernetes/admin.conf {arguments}");
        stdout(&machine, &command).await
    };
    kubectl("wait --for=condition=Ready node/cp1 --timeout=240s").await?;
    kubectl("-n kube-system rollout status deployment/coredns --timeout=240s").await?;
    kubectl("create deployment web --image=example.test/app:1 -- /app serve :8080").await?;
    kubectl("expose deployment web --port=80 --target-port=8080").await?;
    kubectl("rollout status deployment/web --timeout=240s").await?;
    let get = "exec deployment/web -- /app get http://web.default.svc.cluster.local/path";
    let answer = kubectl(get).await?;
    assert!(answer.starts_with("200 web-"), "{answer}");
    let logs = kubectl("logs deployment/web").await?;
    assert!(logs.contains("GET /path"), "{logs}");
    Ok(())
}

/// A machine with all programs and images. Files arrive over SSH, as they do from a provider.
async fn prepare(lab: &Lab) -> anyhow::Result<Machine> {
    let machine = connect(&lab.machine("cp1")?).await?;
    let folder = tempfile::tempdir()?;
    let file = |name: &str, text: &str| fs_err::write(folder.path().join(name), text);
    file("containerd.toml", CONTAINERD)?;
    file("kubelet.service", KUBELET_UNIT)?;
    let version = format!("v{}", CURRENT.kubernetes);
    file("kubeadm.yaml", &KUBEADM.replace("VERSION", &version))?;
    file("pods.conflist", POD_NETWORK)?;
    let mut entries: Vec<(String, String)> = [
        ("containerd.toml", "/etc/containerd/config.toml"),
        ("kubelet.service", "/etc/systemd/system/kubelet.service"),
        ("kubeadm.yaml", "/etc/kubeadm.yaml"),
        ("pods.conflist", "/etc/cni/net.d/10-pods.conflist"),
    ]
    .map(|(source, destination)| (source.to_owned(), destination.to_owned()))
    .into();
    for name in ["kubeadm", "kubelet", "kubectl", "crictl"] {
        fs_err::copy(CURRENT.peer(name)?.installed()?, folder.path().join(name))?;
        entries.push((name.to_owned(), format!("/usr/bin/{name}")));
    }
    for (name, _) in CURRENT.image_references()? {
        let archive = format!("{name}.tar");
        fs_err::copy(
            CURRENT.images()?.join(&archive),
            folder.path().join(&archive),
        )?;
        entries.push((archive.clone(), format!("/root/images/{archive}")));
    }
    let entries: Vec<Entry> = entries
        .into_iter()
        .map(|(source, destination)| Entry {
            source: source.into(),
            destination,
        })
        .collect();
    let tree = Tree::scan(folder.path(), &entries, &[].into())?;
    machine.copy(&tree).await?;
    stdout(&machine, PREPARE).await?;
    Ok(machine)
}

const PREPARE: &str = "set -e
systemctl is-system-running --wait
modprobe br_netfilter
sysctl -q -w net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1
systemctl daemon-reload
systemctl enable -q kubelet
systemctl restart containerd
for archive in /root/images/*.tar; do ctr -n k8s.io images import $archive; rm $archive; done
";

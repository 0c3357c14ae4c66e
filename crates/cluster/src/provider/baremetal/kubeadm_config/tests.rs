//! The files as kubeadm reads them.

use serde_json::json;

use super::*;

fn cluster() -> Cluster {
    let cluster = json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "demo"},
        "spec": {
            "version": "v1.36.4", "provider": "baremetal",
            "clusterCIDR": "10.244.0.0/16", "serviceCIDR": "10.96.0.0/16",
            "machines": [{"ip": "10.89.0.10"}, {"ip": "10.89.0.11"}],
            "publicAlternativeNames": ["api.example.com"],
            "ignorePreflightErrors": ["SystemVerification"],
            "apiServerExtraArgs": {"profiling": "false"},
            "kubeletConfig": {"failCgroupV1": false},
            "kubeProxy": {"config": {"conntrack": {"maxPerCore": 0, "min": 0}}},
        },
    });
    serde_json::from_value(cluster).unwrap()
}

fn machine(role: &str) -> Machine {
    let machine = json!({
        "apiVersion": "outrigger.dev/v1beta1", "kind": "Machine", "metadata": {"name": "m"},
        "spec": {"cluster": "demo", "role": role, "ip": "10.89.0.11"},
    });
    serde_json::from_value(machine).unwrap()
}

#[test]
fn init_has_the_documents_of_kubeadm_kubelet_and_kube_proxy() {
    let text = init(&cluster(), &machine("ControlPlane"));
    assert_eq!(text, INIT);
}

#[test]
fn pods_may_run_on_control_planes_if_the_spec_says_so() {
    let mut cluster = cluster();
    cluster.spec.features.enable_master_schedule = true;
    let text = init(&cluster, &machine("ControlPlane"));
    assert!(text.contains("\n  taints: []\n"), "{text}");
}

#[test]
fn workers_join_without_certificates_and_control_planes_with_them() {
    let ticket = Ticket {
        token: "abcdef.0123456789abcdef".to_owned(),
        certificate_key: Some("key".to_owned()),
    };
    let text = |role| join(&cluster(), &machine(role), "/discovery", &ticket);
    assert_eq!(text("Worker"), JOIN);
    let control_plane = text("ControlPlane");
    let expected = "controlPlane:\n  certificateKey: key\n  localAPIEndpoint:\n    advertiseAddress: 10.89.0.11\n    bindPort: 6443\n";
    assert!(control_plane.contains(expected), "{control_plane}");
}

#[test]
fn an_upgrade_names_the_version_and_what_is_ignored() {
    assert_eq!(upgrade(&cluster()), UPGRADE);
}

const UPGRADE: &str = "apiVersion: kubeadm.k8s.io/v1beta4
apply:
  ignorePreflightErrors:
  - SystemVerification
  imagePullPolicy: IfNotPresent
  kubernetesVersion: v1.36.4
kind: UpgradeConfiguration
node:
  ignorePreflightErrors:
  - SystemVerification
  imagePullPolicy: IfNotPresent
";

const INIT: &str = "apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint:
  advertiseAddress: 10.89.0.11
  bindPort: 6443
nodeRegistration:
  criSocket: unix:///run/containerd/containerd.sock
  ignorePreflightErrors:
  - SystemVerification
  imagePullPolicy: IfNotPresent
  kubeletExtraArgs:
  - name: node-ip
    value: 10.89.0.11
---
apiServer:
  certSANs:
  - 10.89.0.10
  - api.example.com
  extraArgs:
  - name: profiling
    value: \"false\"
apiVersion: kubeadm.k8s.io/v1beta4
clusterName: demo
controlPlaneEndpoint: 10.89.0.10:6443
controllerManager: {}
kind: ClusterConfiguration
kubernetesVersion: v1.36.4
networking:
  dnsDomain: cluster.local
  podSubnet: 10.244.0.0/16
  serviceSubnet: 10.96.0.0/16
scheduler: {}
---
apiVersion: kubelet.config.k8s.io/v1beta1
cgroupDriver: systemd
failCgroupV1: false
kind: KubeletConfiguration
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
conntrack:
  maxPerCore: 0
  min: 0
kind: KubeProxyConfiguration
mode: iptables
";

const JOIN: &str = "apiVersion: kubeadm.k8s.io/v1beta4
discovery:
  file:
    kubeConfigPath: /discovery
  tlsBootstrapToken: abcdef.0123456789abcdef
kind: JoinConfiguration
nodeRegistration:
  criSocket: unix:///run/containerd/containerd.sock
  ignorePreflightErrors:
  - SystemVerification
  imagePullPolicy: IfNotPresent
  kubeletExtraArgs:
  - name: node-ip
    value: 10.89.0.11
";

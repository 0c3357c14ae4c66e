#!/bin/sh
# Makes a cluster by plain kubeadm over OpenSSH: what an administrator would write who knows the documentation. Files are copied to
# all machines at the same time; control planes join one after the other, workers at the same time.
# Variables: BIN (folder of ssh and scp), KEY, FILES (folder of a release), VERSION, CONTROL_PLANES, WORKERS (addresses).
set -eu
options="-F none -i $KEY -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
on() {
  address=$1
  shift
  "$BIN/ssh" $options "root@$address" "$@"
}
# Runs a function for each address at the same time.
each() {
  function=$1
  shift
  pids=
  for address in "$@"; do
    "$function" "$address" &
    pids="$pids $!"
  done
  for pid in $pids; do wait "$pid"; done
}

prepare() {
  "$BIN/scp" -S "$BIN/ssh" $options -q "$FILES"/bin/* "root@$1:/usr/local/bin/"
  on "$1" mkdir -p /root/images
  "$BIN/scp" -S "$BIN/ssh" $options -q "$FILES"/images/*.tar "root@$1:/root/images/"
  on "$1" sh -s <<'MACHINE'
set -eu
for module in overlay br_netfilter; do modprobe $module; done
cat >/etc/sysctl.d/99-kubernetes.conf <<END
net.ipv4.ip_forward = 1
net.bridge.bridge-nf-call-iptables = 1
net.bridge.bridge-nf-call-ip6tables = 1
END
sysctl -q -p /etc/sysctl.d/99-kubernetes.conf
cat >/etc/containerd/config.toml <<END
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.k8s.io/pause:3.10.2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
END
echo 'runtime-endpoint: unix:///run/containerd/containerd.sock' >/etc/crictl.yaml
cat >/etc/systemd/system/kubelet.service <<'END'
[Unit]
Wants=network-online.target containerd.service
After=network-online.target containerd.service
[Service]
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
ExecStart=/usr/local/bin/kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf --config=/var/lib/kubelet/config.yaml $KUBELET_KUBEADM_ARGS
Restart=always
StartLimitInterval=0
RestartSec=10
[Install]
WantedBy=multi-user.target
END
systemctl daemon-reload
systemctl enable -q kubelet
systemctl restart containerd
for archive in /root/images/*.tar; do ctr -n k8s.io images import "$archive" >/dev/null; done
MACHINE
}

join() {
  on "$1" "kubeadm join $first:6443 --token $token --discovery-token-ca-cert-hash $hash --node-name \$(hostname) \
    --ignore-preflight-errors=SystemVerification >/var/log/join.log 2>&1 || { cat /var/log/join.log; exit 1; }"
}
join_control_plane() {
  on "$1" "kubeadm join $first:6443 --token $token --discovery-token-ca-cert-hash $hash --control-plane --certificate-key $key \
    --apiserver-advertise-address $1 --ignore-preflight-errors=SystemVerification >/var/log/join.log 2>&1 ||
    { cat /var/log/join.log; exit 1; }"
}

each prepare $CONTROL_PLANES $WORKERS
first=${CONTROL_PLANES%% *}
token=$(od -An -N11 -tx1 /dev/urandom | tr -d ' \n' | sed 's/^\(.\{6\}\)\(.\{16\}\)$/\1.\2/')
key=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
on "$first" sh -s <<MACHINE
set -eu
cat >/root/kubeadm.yaml <<END
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
bootstrapTokens:
- token: $token
certificateKey: $key
localAPIEndpoint: {advertiseAddress: $first}
nodeRegistration:
  criSocket: unix:///run/containerd/containerd.sock
  imagePullPolicy: IfNotPresent
  ignorePreflightErrors: [SystemVerification]
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v$VERSION
controlPlaneEndpoint: $first:6443
networking: {podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/16}
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: systemd
failCgroupV1: false
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
conntrack: {maxPerCore: 0, min: 0}
END
kubeadm init --upload-certs --config /root/kubeadm.yaml >/var/log/init.log 2>&1 || { cat /var/log/init.log; exit 1; }
MACHINE
hash=sha256:$(on "$first" "openssl x509 -in /etc/kubernetes/pki/ca.crt -pubkey -noout | openssl pkey -pubin -outform DER" |
  sha256sum | cut -d ' ' -f 1)
for address in $CONTROL_PLANES; do
  [ "$address" = "$first" ] || join_control_plane "$address"
done
[ -z "$WORKERS" ] || each join $WORKERS

# The pod network: a bridge on each machine, and a route to each other one.
all="$CONTROL_PLANES $WORKERS"
nodes() {
  on "$first" "kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes \
    -o jsonpath='{range .items[*]}{.status.addresses[?(@.type==\"InternalIP\")].address} {.spec.podCIDR}{\"\\n\"}{end}'"
}
count=$(printf '%s\n' $all | wc -l)
until [ "$(nodes | grep -c ' 10\.')" = "$count" ]; do sleep 0.2; done
ranges=$(nodes)
network() {
  own=$(printf '%s\n' "$ranges" | sed -n "s/^$1 //p")
  routes=$(printf '%s\n' "$ranges" | while read -r via range; do
    [ "$via" = "$1" ] || echo "ip route replace $range via $via"
  done)
  on "$1" sh -s <<MACHINE
set -eu
mkdir -p /etc/cni/net.d
cat >/etc/cni/net.d/10-pods.conflist <<END
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true, "ipam": {"type": "host-local",
   "ranges": [[{"subnet": "$own"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
END
$routes
MACHINE
}
each network $all
on "$first" kubectl --kubeconfig /etc/kubernetes/admin.conf wait --for=condition=Ready node --all --timeout=300s

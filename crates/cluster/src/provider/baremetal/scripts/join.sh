# Joins the cluster. $CONFIG is the configuration of kubeadm, $DISCOVERY a kubeconfig with the CA of the cluster.
! is_done || exit 0
begin
# An attempt that was interrupted may have left half of a node.
if [ -e /etc/kubernetes/kubelet.conf ] || [ -e /etc/kubernetes/bootstrap-kubelet.conf ] || [ -d /etc/kubernetes/manifests ]; then
  kubeadm reset --force --cri-socket "$SOCKET"
fi
umask 077
trap 'rm -f "$node/join.yaml" "$node/discovery.conf"' EXIT
printf %s "$DISCOVERY" >"$node/discovery.conf"
printf %s "$CONFIG" >"$node/join.yaml"
kubeadm join --config "$node/join.yaml"
finish

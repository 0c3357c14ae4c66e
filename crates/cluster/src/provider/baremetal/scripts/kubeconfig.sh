# Makes the kubeconfig of the administrator if it is not there, and prints it. $CONFIG is the configuration of kubeadm.
[ -e /etc/kubernetes/admin.conf ] || {
  (umask 077; printf %s "$CONFIG" >"$node/kubeadm.yaml")
  kubeadm init phase kubeconfig admin --config "$node/kubeadm.yaml" >/dev/null
}
cat /etc/kubernetes/admin.conf

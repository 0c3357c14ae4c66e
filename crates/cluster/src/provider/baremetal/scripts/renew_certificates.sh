# Renews the certificates that kubeadm made on this machine. $CONFIG is the configuration of kubeadm, so that no API server is
# asked for it: its certificate may have expired.
(umask 077; printf %s "$CONFIG" >"$node/kubeadm.yaml")
kubeadm certs renew all --config "$node/kubeadm.yaml"

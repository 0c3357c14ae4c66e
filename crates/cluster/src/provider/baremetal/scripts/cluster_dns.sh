# Waits until kube-proxy and the DNS server of the cluster run.
kubectl -n kube-system rollout status daemonset/kube-proxy --timeout=300s
kubectl -n kube-system rollout status deployment/coredns --timeout=300s

# Waits until a node is ready. $NODE is its name.
kubectl wait --for=condition=Ready "node/$NODE" --timeout=300s || {
  kubectl get node "$NODE" -o jsonpath='{.status.conditions[?(@.type=="Ready")].message}' >&2
  exit 1
}

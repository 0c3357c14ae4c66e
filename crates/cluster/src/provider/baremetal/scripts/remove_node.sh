# Removes the node with the address $ADDRESS from the cluster.
name=$(kubectl get nodes -o jsonpath='{range .items[*]}{.metadata.name} {.status.addresses[?(@.type=="InternalIP")].address}{"\n"}{end}' |
  while read -r name address; do [ "$address" != "$ADDRESS" ] || echo "$name"; done)
[ -n "$name" ] || exit 0
kubectl drain "$name" --ignore-daemonsets --delete-emptydir-data --force --timeout=300s
kubectl delete node "$name" --ignore-not-found

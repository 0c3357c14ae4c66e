# Drains the node with the address $ADDRESS. $MARK is the annotation of a node that was not cordoned before.
name=$(node_name)
if [ -z "$(kubectl get node "$name" -o jsonpath='{.spec.unschedulable}')" ]; then
  kubectl annotate --overwrite node "$name" "$MARK=true"
fi
kubectl drain "$name" --ignore-daemonsets --delete-emptydir-data --timeout=300s

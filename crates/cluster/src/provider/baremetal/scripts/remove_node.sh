# Removes the node with the address $ADDRESS from the cluster. One that is lost ($LOST is true) cannot end its pods.
status=0; name=$(node_name) || status=$?
[ $status != 1 ] || exit 0
[ $status = 0 ]
[ "$LOST" = true ] || kubectl drain "$name" --ignore-daemonsets --delete-emptydir-data --force --timeout=300s
kubectl delete node "$name" --ignore-not-found

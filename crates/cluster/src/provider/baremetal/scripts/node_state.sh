# Prints whether the node with the address $ADDRESS is ready.
name=$(node_name)
kubectl get node "$name" -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}'

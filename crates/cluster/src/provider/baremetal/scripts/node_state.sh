# Prints whether the node with the address $ADDRESS is ready, and the version of its kubelet.
name=$(node_name)
kubectl get node "$name" -o jsonpath='{.status.conditions[?(@.type=="Ready")].status} {.status.nodeInfo.kubeletVersion}'

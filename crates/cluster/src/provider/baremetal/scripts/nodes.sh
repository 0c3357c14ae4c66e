# Prints name, address and pod range of all nodes, when the one with the address $ADDRESS has its range, or is there if
# $NETWORK is None.
list() {
  kubectl get nodes -o jsonpath='{range .items[*]}{.metadata.name} {.status.addresses[?(@.type=="InternalIP")].address} {.spec.podCIDR}{"\n"}{end}'
}
is_listed() {
  while read -r name address range; do
    [ "$address" = "$ADDRESS" ] && { [ -n "$range" ] || [ "$NETWORK" = None ]; } && return 0
  done <"$1"
  return 1
}
i=0 nodes=$node/nodes.$$
trap 'rm -f "$nodes"' EXIT
until list >"$nodes" && is_listed "$nodes"; do
  i=$((i + 1))
  [ $i -lt 100 ] || { echo "no node has the address $ADDRESS" >&2; exit 1; }
  sleep 0.3
done
cat "$nodes"

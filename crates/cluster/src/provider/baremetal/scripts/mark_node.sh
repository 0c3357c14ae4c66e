# Sets labels and taints of the node with the address $ADDRESS. $LABELS and $TAINTS have one in each line; $ROLE is
# ControlPlane or Worker, and $SCHEDULE says whether pods may run on control planes.
name=$(node_name)
if [ "$ROLE" = ControlPlane ]; then
  kubectl label --overwrite node "$name" node-role.kubernetes.io/control-plane=
  taint=node-role.kubernetes.io/control-plane:NoSchedule
  [ "$SCHEDULE" = true ] && kubectl taint node "$name" "$taint-" 2>/dev/null || :
  [ "$SCHEDULE" = true ] || kubectl taint --overwrite node "$name" "$taint"
fi
printf '%s\n' "$LABELS" | while IFS= read -r label; do
  [ -z "$label" ] || kubectl label --overwrite node "$name" "$label"
done
printf '%s\n' "$TAINTS" | while IFS= read -r taint; do
  [ -z "$taint" ] || kubectl taint --overwrite node "$name" "$taint"
done

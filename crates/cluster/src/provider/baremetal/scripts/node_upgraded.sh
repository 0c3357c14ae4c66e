# Waits until the node with the address $ADDRESS is ready with version $VERSION, and its control plane if $ROLE is
# ControlPlane. Then lets pods run on it again, if $MARK says that it was drained for the upgrade.
name=$(node_name)
state() {
  kubectl get node "$name" -o jsonpath='{.status.nodeInfo.kubeletVersion} {.status.conditions[?(@.type=="Ready")].status}'
}
i=0
until [ "$(state)" = "v$VERSION True" ]; do
  i=$((i + 1))
  [ $i -lt 240 ] || { echo "node $name is not ready with version $VERSION: $(state)" >&2; exit 1; }
  sleep 1
done
[ "$ROLE" != ControlPlane ] ||
  kubectl -n kube-system wait --for=condition=Ready pod -l tier=control-plane --field-selector "spec.nodeName=$name" --timeout=240s
if [ -n "$(kubectl get node "$name" -o jsonpath="{.metadata.annotations.$(printf %s "$MARK" | sed 's/\./\\./g')}")" ]; then
  kubectl uncordon "$name"
  kubectl annotate node "$name" "$MARK-"
fi

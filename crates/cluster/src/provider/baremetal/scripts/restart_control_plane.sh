# Restarts the static pods of the control plane one after the other, so that they use the files that are there now, and waits
# until the API server of this machine, $SERVER, is ready.
restarted() {
  now=$(containers "$1")
  [ -n "$now" ] || return 1
  for id in $2; do ! printf '%s\n' "$now" | grep -qxF "$id" || return 1; done
}
for name in etcd kube-apiserver kube-controller-manager kube-scheduler; do
  [ -e "/etc/kubernetes/manifests/$name.yaml" ] || continue
  before=$(containers "$name")
  for id in $before; do ctr -n k8s.io tasks kill --signal SIGTERM "$id" || :; done
  i=0
  until restarted "$name" "$before"; do
    i=$((i + 1))
    [ $i -lt 120 ] || {
      echo "$name does not run again"
      journalctl -u kubelet -n 20 --no-pager -o cat
      exit 1
    }
    # One that does not end is killed.
    [ $i -ne 40 ] || for id in $before; do ctr -n k8s.io tasks kill --signal SIGKILL "$id" 2>/dev/null || :; done
    sleep 1
  done
done
api_ready --server "$SERVER"

# Stops the static pods of the control plane: kubelet stops what has no manifest. EnsureStartControlPlane brings them back.
kept=$node/restore/manifests
(umask 077; mkdir -p "$kept")
pods="kube-apiserver kube-controller-manager kube-scheduler etcd"
for name in $pods; do
  [ ! -e "/etc/kubernetes/manifests/$name.yaml" ] || mv -f "/etc/kubernetes/manifests/$name.yaml" "$kept/$name.yaml"
done
i=0
for name in $pods; do
  while left=$(containers "$name") && [ -n "$left" ]; do
    i=$((i + 1))
    [ $i -lt 180 ] || {
      echo "$name does not end"
      exit 1
    }
    # kubelet may not run, or give up.
    [ $i -lt 90 ] || for id in $left; do ctr -n k8s.io tasks kill --signal SIGKILL "$id" 2>/dev/null || :; done
    sleep 1
  done
done

# Starts kubelet, which starts the static pods, and waits until the API server is ready. `kubeadm init phase
# wait-control-plane` takes no configuration. Until now kubelet did not run, so that no pod waited for another one in vain.
begin
systemctl start kubelet
i=0
until [ "$(kubectl get --raw /readyz 2>/dev/null)" = ok ]; do
  i=$((i + 1))
  [ $i -lt 240 ] || {
    echo "the API server is not ready"
    crictl ps -a 2>/dev/null || :
    journalctl -u kubelet -n 20 --no-pager -o cat
    exit 1
  }
  sleep 1
done

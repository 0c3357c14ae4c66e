# Starts kubelet, which starts the static pods, and waits until the API server is ready. `kubeadm init phase
# wait-control-plane` takes no configuration. Until now kubelet did not run, so that no pod waited for another one in vain.
begin
systemctl start kubelet
api_ready

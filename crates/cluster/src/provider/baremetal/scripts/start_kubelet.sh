# Enables the service of kubelet. It runs as soon as kubeadm has configured it.
begin
systemctl daemon-reload
systemctl enable -q --now kubelet

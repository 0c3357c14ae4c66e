# Makes the service of kubelet. It does not start before kubeadm has configured it.
begin
put /etc/systemd/system/kubelet.service <<'END'
[Unit]
Description=kubelet: The Kubernetes Node Agent
Wants=network-online.target containerd.service
After=network-online.target containerd.service
ConditionPathExists=/var/lib/kubelet/config.yaml
ConditionPathExists=|/etc/kubernetes/kubelet.conf
ConditionPathExists=|/etc/kubernetes/bootstrap-kubelet.conf
[Service]
ExecStart=/usr/local/bin/kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf --config=/var/lib/kubelet/config.yaml $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
Restart=always
StartLimitInterval=0
RestartSec=2
[Install]
WantedBy=multi-user.target
END

systemctl daemon-reload
systemctl restart kubelet

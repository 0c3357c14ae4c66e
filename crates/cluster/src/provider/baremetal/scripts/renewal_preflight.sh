# Reports what keeps the certificates of this machine from being renewed. Changes nothing.
missing=
for file in pki/ca.key pki/front-proxy-ca.key pki/etcd/ca.key manifests/kube-apiserver.yaml admin.conf; do
  [ -e "/etc/kubernetes/$file" ] || missing="$missing /etc/kubernetes/$file"
done
[ -z "$missing" ] || {
  echo "there is no$missing" >&2
  exit 1
}
command -v kubeadm >/dev/null || {
  echo "there is no kubeadm" >&2
  exit 1
}

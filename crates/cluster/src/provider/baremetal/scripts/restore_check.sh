# Reports what keeps the control plane of this machine from being restored. Changes nothing. $CA is the digest of the CA in the
# backup, $NEEDED how many KiB it takes.
fail() {
  echo "$1" >&2
  exit 1
}
[ "$(cat "$node/cluster" 2>/dev/null)" = "$CLUSTER" ] || fail "the machine is not one of this cluster"
manifest=/etc/kubernetes/manifests/etcd.yaml
[ -e "$manifest" ] || manifest=$node/restore/manifests/etcd.yaml
[ -e "$manifest" ] || fail "the machine has no etcd: there is no /etc/kubernetes/manifests/etcd.yaml"
ca=/etc/kubernetes/pki/ca.crt
[ ! -e "$ca" ] || [ "$(sha256sum <"$ca")" = "$CA  -" ] || fail "$ca is not the CA in the backup"
ctr version >/dev/null 2>&1 || fail "containerd does not run"
free=$(df -Pk /var/lib/etcd | { read -r header; read -r device total used free rest; echo "$free"; })
[ "$free" -ge "$NEEDED" ] || fail "/var/lib/etcd has $free KiB free, and $NEEDED are needed"

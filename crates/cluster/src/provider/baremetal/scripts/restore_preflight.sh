# Checks the backup that was copied to this machine, and prints what it is of. Changes nothing. $BACKUP is the digest of the file.
fail() {
  echo "$1" >&2
  exit 1
}
file=$node/restore/$BACKUP.tar
[ -e "$file" ] || fail "the backup is not there: outrigger cluster restore copies it"
[ "$(sha256sum <"$file")" = "$BACKUP  -" ] || fail "$file is not the backup: its digest is another one"
ca=/etc/kubernetes/pki/ca.crt
[ ! -e "$ca" ] || tar -xOf "$file" pki/ca.crt | cmp -s - "$ca" || fail "$ca is not the CA in the backup"
[ -e /etc/kubernetes/manifests/etcd.yaml ] || [ -e "$node/restore/manifests/etcd.yaml" ] || fail "the machine has no etcd"
tar -xOf "$file" backup.json

# Makes the data of etcd from a backup. $BACKUP is the digest of its file, $MEMBERS are the names and URLs of all members. Keys
# that are not there come from the backup. The data from before stays in /var/lib/etcd/member.before-restore.
! is_done || exit 0
umask 077
work=$node/restore/work
manifest=$node/restore/manifests/etcd.yaml
rm -rf "$work"
mkdir -p "$work"
tar -xf "$node/restore/$BACKUP.tar" -C "$work"
(cd "$work" && sha256sum -c digests >/dev/null)
missing=
for file in $KEYS; do
  [ ! -e "/etc/kubernetes/$file" ] || continue
  missing=yes
  (umask 022; mkdir -p "/etc/kubernetes/${file%/*}")
  cp "$work/$file" "/etc/kubernetes/$file"
done
[ -z "$missing" ] || {
  printf %s "$CONFIG" >"$node/kubeadm.yaml"
  kubeadm init phase certs all --config "$node/kubeadm.yaml" </dev/null
  for name in admin controller-manager scheduler; do
    [ -e "/etc/kubernetes/$name.conf" ] || kubeadm init phase kubeconfig "$name" --config "$node/kubeadm.yaml" </dev/null
  done
}
image=$(sed -n 's/^ *image: *//p' "$manifest" | head -n 1)
name=$(sed -n 's/^ *- --name=//p' "$manifest")
url=$(sed -n 's/^ *- --initial-advertise-peer-urls=//p' "$manifest")
data=/var/lib/etcd
mkdir -p "$data"
chmod 700 "$data"
rm -rf "$data/restored" "$data/outrigger.db"
mv "$work/etcd.db" "$data/outrigger.db"
# A later revision than any that clients have seen, so that they read everything again.
ctr -n k8s.io run --rm --mount "type=bind,src=$data,dst=$data,options=rbind:rw" "$image" "outrigger-restore-$$" \
  /usr/local/bin/etcdutl snapshot restore "$data/outrigger.db" --data-dir "$data/restored" --name "$name" \
  --initial-advertise-peer-urls "$url" --initial-cluster "$MEMBERS" --initial-cluster-token "$TOKEN" \
  --bump-revision 1000000000 --mark-compacted </dev/null
rm -rf "$work" "$data/outrigger.db"
if [ -d "$data/member" ]; then
  rm -rf "$data/member.before-restore"
  mv "$data/member" "$data/member.before-restore"
fi
mv "$data/restored/member" "$data/member"
rm -rf "$data/restored"
finish

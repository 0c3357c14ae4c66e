# Prints a tar archive with a snapshot of etcd and the keys of the cluster. $DESCRIPTION is the content of backup.json.
[ "$(cat "$node/cluster" 2>/dev/null)" = "$CLUSTER" ] || {
  echo "the machine is not one of this cluster" >&2
  exit 1
}
umask 077
work=$(mktemp -d "$node/backup.XXXXXX")
# The only folder that the container of etcd can write to.
snapshot=/var/lib/etcd/outrigger-$$.db
trap 'rm -rf "$work" "$snapshot" "$snapshot.part"' EXIT
trap 'exit 143' HUP INT TERM
etcdctl --command-timeout 10s endpoint health >&2
etcdctl --command-timeout 10m snapshot save "$snapshot" >&2
mv "$snapshot" "$work/etcd.db"
cd "$work"
mkdir -p pki/etcd
for file in $KEYS; do cp "/etc/kubernetes/$file" "$file"; done
sha256sum $KEYS etcd.db >digests
printf %s "$DESCRIPTION" >backup.json
tar -cf - backup.json digests $KEYS etcd.db

# Saves a snapshot of etcd. $SNAPSHOT is its file.
! is_done || exit 0
(umask 077; mkdir -p "${SNAPSHOT%/*}")
# The only folder that the container can write to.
etcdctl snapshot save /var/lib/etcd/outrigger.db
mv -f /var/lib/etcd/outrigger.db "$SNAPSHOT"
finish

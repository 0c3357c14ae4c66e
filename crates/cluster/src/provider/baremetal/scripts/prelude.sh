# Begins all scripts. $node is where the machine records what was installed on it; $CLUSTER is the uid of the cluster.
set -eu
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
umask 022
state=/var/lib/outrigger
node=$state/node

# Begins the record. Folders that are not there yet are removed again with the cluster, and so is the content of those that
# are empty, and new tables of the packet filter.
begin() {
  [ ! -e "$node/cluster" ] || return 0
  (umask 077; mkdir -p "$node")
  for folder in /etc/kubernetes /var/lib/kubelet /var/lib/etcd /var/lib/cni /etc/cni /opt/cni /var/log/pods /var/log/containers \
    /usr/libexec/kubernetes /etc/containerd /opt/containerd; do
    [ -d "$folder" ] || echo "$folder"
  done >"$node/new"
  for folder in /var/lib/kubelet /var/lib/etcd /var/lib/cni /etc/kubernetes; do
    [ ! -d "$folder" ] || [ -n "$(ls -A "$folder")" ] || echo "$folder"
  done >"$node/empty"
  nft list tables >"$node/tables" 2>/dev/null || :
  echo "$CLUSTER" >"$node/cluster"
}
# Makes a folder, and notes the ones that were not there.
folder() {
  [ ! -d "$1" ] || return 0
  folder "${1%/*}"
  mkdir "$1"
  echo "$1" >>"$node/folders"
}
# Notes a file that is about to be written, and keeps the one that is there.
claim() {
  ! grep -qxF -- "$1" "$node/files" 2>/dev/null || return 0
  if [ -e "$1" ] || [ -L "$1" ]; then
    mkdir -p "$node/before${1%/*}"
    cp -a -- "$1" "$node/before$1"
  fi
  folder "${1%/*}"
  echo "$1" >>"$node/files"
}
# Writes stdin to a file.
put() {
  claim "$1"
  cat >"$1.outrigger"
  mv -f -- "$1.outrigger" "$1"
}
# Whether the step was finished with the same input.
is_done() { [ "$(cat "$node/done/$STEP" 2>/dev/null)" = "$DIGEST" ]; }
finish() { mkdir -p "$node/done" && echo "$DIGEST" >"$node/done/$STEP"; }
kubectl() { command kubectl --kubeconfig /etc/kubernetes/admin.conf --cache-dir "$node/cache" "$@"; }

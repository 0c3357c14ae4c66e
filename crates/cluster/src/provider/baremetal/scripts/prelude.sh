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
# Prints the name of the node with the address $ADDRESS. Returns 1 if there is none, 2 if the API server does not answer.
node_name() {
  nodes=$(kubectl get nodes -o jsonpath='{range .items[*]}{.metadata.name} {.status.addresses[?(@.type=="InternalIP")].address}{"\n"}{end}') || return 2
  found=$(printf '%s\n' "$nodes" | while read -r name address; do [ "$address" != "$ADDRESS" ] || echo "$name"; done)
  [ -n "$found" ] || { echo "no node has the address $ADDRESS" >&2; return 1; }
  echo "$found"
}
# Prints the ids of the containers of a static pod that run. That needs no API server.
containers() {
  running=$(ctr -n k8s.io tasks ls)
  name="labels.\"io.kubernetes.container.name\"==$1"
  for id in $(ctr -n k8s.io containers ls -q "$name,labels.\"io.kubernetes.pod.namespace\"==kube-system"); do
    ! printf '%s\n' "$running" | grep -q "^$id .*RUNNING" || echo "$id"
  done
}
# Waits until an API server is ready: that of the administrator's kubeconfig, or with flags of kubectl another one. What its last
# container says comes last: of a long message, the end is kept.
api_ready() {
  i=0
  until [ "$(kubectl "$@" get --raw /readyz 2>/dev/null)" = ok ]; do
    i=$((i + 1))
    [ $i -lt 240 ] || {
      crictl ps -a 2>/dev/null || :
      journalctl -u kubelet -n 5 --no-pager -o cat
      echo "the API server is not ready: $*"
      id=$(crictl ps -a -q --name kube-apiserver 2>/dev/null | head -n 1)
      [ -z "$id" ] || crictl logs --tail 3 "$id" 2>&1
      exit 1
    }
    sleep 1
  done
}
# Runs etcdctl in the container of etcd. That needs no API server.
etcdctl() {
  for id in $(containers etcd); do
    pki=/etc/kubernetes/pki/etcd
    ctr -n k8s.io tasks exec --exec-id "outrigger-$$" "$id" /usr/local/bin/etcdctl --endpoints https://127.0.0.1:2379 \
      --cacert "$pki/ca.crt" --cert "$pki/healthcheck-client.crt" --key "$pki/healthcheck-client.key" "$@"
    return
  done
  echo "etcd does not run on this machine" >&2
  return 1
}

# Prints the name and the URL of the member of etcd on this machine, whether it is stopped or not.
manifest=$node/restore/manifests/etcd.yaml
[ -e "$manifest" ] || manifest=/etc/kubernetes/manifests/etcd.yaml
name=$(sed -n 's/^ *- --name=//p' "$manifest")
url=$(sed -n 's/^ *- --initial-advertise-peer-urls=//p' "$manifest")
[ -n "$name" ] && [ -n "$url" ] || {
  echo "$manifest has no name and URL of a member" >&2
  exit 1
}
echo "$name=$url"

# Prints the members of etcd, and which of them are healthy.
etcdctl member list || {
  echo "etcd does not answer: it has no quorum, or does not run" >&2
  exit 1
}
etcdctl --command-timeout 5s endpoint health --cluster 2>&1 || :

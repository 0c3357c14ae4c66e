# Removes a member from etcd. $MEMBER is its id.
etcdctl member remove "$MEMBER"

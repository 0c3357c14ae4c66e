# Starts the static pods again that were stopped, and waits until the API server of this machine, $SERVER, is ready.
for file in "$node"/restore/manifests/*.yaml; do
  [ ! -e "$file" ] || mv -f "$file" "/etc/kubernetes/manifests/${file##*/}"
done
systemctl start kubelet
api_ready --server "$SERVER"
rm -rf "$node/restore"

# Prints what a machine needs to join: the token, the key of the certificates if $ROLE is ControlPlane, the CA in base64.
kubeadm token create --ttl 30m --kubeconfig /etc/kubernetes/admin.conf 2>/dev/null
key=-
if [ "$ROLE" = ControlPlane ]; then
  printf '%s\n' "$CONFIG" >"$node/upload.yaml"
  # The last line that it prints is the key: kubeadm does not take one beside a configuration.
  key=$(kubeadm init phase upload-certs --upload-certs --config "$node/upload.yaml")
  key=$(printf '%s\n' "$key" | tail -n 1)
  rm -f "$node/upload.yaml"
fi
echo "$key"
base64 </etc/kubernetes/pki/ca.crt | tr -d '\n'
echo

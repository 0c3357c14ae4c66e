# Prints what a machine needs to join: the token, the key of the certificates if $ROLE is ControlPlane, the CA in base64.
kubeadm token create --ttl 30m --kubeconfig /etc/kubernetes/admin.conf 2>/dev/null
key=-
if [ "$ROLE" = ControlPlane ]; then
  key=$(od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n')
  printf '%s\n' "$CONFIG" >"$node/upload.yaml"
  kubeadm init phase upload-certs --upload-certs --certificate-key "$key" --config "$node/upload.yaml" >/dev/null
  rm -f "$node/upload.yaml"
fi
echo "$key"
base64 </etc/kubernetes/pki/ca.crt | tr -d '\n'
echo

# Prints the certificates of the control plane and of kubelet, and nothing else: some of the files have keys, too.
for file in /etc/kubernetes/pki/*.crt /etc/kubernetes/pki/etcd/*.crt /var/lib/kubelet/pki/kubelet.crt \
  /var/lib/kubelet/pki/kubelet-client-current.pem /var/lib/kubelet/pki/kubelet-server-current.pem; do
  [ -e "$file" ] || continue
  echo "file $file"
  sed -n '/^-----BEGIN CERTIFICATE-----/,/^-----END CERTIFICATE-----/p' "$file" || exit
done
for file in /etc/kubernetes/*.conf; do
  [ -e "$file" ] || continue
  echo "file $file"
  sed -n 's/^ *client-certificate-data: */data /p' "$file" || exit
done
echo certificates end

# Removes from the machine what was installed for the cluster, and brings back what was there before. $RESET has flags of
# `kubeadm reset`.
[ "$(cat "$node/cluster" 2>/dev/null)" = "$CLUSTER" ] || exit 0
# The rules of a table of nft.
rules() {
  while read -r first rest; do
    case $first in table | chain | type | "}" | "") ;; *) echo "$first $rest" ;; esac
  done
}
if command -v kubeadm >/dev/null; then
  # Not quoted: these are flags.
  kubeadm reset --force --cri-socket "$SOCKET" $RESET || [ ! -e /etc/kubernetes/kubelet.conf ]
fi
for unit in kubelet outrigger-routes; do
  [ ! -e "/etc/systemd/system/$unit.service" ] || systemctl disable -q --now "$unit"
done
# The control groups of pods.
systemctl stop kubepods.slice 2>/dev/null || :
for route in "$node"/routes/*; do
  [ -e "$route" ] || continue
  read -r range via <"$route"
  ip route del "$range" via "$via" 2>/dev/null || :
done
if grep -qxF /etc/cni/net.d/10-outrigger.conflist "$node/files" 2>/dev/null; then
  ip link delete cni0 2>/dev/null || :
fi
# The rules of kube-proxy, kubelet and CNI plugins.
for family in iptables ip6tables; do
  command -v "$family-save" >/dev/null || continue
  "$family-save" | grep -v -e KUBE- -e CNI- | "$family-restore" || :
done
if command -v nft >/dev/null; then
  for family in ip ip6; do nft delete table "$family" kube-proxy 2>/dev/null || :; done
  nft list tables | while read -r word family table; do
    ! grep -qxF "$word $family $table" "$node/tables" || continue
    # Somebody else may use a table by now.
    [ -n "$(nft list table "$family" "$table" | rules)" ] || nft delete table "$family" "$table"
  done
fi
if [ -e "$node/images" ] && command -v ctr >/dev/null; then
  # Those of the cluster, and those that kubelet pulled.
  ctr -n k8s.io images ls -q | while read -r reference; do
    grep -qxF -- "$reference" "$node/images" || ctr -n k8s.io images rm --sync "$reference" >/dev/null || :
  done
fi
if [ -e "$node/files" ]; then
  while IFS= read -r file; do
    if [ -e "$node/before$file" ] || [ -L "$node/before$file" ]; then mv -f -- "$node/before$file" "$file"
    else rm -f -- "$file"; fi
  done <"$node/files"
fi
if [ -e "$node/sysctl" ]; then
  while IFS= read -r setting; do sysctl -q -w "$setting" 2>/dev/null || :; done <"$node/sysctl"
fi
systemctl daemon-reload
if [ -e "$node/containerd" ]; then
  { read -r enabled; read -r active; } <"$node/containerd" || :
  [ "${active:-}" = active ] && systemctl restart containerd || systemctl stop containerd 2>/dev/null || :
  [ "${enabled:-}" = enabled ] || systemctl disable -q containerd 2>/dev/null || :
fi
# Folders that kubeadm, kubelet and the runtime made. A mount point stays.
while IFS= read -r folder; do rm -rf -- "$folder"; done <"$node/new"
while IFS= read -r folder; do find "$folder" -mindepth 1 -xdev -delete || :; done <"$node/empty"
if [ -e "$node/folders" ]; then
  sort -r "$node/folders" | while IFS= read -r folder; do rmdir -- "$folder" 2>/dev/null || :; done
fi
rm -rf -- "$node" "$state/images" "$state/packages"
# Copies remember the folders that they made.
if [ -e "$state/folders" ]; then
  while IFS= read -r folder; do [ ! -d "$folder" ] || echo "$folder"; done <"$state/folders" >"$state/folders.new"
  mv "$state/folders.new" "$state/folders"
  [ -s "$state/folders" ] || rm -f "$state/folders"
fi

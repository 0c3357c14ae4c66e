# Prints what preflight checks need to know, as "key value" lines.
say() { printf '%s %s\n' "$1" "$2"; }
has() { command -v "$1" >/dev/null 2>&1; }
product=; { read -r product </sys/class/dmi/id/product_uuid; } 2>/dev/null || :
say product-uuid "$product"
say time "$(date +%s)"
swap=0; while read -r key value unit; do [ "$key" = SwapTotal: ] && swap=$value; done </proc/meminfo
say swap-kib "$swap"
folder=/var/lib; [ -d /var/lib/containerd ] && folder=/var/lib/containerd
df -Pk "$folder" 2>/dev/null | { read -r header; read -r device total used free rest; say free-kib "$free"; }
# Sockets that listen: state 0A. The port is hexadecimal.
for table in /proc/net/tcp /proc/net/tcp6; do
  while read -r number local remote state rest; do
    [ "$state" = 0A ] && say port "${local##*:}"
  done <"$table" 2>/dev/null || :
done
has ip && ip -o address show scope global 2>/dev/null | while read -r number device family address rest; do
  case $device in cni0 | docker0) ;; *) say address "$address" ;; esac
done
has ip && ip route show 2>/dev/null | while read -r destination rest; do
  case $rest in *cni0*) ;; *) [ "$destination" = default ] || say route "$destination" ;; esac
done
for program in ip modprobe mount nsenter sysctl tar sha256sum iptables containerd runc; do has "$program" && say program "$program"; done
for folder in /opt/cni/bin /usr/lib/cni /usr/libexec/cni; do [ -x "$folder/bridge" ] && say cni "$folder"; done
[ -d /run/systemd/system ] && say systemd yes
[ -e /etc/kubernetes/kubelet.conf ] || [ -e /etc/kubernetes/admin.conf ] && say kubernetes yes
[ -e "$node/cluster" ] && say cluster "$(cat "$node/cluster")"
say facts end

# Lets the machine forward packets of pods. Remembers the values from before.
begin
keys="net.ipv4.ip_forward net.bridge.bridge-nf-call-iptables net.bridge.bridge-nf-call-ip6tables"
[ -e "$node/sysctl" ] || {
  for key in $keys; do echo "$key=$(sysctl -n "$key")"; done >"$node/sysctl.new"
  mv "$node/sysctl.new" "$node/sysctl"
}
for key in $keys; do echo "$key = 1"; done | put /etc/sysctl.d/99-outrigger.conf
for key in $keys; do sysctl -q -w "$key=1"; done

# Connects the pods of this machine to a bridge, and makes routes to those of other machines, now and at each boot. $RANGE
# are the addresses of its pods, $ROUTES has lines of range and address of the other machines.
begin
put /etc/cni/net.d/10-outrigger.conflist <<END
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true, "ipam": {"type": "host-local",
   "ranges": [[{"subnet": "$RANGE"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
END
mkdir -p "$node/routes"
put /etc/systemd/system/outrigger-routes.service <<'END'
[Unit]
Description=Routes to the pods of other machines
Wants=network-online.target
After=network-online.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'cat /var/lib/outrigger/node/routes/* | while read -r range via; do ip route replace "$range" via "$via"; done'
[Install]
WantedBy=multi-user.target
END
printf '%s\n' "$ROUTES" | while read -r range via; do
  [ -n "$range" ] || continue
  echo "$range $via" >"$node/routes/$via"
  ip route replace "$range" via "$via"
done
systemctl daemon-reload
systemctl enable -q outrigger-routes

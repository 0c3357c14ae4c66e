# Installs and configures containerd. $PACKAGE is its archive, if the provider folder has one; $PAUSE the image of sandboxes;
# $CNI the folder of the CNI plugins that the provider brings.
begin
[ -e "$node/containerd" ] || {
  { systemctl is-enabled containerd; systemctl is-active containerd; } >"$node/containerd.new" 2>/dev/null || :
  mv "$node/containerd.new" "$node/containerd"
}
if [ -n "$PACKAGE" ]; then
  tar -tf "$PACKAGE" | while IFS= read -r file; do
    case $file in */) ;; *) claim "/usr/local/${file#./}" ;; esac
  done
  tar -xof "$PACKAGE" -C /usr/local
  put /etc/systemd/system/containerd.service <<END
[Unit]
Description=containerd container runtime
After=network.target local-fs.target
[Service]
ExecStart=/usr/local/bin/containerd
Type=notify
Delegate=yes
KillMode=process
Restart=always
RestartSec=5
LimitNOFILE=infinity
OOMScoreAdjust=-999
[Install]
WantedBy=multi-user.target
END
fi
for folder in "$CNI" /opt/cni/bin /usr/lib/cni /usr/libexec/cni; do
  [ -n "$folder" ] || continue
  [ "$folder" != "$CNI" ] && [ ! -x "$folder/bridge" ] || break
done
put /etc/containerd/config.toml <<END
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$PAUSE"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$folder"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "/etc/containerd/certs.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
END
echo "runtime-endpoint: $SOCKET" | put /etc/crictl.yaml

# Starts containerd with its configuration, and waits until it answers.
begin
systemctl daemon-reload
systemctl enable -q containerd
systemctl restart containerd
i=0
until ctr --connect-timeout 1s version >/dev/null 2>&1; do
  i=$((i + 1))
  [ $i -lt 60 ] || { echo "containerd does not answer"; systemctl status --no-pager containerd; exit 1; }
  sleep 0.5
done

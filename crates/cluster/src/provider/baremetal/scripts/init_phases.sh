# Runs phases of `kubeadm init`. $PHASES has one in each line, $CONFIG is the configuration.
! is_done || exit 0
begin
(umask 077; printf %s "$CONFIG" >"$node/kubeadm.yaml")
printf '%s\n' "$PHASES" | while read -r phase; do
  # Not quoted: a phase may have flags.
  kubeadm init phase $phase --config "$node/kubeadm.yaml" </dev/null
done
finish

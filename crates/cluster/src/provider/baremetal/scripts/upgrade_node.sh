# Runs `kubeadm upgrade`. $COMMAND has its subcommand and flags, $CONFIG is the configuration.
! is_done || exit 0
printf %s "$CONFIG" >"$node/upgrade.yaml"
# Not quoted: these are words.
kubeadm upgrade $COMMAND --config "$node/upgrade.yaml"
finish

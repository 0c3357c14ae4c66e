# Loads the modules that containers and their network need, now and at each boot.
begin
put /etc/modules-load.d/outrigger.conf <<END
overlay
br_netfilter
END
for module in overlay br_netfilter; do modprobe "$module"; done

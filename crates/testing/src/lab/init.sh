# The first process of a lab: when it exits, the kernel kills everything in the lab, and mounts and network are gone.
set -e
# The process id outside of the lab, which this /proc still belongs to.
read -r pid _ </proc/self/stat
mount -t proc proc /proc
ip link set lo up
ip link add br0 type bridge
ip address add 10.89.0.1/24 dev br0
ip link set br0 up
echo "$pid" >pid.new
mv pid.new pid
while read -r _; do :; done

# Starts a machine; its disk stays if it has one. Runs in the namespaces of the lab.
# Arguments: the lab's directory, the lab's id, name, address, root file system, size of the disk.
set -eu
cd "$1"
id=$2 name=$3 address=$4 lower=$5 size=$6
mkdir -p "machines/$name"
mountpoint -q "machines/$name" || mount -t tmpfs -o "size=$size,mode=755" "$name" "machines/$name"
cat /proc/sys/kernel/random/uuid >"machines/$name/boot_id"
for hierarchy in cpu cpuacct cpuset memory devices freezer blkio pids systemd unified; do
  [ -d "/sys/fs/cgroup/$hierarchy" ] || continue
  for group in "$id" "$id/$name"; do
    path=/sys/fs/cgroup/$hierarchy/$group
    mkdir -p "$path"
    [ "$hierarchy" = cpuset ] || continue
    # New groups of this hierarchy have neither.
    for resource in cpus mems; do cat "${path%/*}/cpuset.$resource" >"$path/cpuset.$resource"; done
  done
done
setsid sh -c '
  echo $$ >"$1.pid"
  for group in /sys/fs/cgroup/*/"$2/$1"; do echo $$ >"$group/cgroup.procs"; done
  exec unshare --cgroup --mount --net --pid --uts --ipc --fork --kill-child sh ./boot.sh "$1" "$3" "$4"
' sh "$name" "$id" "$address" "$lower" </dev/null >>"$name.log" 2>&1 &

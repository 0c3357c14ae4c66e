# The boot loader of a machine: makes its file system, devices and network, and becomes systemd. It is the first process of
# the machine's namespaces; /proc is still that of the lab. Arguments: name, address, root file system.
set -eu
name=$1 address=$2 lower=$3
disk=$PWD/machines/$name
root=$disk/root
keys=$PWD/user_key.pub

in_lab() { nsenter --net=/proc/1/ns/net "$@"; }
hostname "$name"
ip link set lo up
in_lab ip link add "v-$name" type veth peer name eth0 netns $$
in_lab ip link set "v-$name" master br0 up
ip address add "$address/24" dev eth0
ip link set eth0 up
ip route add default via 10.89.0.1

mount --make-rprivate /
mkdir -p "$disk/upper" "$disk/work" "$root" "$disk/sysctl"
mount -t overlay -o "lowerdir=$lower,upperdir=$disk/upper,workdir=$disk/work" overlay "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"

# Only the settings of the network belong to the machine. kubelet requires values of three others.
sys=$root/proc/sys
mount --bind "$sys" "$sys"
mount --bind "$sys/net" "$sys/net"
mount -o remount,ro,bind "$sys"
setting() {
  echo "$2" >"$disk/sysctl/${1##*/}"
  mount --bind "$disk/sysctl/${1##*/}" "$sys/$1"
}
setting kernel/panic 10
setting kernel/panic_on_oops 1
setting vm/overcommit_memory 1
mount --bind "$disk/boot_id" "$sys/kernel/random/boot_id"

mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
for hierarchy in cpu cpuacct cpuset memory devices freezer blkio pids; do
  mkdir "$root/sys/fs/cgroup/$hierarchy"
  mount -t cgroup -o "$hierarchy" cgroup "$root/sys/fs/cgroup/$hierarchy"
done
mkdir "$root/sys/fs/cgroup/systemd"
mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"

mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm" "$root/dev/mqueue"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t mqueue mqueue "$root/dev/mqueue"
device() { mknod -m 666 "$root/dev/$1" c "$2" "$3"; }
device null 1 3
device zero 1 5
device full 1 7
device random 1 8
device urandom 1 9
device tty 5 0
device kmsg 1 11
device fuse 10 229
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"
ln -s fd/1 "$root/dev/stdout"
ln -s fd/2 "$root/dev/stderr"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"

# Overlays of containers cannot lie on an overlay.
for folder in containerd kubelet etcd; do
  mkdir -p "$disk/var/$folder" "$root/var/lib/$folder"
  mount --bind "$disk/var/$folder" "$root/var/lib/$folder"
done

if [ ! -e "$disk/installed" ]; then
  echo "$name" >"$root/etc/hostname"
  printf '127.0.0.1 localhost\n%s %s\n' "$address" "$name" >"$root/etc/hosts"
  echo 'nameserver 10.89.0.1' >"$root/etc/resolv.conf"
  tr -d - </proc/sys/kernel/random/uuid >"$root/etc/machine-id"
  chroot "$root" ssh-keygen -q -t ed25519 -N '' -C "$name" -f /etc/ssh/ssh_host_ed25519_key
  mkdir -p -m 700 "$root/root/.ssh"
  cp "$keys" "$root/root/.ssh/authorized_keys"
  touch "$disk/installed"
fi

cd "$root"
mkdir -p old
pivot_root . old
umount -l /old
rmdir /old
mount --make-rshared /
exec env -i container=lab PATH=/usr/sbin:/usr/bin:/sbin:/bin /sbin/init

# Starts a stand-in machine: the first process of a new PID, mount and host name namespace. Arguments: the root folder,
# the host name, and the command that is the machine's init.
set -e
root=$1; hostname=$2; shift 2
mount --make-rprivate / 2>/dev/null || :
mount --bind "$root" "$root"
cd "$root"
while IFS= read -r d; do
  mount --bind "/$d" "$d"
  mount -o remount,bind,ro "$d" 2>/dev/null || :
done <etc/outrigger-shared
if [ -s opt/sshd/.source ] && [ -d usr/libexec/sudo ]; then
  read -r s <opt/sshd/.source; mount --bind "$s/usr/libexec/sudo" usr/libexec/sudo
fi
mount -t proc proc proc
mount --rbind /dev dev
mount --bind etc/boot_id proc/sys/kernel/random/boot_id
for m in opt/*/; do [ -s "$m.source" ] && { read -r s <"$m.source"; mount --bind "$s" "$m"; }; done
hostname "$hostname" 2>/dev/null || echo "$hostname" >/proc/sys/kernel/hostname 2>/dev/null || :
# The sudo of the host would look for rules in /etc/sudoers, which the machine does not have. Links lead to what is inside.
chroot . /bin/sh -c 'for s in /usr/bin/sudo /usr/sbin/sudo /bin/sudo /sbin/sudo; do
  [ ! -x "$s" ] || mount --bind /dev/null "$s"
done'
[ -z "$OUTRIGGER_MOUNTS" ] || eval "$OUTRIGGER_MOUNTS"
unset OUTRIGGER_MOUNTS
exec chroot . "$@"

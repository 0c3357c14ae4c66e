# Ends all processes of a machine at once, and waits until they are gone. Runs in the namespaces of the lab.
# Arguments: the lab's directory, the lab's id, name.
set -u
cd "$1"
kill -9 "$(cat "$3.pid")" 2>/dev/null
tries=0
for group in /sys/fs/cgroup/*/"$2/$3"; do
  # A group can be removed as soon as no process is in it. The next boot needs empty ones.
  until find "$group" -depth -type d -delete 2>/dev/null; do
    tries=$((tries + 1))
    [ $tries -lt 3000 ] || { echo "processes of $3 are left in $group" >&2; exit 1; }
    sleep 0.02
  done
done
ip link delete "v-$3" 2>/dev/null || :

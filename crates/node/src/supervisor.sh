# Runs on a machine, detached from the connection, in the folder of an attempt. Claims the attempt, ends the other
# attempts at the task, runs the script in a process group of its own with bounded output, and records how it ended.
umask 077
id=$1 script=$2 seconds=$3 verb=$4
start_of() { { IFS= read -r stat <"/proc/$1/stat"; } 2>/dev/null && stat=${stat##*) } && set -- $stat && began=${20}; }
is_alive() { start_of "$1" && [ "$began" = "$2" ]; }
has_ended() { { read -r o rest <"$1/exit"; } 2>/dev/null && [ "$o" != running ]; }
has_flock() { command -v flock >/dev/null 2>&1; }
# Overwrites in place: a full disk cannot prevent it.
record() { printf '%-15s\n' "$1" 1<>exit; }

# The claim is made once, by whoever is first. The lock lasts as long as this process.
start_of $$ && read -r boot </proc/sys/kernel/random/boot_id || exit 1
if has_flock; then
  exec 9>>lock || exit 1
  # Another one may have the lock and be about to write its claim. If it is killed before, this one takes over.
  if [ "$verb" = cancel ]; then flock -n 9 || { sleep 1; exit 0; }; else flock 9 || exit 1; fi
  [ -s claim ] && exit 0
  echo "running        " >exit && echo "$$ $began $boot" >claim || exit 1
else
  echo "$$ $began $boot" >"claim.$$" || exit 1
  ln "claim.$$" claim 2>/dev/null || exit 0
  echo "running        " >exit
fi
if [ "$verb" = cancel ]; then record "ended 0"; exit 0; fi

outcome=exited child=
end() {
  [ "$outcome" = exited ] || return
  outcome=$1
  [ -z "$child" ] || stop
}
stop() {
  kill -s TERM -- "-$child" 2>/dev/null
  (exec 9>&-; sleep 5; kill -s KILL -- "-$child") 2>/dev/null &
}
# Sends a signal to the supervisor after some seconds, unless it is terminated before, perhaps before it sleeps.
after() {
  exec 9>&-
  sleeper=
  trap '[ -z "$sleeper" ] || kill "$sleeper"; exit' TERM
  sleep "$1" &
  sleeper=$!
  wait "$sleeper" && kill -s "$2" $$
}
trap 'end ended' TERM
trap 'end timeout' USR1
trap : USR2

# Ends the other attempts at this task, and waits until they are gone.
for c in ../*/claim; do
  d=${c%/claim}
  [ "$d" != "../$id" ] && [ -s "$c" ] && ! has_ended "$d" || continue
  read -r pid since booted <"$c"
  [ "$booted" = "$boot" ] || continue
  if is_alive "$pid" "$since"; then
    kill -s TERM "$pid" 2>/dev/null
    if has_flock; then { flock -s 8; } 8<"$d/lock"; else while is_alive "$pid" "$since"; do sleep 1; done; fi
  fi
  has_ended "$d" && continue
  { read -r group since <"$d/group"; } 2>/dev/null && is_alive "$group" "$since" &&
    kill -s KILL -- "-$group" 2>/dev/null
done

# Keeps the first and the last parts of the output.
collect() {
  exec 9>&-
  n=0 dropped=0
  while dd bs=16384 count=16 2>records >>"out.$n"; do
    # dd reports "full+partial records in". Fewer than asked for: the end of the output.
    while read -r r rest; do case $r in [0-9]*+[0-9]*) break ;; *) r=0+0 ;; esac; done <records
    [ $((${r%+*} + ${r#*+})) -lt 16 ] && return
    [ "$(wc -c <"out.$n")" -lt 262144 ] && continue
    if [ "$n" -gt 1 ]; then
      dropped=$((dropped + $(wc -c <"out.$((n - 1))")))
      rm -f "out.$((n - 1))"
      echo $dropped >dropped
    fi
    n=$((n + 1))
    echo $n >last
  done
  cat >/dev/null
}
mkfifo fifo && [ "$outcome" = exited ] || { record "$outcome 126"; exit 1; }
collect <fifo &
collector=$!
setsid /bin/sh "./$script" >fifo 2>&1 9>&- </dev/null &
child=$!
start_of $child && echo "$child $began" >group
[ "$outcome" = exited ] || stop
after "$seconds" USR1 &
timer=$!
while :; do
  wait $child
  code=$?
  kill -s 0 $child 2>/dev/null || break
done
# A process that the script left behind may keep the output open. It is not waited for, and its output is still read.
after 1 USR2 &
drain=$!
wait $collector
kill $drain $timer 2>/dev/null
record "$outcome $code"
(
  exec 9>&-
  rm -f fifo records script.* supervisor.* claim.* error.*
  # Keeps the latest attempts at the task, and the tasks of the last month.
  set -- ../*/
  if [ $# -gt 16 ]; then
    ls -1td ../*/ | tail -n +17 | while IFS= read -r d; do has_ended "$d" && rm -rf "$d"; done
  fi
  set -- ../../*/
  [ $# -gt 64 ] && find ../.. -mindepth 1 -maxdepth 1 -type d -mtime +30 -exec rm -rf {} +
) &

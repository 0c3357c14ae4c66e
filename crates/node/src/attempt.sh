# Runs on a machine, in any POSIX shell. Does the work of an attempt at most once: starts it, or attaches to it. Arguments:
# the state folder, the task, the id, the timeout in seconds, the verb (run or cancel), the words that start the script
# in a session of its own, the script.
#
# Nothing on the machine waits for the timeout. An attempt that is overdue is ended by whoever attaches to it, and before
# any other attempt runs.
# Prints an empty line when the script has ended, if this shell started it, then "outcome code dropped" and the captured
# output, or "state" and a message, with details on stderr.
#
# The record of an attempt is one file. Whoever creates it has claimed the attempt. Its lines are the outcome, which is
# overwritten, the supervisor, and the session of the script. The other files of the attempt have the same name and
# an extension, also those that the script makes next to itself ($0).
attempt() {
  umask 077
  state=${1:-${HOME:-/}/.outrigger}/attempts task=$2 f=$2.$3 seconds=$4 verb=$5 starter=$6 script=$7
  any=????????????????????????????????
  [ -d "$state" ] || mkdir -p "$state" || { fail "cannot create $state"; return; }
  cd "$state" && [ -O . ] || { fail "$state belongs to another user"; return; }
  read -r now </proc/sys/kernel/random/boot_id
  if [ ! -f "$f" ]; then
    printf '%s\n' "$script" >"$f.script.$$" || { fail "cannot write to $state"; return; }
    (supervise "$f.script.$$") 9>&1 </dev/null >/dev/null &
    wait $!
    [ -f "$f" ] || { fail "cannot write to $state"; return; }
  fi
  # Whoever claimed it is about to write the record, or was killed before.
  [ -s "$f" ] || sleep 1
  # Another connection started it.
  while ! has_ended "$f" && [ "$boot" = "$now" ] && is_alive "$pid" "$start"; do
    if [ "$verb" = cancel ]; then kill -s TERM "$pid" 2>/dev/null
    elif is_overdue; then kill -s USR1 "$pid" 2>/dev/null
    elif has_left_output_open; then kill -s USR2 "$pid" 2>/dev/null
    fi
    sleep 1
  done
  if ! has_ended "$f"; then
    # The supervisor was killed, or the machine rebooted.
    outcome=lost code=0
    kill_session "$f"
  fi
  dropped=0; { read -r dropped <"$f.dropped"; } 2>/dev/null
  last=0; { read -r last <"$f.last"; } 2>/dev/null
  echo "$outcome $code $dropped"
  [ -s "$f.out.0" ] || return 0
  set -- "$f.out.0"
  [ "$last" -gt 1 ] && set -- "$@" "$f.out.$((last - 1))"
  [ "$last" -gt 0 ] && set -- "$@" "$f.out.$last"
  cat "$@"
}
fail() { echo "state $*"; }
start_of() { { IFS= read -r stat <"/proc/$1/stat"; } 2>/dev/null && start_in_stat; }
start_in_stat() { stat=${stat##*) } && set -- $stat && began=${20}; }
# Compares the time since the supervisor began, in ticks since boot, with the timeout.
is_overdue() { [ -n "$limit" ] && read -r up rest </proc/uptime && [ $((${up%.*} - start / 100)) -ge "$limit" ]; }
is_alive() { [ -n "$1" ] && start_of "$1" && [ "$began" = "$2" ]; }
# Reads the record of an attempt.
has_ended() {
  outcome=running pid= start= boot= limit=
  { read -r outcome code && read -r pid start boot limit; } <"$1" && [ "$outcome" != running ]
}
# Whether the script has ended, but not its attempt: a process that it left behind keeps its output open.
has_left_output_open() {
  { read -r group && read -r group && read -r group since; } <"$f" && [ -n "$since" ] && ! is_alive "$group" "$since"
}
kill_session() {
  [ "$boot" = "$now" ] && { read -r group && read -r group && read -r group since; } <"$1" && is_alive "$group" "$since" &&
    signal_session KILL "$group"
}
# Signals a session: programs such as timeout make process groups of their own.
signal_session() {
  for p in /proc/[0-9]*; do
    { IFS= read -r stat <"$p/stat"; } 2>/dev/null || continue
    set -- "$1" "$2" ${stat##*) }
    [ "$6" != "$2" ] || kill -s "$1" "${p#/proc/}" 2>/dev/null
  done
}

# Runs in a process of its own, which does not depend on the connection. Claims the attempt, ends the other attempts at
# the task, runs the script in a session of its own with bounded output, and records how it ended.
supervise() {
  script=$1
  { IFS= read -r stat; } </proc/self/stat && me=${stat%% *} && start_in_stat && my_start=$began || exit 1
  set -C
  true >"$f" || { set +C; true >"$script"; exit 1; }
  set +C
  printf '%-15s\n%s\n' running "$me $began $now $seconds" 1<>"$f" || { rm -f "$f" "$script"; exit 1; }
  exec 2>/dev/null
  [ "$verb" = cancel ] && { record "ended 0"; exit; }
  ending=exited child=
  trap 'end ended' TERM
  trap 'end timeout' USR1
  trap : USR2 PIPE
  end_others
  open_pipe && [ "$ending" = exited ] || { record "$ending 126"; exit; }
  collect <&7 9>&- &
  collector=$!
  $starter "$PWD/$script" >&8 2>&1 7<&- 8>&- 9>&- </dev/null &
  child=$!
  exec 7<&- 8>&-
  start_of $child && echo "$child $began" >>"$f"
  [ "$ending" = exited ] || stop
  while :; do
    wait $child
    result=$?
    kill -s 0 $child || break
  done
  [ "$ending" = exited ] || signal_session KILL $child
  drain
  record "$ending $result"
  true >"$script"
  prune
}
# Becomes a command in a session of its own. Some C libraries do not run a script without a shebang: a shell does.
lead_session() {
  { IFS= read -r line <"$1"; } 2>/dev/null
  case $line in '#!'*) exec setsid "$@" ;; *) exec setsid /bin/sh -c '"$0" "$@"' "$@" ;; esac
}
# Overwrites in place: a full disk cannot prevent it.
record() { printf '%-15s\n' "$1" 1<>"$f"; }
end() {
  [ "$ending" = exited ] || return
  ending=$1
  [ -z "$child" ] || stop
}
stop() {
  signal_session TERM $child
  (sleep 5; signal_session KILL $child) &
}
# Ends the other attempts at the task, and those at any task that are overdue, and waits until they are gone. The script of
# an attempt that has ended is empty.
end_others() {
  for other in *.script.*; do
    [ -s "$other" ] || continue
    other=${other%%.script.*}
    [ "$other" = "$f" ] && continue
    has_ended "$other" || case $other in "$task".*) ;; *) is_overdue ;; esac || continue
    while ! has_ended "$other" && [ "$boot" = "$now" ] && is_alive "$pid" "$start"; do
      kill -s TERM "$pid"
      sleep 1
    done
    has_ended "$other" || kill_session "$other"
  done
}
# A pipe from descriptor 8 to 7: that of a here-document, or a named one where the shell uses files for those.
open_pipe() {
  exec 7<<E
E
  if [ -p /proc/self/fd/7 ]; then exec 8>/proc/self/fd/7
  else mkfifo "$f.fifo" && exec 6<>"$f.fifo" 7<"$f.fifo" 8>"$f.fifo" 6<&-
  fi
}
# Keeps the first and the last parts of the output.
collect() {
  exec 8>&-
  n=0 dropped=0
  while r=$(dd bs=16384 count=16 2>&1 >>"$f.out.$n"); do
    # dd reports "full+partial records in" first. Fewer than asked for: the end of the output.
    r=${r%% *}
    case $r in [0-9]*+[0-9]*) [ $((${r%+*} + ${r#*+})) -lt 16 ] && return ;; esac
    [ "$(wc -c <"$f.out.$n")" -lt 262144 ] && continue
    if [ "$n" -gt 1 ]; then
      dropped=$((dropped + $(wc -c <"$f.out.$((n - 1))")))
      rm -f "$f.out.$((n - 1))"
      echo $dropped >"$f.dropped"
    fi
    n=$((n + 1))
    echo $n >"$f.last"
  done
  cat >/dev/null
}
# A process that the script left behind may keep the output open. Whoever waits for the attempt ends this, by attaching to it.
drain() {
  echo >&9
  wait $collector
}
# Keeps the latest attempts at the task, and what is less than a month old.
prune() {
  set -- "$task".$any
  [ $# -le 16 ] || ls -1t "$@" | tail -n +17 | while IFS= read -r c; do has_ended "$c" && rm -f "$c" "$c".*; done
  set -- $any.$any
  [ $# -le 512 ] || find . -type f -mtime +30 -exec rm -f {} +
}

# Runs on a machine, in any POSIX shell. Does the work of an attempt at most once: starts it, or attaches to it. Arguments:
# the state folder, the task, the id, the timeout in seconds, the verb (run or cancel), the words that start the script
# in a session of its own, the script.
#
# Nothing on the machine waits for the timeout. An attempt that is overdue is ended by whoever attaches to it, and before
# any other attempt runs.
# Prints "=" when the script has ended, if this shell started it, then "=outcome code dropped timeout" and the captured
# output, or "=state" and a message. Each of these lines begins with $m, which nothing else does that is printed.
#
# The record of an attempt is one file. Whoever creates it has claimed the attempt. Its lines are the outcome, which is
# overwritten, the supervisor, and the session of the script. The other files of the attempt have the same name and
# an extension, also those that the script makes next to itself ($0).
attempt() {
  umask 077
  state=${1:-${HOME:-/}/.outrigger}/attempts task=$2 f=$2.$3 seconds=$4 verb=$5 starter=$6 script=$7
  any=????????????????????????????????
  [ -d "$state" ] || why=$(mkdir -p "$state" 2>&1) || { fail "cannot create $state: ${why##*: }"; return; }
  cd "$state" 2>/dev/null || { fail "cannot enter $state"; return; }
  [ -O . ] || { fail "$state belongs to another user"; return; }
  read -r now </proc/sys/kernel/random/boot_id
  if [ ! -f "$f" ]; then
    { printf '%s\n' "$script" >"$f.script.$$"; } 2>/dev/null || { rm -f "$f.script.$$"; cannot_write; return; }
    (supervise "$f.script.$$") 9>&1 </dev/null >/dev/null &
    wait $!
    [ -f "$f" ] || { cannot_write; return; }
  fi
  # Whoever claimed it is about to write the record, or was killed before.
  [ -s "$f" ] || sleep 1
  # Another connection started it.
  left=
  while ! has_ended "$f" && [ "$boot" = "$now" ] && is_alive "$pid" "$start"; do
    if [ "$verb" = cancel ]; then signal_supervisor TERM
    elif has_left_output_open; then
      # It is still read, unless that takes this long.
      [ -n "$left" ] && signal_supervisor USR2 || { left=yes; sleep 0.3 2>/dev/null && continue; }
    elif is_overdue; then signal_supervisor USR1
    fi
    sleep 1
  done
  if ! has_ended "$f"; then
    # The supervisor was killed, or the machine rebooted.
    lose "$f" || { fail "what the command left running does not end"; return; }
    outcome=lost code=0
  fi
  case $outcome in
    blocked) fail "what an earlier attempt left running does not end"; return ;;
    unwritable) cannot_write; return ;;
  esac
  dropped=0; { read -r dropped <"$f.dropped"; } 2>/dev/null
  last=0; { read -r last <"$f.last"; } 2>/dev/null
  echo "$m=$outcome $code $dropped $limit"
  [ -s "$f.out.0" ] || return 0
  set -- "$f.out.0"
  [ "$last" -gt 1 ] && set -- "$@" "$f.out.$((last - 1))"
  [ "$last" -gt 0 ] && set -- "$@" "$f.out.$last"
  cat "$@"
}
fail() { echo "$m=state $*"; }
# Shells do not tell why a write fails. The first line of dd does.
cannot_write() {
  why=$(dd if=/dev/zero of="probe.$$" bs=65536 count=1 2>&1) && why=
  rm -f "probe.$$"
  why=${why%%"
"*}
  fail "cannot write to $state${why:+: ${why##*: }}"
}
start_of() { { IFS= read -r stat <"/proc/$1/stat"; } 2>/dev/null && start_in_stat; }
start_in_stat() { stat=${stat##*) } && set -- $stat && condition=$1 parent=$2 session=$4 began=${20}; }
# Compares the time since the supervisor began, in ticks since boot, with the timeout.
is_overdue() { [ -n "$limit" ] && read -r up rest </proc/uptime && [ $((${up%.*} - start / 100)) -ge "$limit" ]; }
is_alive() { [ -n "$1" ] && start_of "$1" && [ "$began" = "$2" ] && ! is_zombie; }
# A process that has ended stays until its parent notices, which may have been stopped.
is_zombie() { case $condition in [ZX]) ;; *) return 1 ;; esac; }
# Whoever stopped the supervisor does not keep it from acting.
signal_supervisor() { kill -s "$1" "$pid" 2>/dev/null; kill -s CONT "$pid" 2>/dev/null; }
# Reads the record of an attempt.
has_ended() {
  outcome=running pid= start= boot= limit=
  { read -r outcome code && read -r pid start boot limit; } <"$1" && [ "$outcome" != running ]
}
# Whether the script has ended, but not its attempt: a process that it left behind keeps its output open.
has_left_output_open() {
  { read -r group && read -r group && read -r group since; } <"$f" && [ -n "$since" ] && ! is_alive "$group" "$since"
}
# Ends what a supervisor that was killed left running, and records the loss. Fails if something does not end.
lose() {
  [ "$boot" != "$now" ] || [ -z "$pid" ] || end_remains "$1" || return
  [ -z "$pid" ] || {
    printf '%-15s\n' "lost 0" 1<>"$1"
    for p in "$1".script.*; do true >"$p"; done
  } 2>/dev/null
  :
}
# Kills the processes of an attempt whose record was read, and waits until they are gone. The session is known to be that of
# the attempt if its leader still runs, if $2 says so, or if it has a process with the name of the attempt.
end_remains() {
  group= since= is_own=$2
  { read -r group && read -r group && read -r group since; } <"$1"
  [ -z "$since" ] || ! is_alive "$group" "$since" || is_own=yes
  ancestors= p=$$
  while start_of "$p"; do ancestors="$ancestors $p " p=$parent; done
  for try in 1 2 3 4 5 6 7 8 9 10; do
    find_remains "$1"
    [ -n "$remains" ] || return 0
    kill -s KILL $remains 2>/dev/null
    sleep 0.1 2>/dev/null || sleep 1
  done
  return 1
}
# The processes of its session, and those with its name in their environment, which may have made sessions of their own. Not
# SSH servers that it started: this shell may depend on them.
find_remains() {
  remains=
  for p in /proc/[0-9]*; do
    { IFS= read -r stat <"$p/stat"; } 2>/dev/null || continue
    case $stat in *'(sshd'*|*'(dropbear'*) continue ;; esac
    start_in_stat && ! is_zombie && [ "$began" -ge "$start" ] || continue
    if [ "$session" = "$group" ] && [ -n "$is_own" ]; then :
    elif ! is_named "$1"; then continue
    elif [ "$session" = "$group" ]; then is_own=yes
    else case $ancestors in *" ${p#/proc/} "*) continue ;; esac
    fi
    remains="$remains ${p#/proc/}"
  done
}
is_named() { tr '\0' '\n' <"$p/environ" 2>/dev/null | grep -qxF "OUTRIGGER_RUN=$state/$1"; }
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
  { IFS= read -r stat; } </proc/self/stat && me=${stat%% *} && start_in_stat || exit 1
  set -C
  exec 2>/dev/null
  true >"$f" || { set +C; true >"$script"; exit 1; }
  set +C
  printf '%-15s\n%s\n' running "$me $began $now $seconds" 1<>"$f" || { rm -f "$f" "$script"; exit 1; }
  [ "$verb" = cancel ] && { record "ended 0"; exit; }
  ending=exited child=
  trap 'end ended' TERM
  trap 'end timeout' USR1
  trap : USR2 PIPE
  end_others
  [ "$ending" != timeout ] || ending=blocked
  [ "$ending" != exited ] || open_pipe || ending=unwritable
  [ "$ending" = exited ] || { record "$ending 126"; exit; }
  collect <&7 9>&- &
  collector=$!
  export OUTRIGGER_RUN="$state/$f"
  # Descriptors of the SSH server and of the files that shells read at their start are closed too.
  $starter "$PWD/$script" >&8 2>&1 3<&- 4<&- 5<&- 6<&- 7<&- 8>&- 9>&- </dev/null &
  child=$!
  unset OUTRIGGER_RUN
  exec 7<&- 8>&-
  start_of $child && echo "$child $began" >>"$f"
  [ "$ending" = exited ] || stop
  while :; do
    wait $child
    result=$?
    kill -s 0 $child || break
  done
  # Some shells notice the end of a child while a signal interrupts the waiting: then that was the signal.
  [ $result -le 128 ] || { wait $child; again=$?; [ $again = 127 ] || result=$again; }
  # A signal may have killed the shell that waits for the command, and not the command.
  if [ "$ending" != exited ] || [ $result -gt 128 ] && [ $result -le 192 ]; then
    has_ended "$f"
    until end_remains "$f" yes; do :; done
  fi
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
  # It may have ended while this shell was stopped.
  [ -z "$child" ] || { start_of $child && ! is_zombie; } || return
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
      [ "$ending" = exited ] || return
      signal_supervisor TERM
      sleep 1
    done
    has_ended "$other" || lose "$other" || ending=blocked
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
  echo "$m=" >&9
  wait $collector
}
# Keeps the latest attempts at the task, and what is less than a month old.
prune() {
  set -- "$task".$any
  [ $# -le 16 ] || ls -1t "$@" | tail -n +17 | while IFS= read -r c; do has_ended "$c" && rm -f "$c" "$c".*; done
  set -- $any.$any
  [ $# -le 512 ] || find . -type f -mtime +30 -exec rm -f {} +
}

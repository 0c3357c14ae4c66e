# Runs on a machine, in any POSIX shell. Does the work of an attempt at most once: starts it, or attaches to it.
# Set before: state (folder), task, id, seconds (timeout), verb (run or cancel), script and supervisor (texts).
# Prints "outcome code dropped" and the captured output, or "state" and a message.
umask 077
fail() { echo "state $*"; exit 0; }
is_alive() { { IFS= read -r s <"/proc/$1/stat"; } 2>/dev/null && s=${s##*) } && set -- "$2" $s && [ "${21}" = "$1" ]; }
has_ended() { { read -r outcome code <exit; } 2>/dev/null && [ "$outcome" != running ]; }

[ -n "$state" ] || state=${HOME:-/}/.outrigger
a=$state/attempts/$task/$id
[ -d "$a" ] || error=$(mkdir -p "$a" 2>&1) || fail "$error"
cd "$a" && [ -O . ] || fail "$a belongs to another user"
if [ ! -s claim ]; then
  error=$({ printf '%s\n' "$supervisor" >"supervisor.$$" && printf '%s\n' "$script" >"script.$$"; } 2>&1) ||
    fail "cannot write to $a: $error"
  setsid /bin/sh "./supervisor.$$" "$id" "script.$$" "$seconds" "$verb" </dev/null >/dev/null 2>"error.$$" &
  wait $!
  [ -s claim ] || { error=; IFS= read -r error <"error.$$"; fail "cannot start in $a: $error"; }
fi
if ! has_ended; then
  read -r pid start boot <claim
  [ "$verb" = cancel ] && is_alive "$pid" "$start" && kill -s TERM "$pid" 2>/dev/null
  # Waits until the supervisor that another connection started is gone: the kernel unlocks the file.
  if command -v flock >/dev/null 2>&1; then { flock -s 8; } 8<lock
  else while ! has_ended && is_alive "$pid" "$start"; do sleep 1; done
  fi
fi
if ! has_ended; then
  # The supervisor was killed, or the machine rebooted.
  outcome=lost code=0
  read -r now </proc/sys/kernel/random/boot_id
  read -r pid start boot <claim
  [ "$boot" = "$now" ] && { read -r group began <group; } 2>/dev/null && is_alive "$group" "$began" &&
    kill -s KILL -- "-$group" 2>/dev/null
fi
dropped=0; { read -r dropped <dropped; } 2>/dev/null
last=0; { read -r last <last; } 2>/dev/null
echo "$outcome $code $dropped"
[ -s out.0 ] || exit 0
set -- out.0
[ "$last" -gt 1 ] && set -- "$@" "out.$((last - 1))"
[ "$last" -gt 0 ] && set -- "$@" "out.$last"
cat "$@"

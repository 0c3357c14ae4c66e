# Runs on a machine. Defined before: the functions folders, files and parents, which run a command with those paths, the
# functions of trust.sh, $state, and $m, with which the answer begins. Prints the process id and a random name, where links lead, what is at each path,
# digests, modes and owners. Then reads the name of a staging folder, the folders that are made with all that is below them, the folders that
# must be new, and an archive with the staging folder, whose script installs the files.
umask 022
kinds() { for f; do
  if [ -L "$f" ] && [ ! -d "$f" ]; then echo l; elif [ -d "$f" ]; then [ -k "$f" ] && echo s || echo d
  elif [ -f "$f" ]; then echo f; elif [ -e "$f" ]; then echo o; else echo n; fi
done; }
# Runs a command with the regular files. Not with all at once: each set copies its arguments.
regular() { c=$1; shift; n=; for f; do
  [ -n "$n" ] || set --; n=0
  [ -f "$f" ] && [ ! -L "$f" ] && set -- "$@" "$f"
  [ $# -lt 100 ] || { $c "$@"; set --; }
done; [ -z "$n" ] || [ $# = 0 ] || $c "$@"; }
digests() { sha256sum -- "$@" 2>/dev/null; }
modes() { stat -c 'mode %a %u' -- "$@" 2>/dev/null; }
# Removes the staging folders of this copy, or those of copies that were interrupted. Not what others named like them.
clean() { for p; do shift; for s in "$p"/.outrigger-copy.*; do
  [ -d "$s" ] && [ ! -L "$s" ] && [ -O "$s" ] || continue
  o=${s##*.}; [ "$o" = $$ ] && [ -n "$mine" ] || ! kill -s 0 "$o" 2>/dev/null || continue
  set -- "$@" "$s"
done; done; [ $# = 0 ] || rm -rf -- "$@"; }
try() { error=$("$@" 2>&1) || { printf 'error %s\n' "$error"; exit 0; }; }
# Unlike tar, mkdir fails if somebody else was faster.
create() {
  set --
  while IFS= read -r f && [ -n "$f" ]; do
    set -- "$@" "$f"
    [ $# -lt 100 ] || { try mkdir -- "$@"; set --; }
  done
  [ $# = 0 ] || try mkdir -- "$@"
}
# Remembers the folders that are made, so that they are removed with the files. If that fails, they are left then.
remember() { [ -z "$new" ] || (
  umask 077; [ -d "$state" ] || mkdir -p -- "$state"
  # One write appends all of them. What is listed twice is removed once.
  printf %s "$new" >>"$state/folders"
) 2>/dev/null; }
# Removes the folders that were made for nothing.
undo() { set -f; IFS='
'; for f in $new; do find "$f" -depth -type d -exec rmdir -- {} + 2>/dev/null; done; }
IFS= read -r name </proc/sys/kernel/random/uuid
users; echo "$m$$ $user $name"
folders foreign; folders links
folders kinds; files kinds; files regular digests; files regular modes; mine=; parents clean
echo end
IFS= read -r stage && [ -n "$stage" ] || exit 0
made=; while IFS= read -r f && [ -n "$f" ]; do made="$made$f
"; done
mine=yes new=; trap 'parents clean; undo' EXIT; trap 'exit 1' HUP INT TERM PIPE
create
new=$made; remember
try tar -xpmof - -C /
. "$stage/install"
new=
echo done

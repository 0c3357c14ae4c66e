# Runs on a machine. Defined before: the functions folders, files and parents, which run a command with those paths.
# Prints the process id, what is at each path, digests and modes. Then reads the name of a staging folder, and an archive
# with that folder, whose script installs the files.
umask 022
kinds() { for f; do
  if [ -L "$f" ] && [ ! -d "$f" ]; then echo l; elif [ -d "$f" ]; then echo d; elif [ -f "$f" ]; then echo f
  elif [ -e "$f" ]; then echo o; else echo n; fi
done; }
regular() { c=$1; shift; for f; do shift; [ -f "$f" ] && [ ! -L "$f" ] && set -- "$@" "$f"; done; [ $# = 0 ] || $c "$@"; }
digests() { sha256sum -- "$@" 2>/dev/null; }
modes() { stat -c 'mode %a' -- "$@" 2>/dev/null; }
# Removes the staging folders of this copy, or those of copies that were interrupted.
clean() { for p; do shift; for s in "$p"/.outrigger-copy.*; do
  [ -d "$s" ] || continue
  o=${s##*.}; [ "$o" = $$ ] && [ -n "$mine" ] || ! kill -s 0 "$o" 2>/dev/null || continue
  set -- "$@" "$s"
done; done; [ $# = 0 ] || rm -rf -- "$@"; }
try() { error=$("$@" 2>&1) || { printf 'error %s\n' "$error"; exit 0; }; }
echo $$
folders kinds; files kinds; files regular digests; files regular modes; mine=; parents clean
echo end
IFS= read -r stage && [ -n "$stage" ] || exit 0
mine=yes; trap 'parents clean' EXIT; trap 'exit 1' HUP INT TERM PIPE
try tar -xpmof - -C /
. "$stage/install"
echo done

# Runs on a machine. Defined before: the functions files and folders, which run a command with those paths, folders with the
# deepest first, the functions of trust.sh, $state, and $m, with which the answer begins. Prints where links lead, and if there are any,
# reads whether to go on. Removes the files, and the folders that copies made, if they are empty.
echo "$m"
# Somebody who can replace a folder by a link could make root remove files elsewhere.
found=$(folders foreign)
[ -z "$found" ] || { echo "$found"; echo end; exit 0; }
found=$(folders links)
[ -z "$found" ] || echo "$found"
echo end
[ -z "$found" ] || { IFS= read -r go && [ "$go" = go ]; } || exit 0
# It is silent unless it fails.
files rm -f -- 2>&1
made=$(cat -- "$state/folders" 2>/dev/null)
unmake() { for f; do for m in $made; do
  case $f/ in "$m"/*) rmdir -- "$f" 2>/dev/null; break ;; esac
done; done; }
left() { for m in $made; do [ ! -d "$m" ] || printf '%s\n' "$m"; done; }
[ -z "$made" ] || {
  set -f; IFS='
'
  folders unmake
  made=$(left)
  [ -z "$made" ] && rm -f -- "$state/folders" || printf '%s\n' "$made" >"$state/folders"
}
echo done

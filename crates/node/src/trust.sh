# Prints which of the paths can be replaced or written to by users other than root and the one who logged in. In a sticky
# folder such as /tmp, only the owner of a file can replace it. Links are followed.
foreign() {
  [ -n "$user" ] || users
  for f; do
    [ -L "$f" ] || continue
    t=$(cd -P -- "$f" 2>/dev/null && pwd -P)
    while [ -n "$t" ]; do set -- "$@" "$t"; t=${t%/*}; done
  done
  stat -c '%u %g %f %n' -- "$@" 2>/dev/null | while read -r u g m n; do
    case $u in 0 | "$user" | "$login") ;; *) echo "untrusted $n belongs to user $u" && continue ;; esac
    # The mode of a link does not matter, and that of a sticky folder (4...) neither. On a file that bit means nothing.
    case $m in a*) continue ;; 4*) [ $((0x$m & 0x200)) = 0 ] || continue ;; esac
    [ $((0x$m & 2)) = 0 ] || echo "untrusted $n is writable for all users"
    # A user's own group has the id of the user.
    case $g in 0 | "$user" | "$login") continue ;; esac
    [ $((0x$m & 16)) = 0 ] || echo "untrusted $n is writable for group $g"
  done
}
# Prints which of the paths are links to folders, and where they lead. Starts no program.
links() {
  for f; do
    [ -L "$f" ] && t=$(cd -P -- "$f" 2>/dev/null && pwd -P) && printf 'link %s\nto %s\n' "$f" "$t"
  done
  :
}
# The one who runs this, and the one who called sudo.
users() {
  while read -r key real user rest; do [ "$key" != Uid: ] || break; done </proc/self/status
  login=${SUDO_UID:-$user}
}

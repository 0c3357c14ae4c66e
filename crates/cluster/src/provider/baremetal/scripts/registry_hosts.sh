# Tells containerd how to reach mirrors of registries. $MIRRORS has lines of folder, hosts.toml and CA certificate in base64, or -.
begin
umask 077
root=/etc/containerd/certs.d
# Those that are not listed any more.
for folder in "$root"/*/; do
  folder=${folder%/}
  name=${folder##*/}
  ! printf '%s\n' "$MIRRORS" | cut -d ' ' -f 1 | grep -qxF -- "$name" || continue
  for file in "$folder/hosts.toml" "$folder/ca.crt"; do
    grep -qxF -- "$file" "$node/files" 2>/dev/null || continue
    if [ -e "$node/before$file" ]; then cp -a -- "$node/before$file" "$file"; else rm -f -- "$file"; fi
  done
  rmdir -- "$folder" 2>/dev/null || :
done
printf '%s\n' "$MIRRORS" | while read -r name hosts certificate; do
  [ -n "$name" ] || continue
  [ "$certificate" = - ] || printf %s "$certificate" | base64 -d | put "$root/$name/ca.crt"
  printf %s "$hosts" | base64 -d | put "$root/$name/hosts.toml"
done

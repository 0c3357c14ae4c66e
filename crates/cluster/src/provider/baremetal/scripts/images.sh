# Imports archives that were copied. $IMAGES has lines of digest, reference and archive.
begin
ctr -n k8s.io images ls -q >"$node/present"
# Those that were there before stay when the cluster is deleted.
[ -e "$node/images" ] || cp "$node/present" "$node/images"
touch "$node/imported"
printf '%s\n' "$IMAGES" | while read -r digest reference archive; do
  is_present=; ! grep -qxF -- "$reference" "$node/present" || is_present=yes
  [ -n "$is_present" ] && grep -qxF -- "$digest $reference" "$node/imported" && { rm -f -- "$archive"; continue; }
  ctr -n k8s.io images import "$archive"
  echo "$digest $reference" >>"$node/imported"
  rm -f -- "$archive"
done
rm -f "$node/present"
rmdir "$state/images" 2>/dev/null || :

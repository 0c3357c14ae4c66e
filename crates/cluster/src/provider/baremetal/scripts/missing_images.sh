# Prints the images of which the archives were imported, and which are still there: digest of the archive, reference.
[ -e "$node/imported" ] || exit 0
ctr -n k8s.io images ls -q >"$node/present"
while read -r digest reference; do
  ! grep -qxF -- "$reference" "$node/present" || echo "$digest $reference"
done <"$node/imported"
rm -f "$node/present"

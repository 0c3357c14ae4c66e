# Unpacks CNI plugins. $PACKAGE is their archive.
begin
tar -tf "$PACKAGE" | while IFS= read -r file; do
  case $file in */) ;; *) claim "/opt/cni/bin/${file#./}" ;; esac
done
tar -xof "$PACKAGE" -C /opt/cni/bin

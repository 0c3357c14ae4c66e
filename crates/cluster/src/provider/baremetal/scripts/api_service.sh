# Waits until pods can reach the API server at its address inside of the cluster, which kube-proxy provides: a pod that starts
# before tries again only half a minute later. Something else may provide it later, so that this is no failure.
i=0
until
  address=$(kubectl get service kubernetes -o jsonpath='{.spec.clusterIP}' 2>/dev/null) || :
  case $address in *:*) address="[$address]" ;; esac
  [ "$(kubectl --server "https://$address" --request-timeout 1s get --raw /readyz 2>/dev/null)" = ok ]
do
  i=$((i + 1))
  [ $i -lt 40 ] || exit 0
  sleep 0.3
done

# Makes the route to the pods of another machine. $RANGE are their addresses, $VIA is the machine.
[ -e "$node/cluster" ] || exit 0
mkdir -p "$node/routes"
echo "$RANGE $VIA" >"$node/routes/$VIA"
ip route replace "$RANGE" via "$VIA"

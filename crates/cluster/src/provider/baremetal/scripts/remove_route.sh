# Removes the route to the pods of another machine. $VIA is the machine.
[ -e "$node/routes/$VIA" ] || exit 0
read -r range via <"$node/routes/$VIA"
ip route del "$range" via "$via" 2>/dev/null || :
rm -f "$node/routes/$VIA"

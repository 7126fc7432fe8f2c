#!/bin/sh
# Makes the lab's network namespace and keeps it: this process stands for it, and it ends with its last process.
#
# usage: network.sh BRIDGE ADDRESS/PREFIX CGROUP…
# Prints "ready" and closes its output once the bridge is up.
set -eu
umask 022

if [ "${1:-}" != --in-namespace ]; then
    bridge=$1 address=$2
    shift 2
    for cgroup in "$@"; do
        echo $$ > "$cgroup/cgroup.procs"
    done
    exec unshare --net -- sh "$0" --in-namespace "$bridge" "$address"
fi
bridge=$2 address=$3

ip link set lo up
ip link add "$bridge" type bridge
ip address add "$address" dev "$bridge"
ip link set "$bridge" up
# There is no route out. With forwarding the kernel answers "unreachable" at once where it would else drop in silence, and
# a host that tries to reach the world fails in milliseconds and not after minutes.
ip route add unreachable default
echo 1 > /proc/sys/net/ipv4/ip_forward
echo 0 > /proc/sys/net/ipv4/icmp_ratelimit
# The bridge must not filter what passes between the hosts.
if [ -e /proc/sys/net/bridge/bridge-nf-call-iptables ]; then
    echo 0 > /proc/sys/net/bridge/bridge-nf-call-iptables
    echo 0 > /proc/sys/net/bridge/bridge-nf-call-ip6tables
fi
# Find a host that has just come up within 0.1 s; the kernel asks once a second otherwise.
echo 100 > "/proc/sys/net/ipv4/neigh/$bridge/retrans_time_ms"

echo ready
exec sleep infinity < /dev/null > /dev/null 2>&1

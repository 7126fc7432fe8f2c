#!/bin/sh
# Makes the lab's network namespace and keeps it: this process stands for it, and it ends with its last process.
#
# usage: network.sh CONTROLLER/PREFIX PROXY/PREFIX 'BRIDGE…' CGROUP…
# The controller and the proxies of `lag` have addresses on the first bridge only: what is on the others is reached through a host.
# Prints "ready" and closes its output once the bridges are up.
set -eu
umask 022

if [ "${1:-}" != --in-namespace ]; then
    controller=$1 proxy=$2 bridges=$3
    shift 3
    for cgroup in "$@"; do
        echo $$ > "$cgroup/cgroup.procs"
    done
    exec unshare --net -- sh "$0" --in-namespace "$controller" "$proxy" "$bridges"
fi
controller=$2 proxy=$3 bridges=$4

# Bridges get no addresses by themselves: with one of IPv6 the controller would reach hosts past their bastion.
if [ -e /proc/sys/net/ipv6/conf/default/disable_ipv6 ]; then echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6; fi
ip link set lo up
for bridge in $bridges; do
    ip link add "$bridge" type bridge
    ip link set "$bridge" up
done
first=${bridges%% *}
ip address add "$controller" dev "$first"
ip address add "$proxy" dev "$first"
# There is no route out. With forwarding the kernel answers "unreachable" at once where it would else drop in silence, and
# a host that tries to reach the world fails in milliseconds and not after minutes.
ip route add unreachable default
echo 1 > /proc/sys/net/ipv4/ip_forward
echo 0 > /proc/sys/net/ipv4/icmp_ratelimit
# The bridges must not filter what passes between the hosts.
if [ -e /proc/sys/net/bridge/bridge-nf-call-iptables ]; then
    echo 0 > /proc/sys/net/bridge/bridge-nf-call-iptables
    echo 0 > /proc/sys/net/bridge/bridge-nf-call-ip6tables
fi
# Find a host that has just come up within 0.1 s; the kernel asks once a second otherwise.
echo 100 > "/proc/sys/net/ipv4/neigh/$first/retrans_time_ms"

echo ready
# shellcheck disable=SC2217 # whoever started this waits for the end of its streams
exec sleep infinity < /dev/null > /dev/null 2>&1

#!/bin/sh
# Becomes one host of the lab: joins its cgroups, takes a mount namespace of its own, lays the overlay and boots.
#
# usage: start.sh NAME MACHINE DIR NETNS BRIDGE INNER TARGET CGROUP…
#   MACHINE  short name for systemd-nspawn, which calls the host's port of the bridge vb-MACHINE (15 characters at most)
#   DIR      the host's folder: root (link to the lab's root), upper, work, data/
#   NETNS    path of the lab's network namespace
#   INNER    the bridge of the hosts behind this one, which is their bastion; empty for any other
#   TARGET   the systemd target to boot to; empty for the default
#   CGROUP…  a folder for this host in every cgroup hierarchy of the machine
#
# Everything made here lives in namespaces that end with the host's last process; that is why `lab down` has no mounts to
# undo. The cgroups come first: what is not in them would be lost to `lab down`.
set -eu
umask 022

if [ "${1:-}" != --in-namespaces ]; then
    name=$1 machine=$2 dir=$3 netns=$4 bridge=$5 inner=$6 target=$7
    shift 7
    for cgroup in "$@"; do
        echo $$ > "$cgroup/cgroup.procs"
    done
    cd "$dir"
    # Not `ip netns exec`: that mounts a new /sys, in which the cgroups are not there.
    exec nsenter --net="$netns" -- unshare --mount --propagation private -- \
        sh "$0" --in-namespaces "$name" "$machine" "$bridge" "$inner" "$target"
fi
name=$2 machine=$3 bridge=$4 inner=$5 target=$6

# systemd-nspawn keeps locks in /run and makes a folder in /tmp that a killed one leaves behind: give it its own of both.
mount -t tmpfs -o mode=755 lab /run
mkdir -p /run/lab/root /run/lab/data
mount --bind data /run/lab/data
mount -t overlay -o lowerdir=root,upperdir=upper,workdir=work lab /run/lab/root
mount -t tmpfs -o mode=1777 lab /tmp
cd /

# systemd-nspawn makes the second port but leaves it without a bridge. It is there within a second or never.
join_inner() {
    tries=0
    until ip link set "vi-$machine" master "$inner" up 2>/dev/null || [ "$tries" -eq 600 ]; do
        tries=$((tries + 1))
        sleep 0.05
    done
}

# Capabilities and system calls: containerd, runc and the kubelet need more than a container is given. CAP_SYS_TIME is
# taken away, for the clock is the machine's. No resolver: systemd-nspawn would copy in the machine's.
# Folders that will hold overlays of their own can't lie on an overlay. /dev/kmsg is what the kubelet watches for kernel
# messages, and /sys/module, read-only, is where a host sees which features its kernel has.
# systemd 256 and later boot with cgroup v1 only when they are told to.
boot() {
    set -- --quiet --boot --register=no --keep-unit --settings=no \
        --directory=/run/lab/root --machine="$machine" --hostname="$name" \
        --network-bridge="$bridge" --resolv-conf=off --timezone=off --link-journal=no --console=read-only \
        --capability=all --drop-capability=CAP_SYS_TIME \
        --system-call-filter='@raw-io bpf @mount @keyring @module' \
        --setenv=SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1 \
        --bind=/run/lab/data/containerd:/var/lib/containerd \
        --bind=/run/lab/data/kubelet:/var/lib/kubelet \
        --bind=/run/lab/data/etcd:/var/lib/etcd \
        --bind=/dev/kmsg \
        --bind-ro=/sys/module
    if [ -n "$inner" ]; then
        join_inner &
        set -- "$@" --network-veth-extra="vi-$machine:host1"
    fi
    if [ -n "$target" ]; then set -- "$@" -- "systemd.unit=$target"; fi
    systemd-nspawn "$@"
}

# A host that reboots itself ends systemd-nspawn with 133, which asks for a new start. The kernel removes the old ports some
# time later, and new ones can't have their names before.
while :; do
    status=0
    boot || status=$?
    [ "$status" -eq 133 ] || exit "$status"
    ip link delete "vb-$machine" 2>/dev/null || :
    ip link delete "vi-$machine" 2>/dev/null || :
done

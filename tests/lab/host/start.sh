#!/bin/sh
# Becomes one host of the lab: joins its cgroups, takes a mount namespace of its own, lays the overlay and boots.
#
# usage: start.sh NAME MACHINE DIR BRIDGE NETNS CGROUP…
#   MACHINE  short name for systemd-nspawn, which calls the host's port of the bridge vb-MACHINE (15 characters at most)
#   DIR      the host's folder: root (link to the lab's root), upper, work, data/
#   NETNS    path of the lab's network namespace
#   CGROUP…  a folder for this host in every cgroup hierarchy of the machine
#
# Everything made here lives in namespaces that end with the host's last process; that is why `lab down` has no mounts to
# undo. The cgroups come first: what is not in them would be lost to `lab down`.
set -eu
umask 022

if [ "${1:-}" != --in-namespaces ]; then
    name=$1 machine=$2 dir=$3 bridge=$4 netns=$5
    shift 5
    for cgroup in "$@"; do
        echo $$ > "$cgroup/cgroup.procs"
    done
    cd "$dir"
    # Not `ip netns exec`: that mounts a new /sys, in which the cgroups are not there.
    exec nsenter --net="$netns" -- unshare --mount --propagation private -- sh "$0" --in-namespaces "$name" "$machine" "$bridge"
fi
name=$2 machine=$3 bridge=$4

# systemd-nspawn keeps locks in /run and makes a folder in /tmp that a killed one leaves behind: give it its own of both.
mount -t tmpfs -o mode=755 lab /run
mkdir -p /run/lab/root /run/lab/data
mount --bind data /run/lab/data
mount -t overlay -o lowerdir=root,upperdir=upper,workdir=work lab /run/lab/root
mount -t tmpfs -o mode=1777 lab /tmp
cd /

# Capabilities and system calls: containerd, runc and the kubelet need more than a container is given. CAP_SYS_TIME is
# taken away, for the clock is the machine's. No resolver: systemd-nspawn would copy in the machine's.
# Folders that will hold overlays of their own can't lie on an overlay. /dev/kmsg is what the kubelet watches for kernel
# messages, and /sys/module, read-only, is where a host sees which features its kernel has.
exec systemd-nspawn --quiet --boot --register=no --keep-unit --settings=no \
    --directory=/run/lab/root --machine="$machine" --hostname="$name" \
    --network-bridge="$bridge" --resolv-conf=off --timezone=off --link-journal=no --console=read-only \
    --capability=all --drop-capability=CAP_SYS_TIME \
    --system-call-filter='@raw-io bpf @mount @keyring @module' \
    --bind=/run/lab/data/containerd:/var/lib/containerd \
    --bind=/run/lab/data/kubelet:/var/lib/kubelet \
    --bind=/run/lab/data/etcd:/var/lib/etcd \
    --bind=/dev/kmsg \
    --bind-ro=/sys/module

#!/bin/sh
# A cluster gets another minor version as kubeadm's own documentation has it, host after host: kubeadm, then the node is drained, gets its kubelet, and takes
# pods again. Images are in containerd already, and programs in /root/upgrade.
#
# usage: classic.sh SSH_CONFIG VERSION FIRST "CONTROL-PLANE…" "WORKER…"
# Prints `mark NAME MILLISECONDS` when a part is done.
set -eu

ssh_config=$1 version=$2 first=$3 control_planes=$4 workers=$5

# What hosts of the lab can't give (tests/src/lab/inventory.rs).
ignored=--ignore-preflight-errors=SystemVerification,NumCPU,Mem
# As long as kubeadm gives a control plane whose manifests have changed.
deadline=300

on() { ssh -F "$ssh_config" -o BatchMode=yes -l root "$@"; }
mark() { echo "mark $1 $(date +%s%3N)"; }

# kube ARGUMENT…: kubectl on $asked, until it has done that: a new kubelet makes its static pods anew, and an API server that has just begun refuses even
# administrators until it has read their rights.
kube() { on "$asked" "timeout $deadline sh -c 'until kubectl --kubeconfig /etc/kubernetes/admin.conf $* >/dev/null; do sleep 0.2; done'" >&2; }

by_kubeadm() {
    if [ "$1" = "$first" ]; then verb="apply -y v$version"; else verb=node; fi
    on "$1" "mv -f /root/upgrade/kubeadm /usr/local/bin/kubeadm && kubeadm upgrade $verb $ignored" >&2
}

new_kubelet() {
    kube drain "$1" --ignore-daemonsets --delete-emptydir-data
    on "$1" "mv -f /root/upgrade/* /usr/local/bin/ && systemctl restart kubelet" >&2
    kube wait "--for=jsonpath={.status.nodeInfo.kubeletVersion}=v$version" "node/$1"
    kube wait --for=condition=Ready "node/$1"
    kube uncordon "$1"
}

mark start
for host in $first $control_planes $workers; do
    # Another control plane than the one that is changed, so that nothing is waited for that others can say.
    if [ "$host" = "$first" ]; then asked=${control_planes%% *}; else asked=$first; fi
    by_kubeadm "$host"
    mark "$host kubeadm"
    new_kubelet "$host"
    mark "$host kubelet"
done

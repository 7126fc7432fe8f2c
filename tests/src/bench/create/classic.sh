#!/bin/sh
# A cluster in the order of kubeadm's own documentation: init, the pod network, then one control plane after the other, then all workers at
# once. What a person writes before that (configurations, the manifest, the name of the API) is on the hosts already.
#
# usage: classic.sh SSH_CONFIG FIRST "CONTROL-PLANE…" "WORKER…"
# Prints `mark NAME MILLISECONDS` when a part is done.
set -eu

ssh_config=$1 first=$2 control_planes=$3 workers=$4

on() { ssh -F "$ssh_config" -o BatchMode=yes -l root "$@"; }
mark() { echo "mark $1 $(date +%s%3N)"; }

mark start
said=$(on "$first" kubeadm init --config /root/init.yaml --upload-certs)
mark init
# As a person copies it from what init says.
word() { printf '%s\n' "$said" | sed -n "s/.*$1 \([^ ]*\).*/\1/p" | head -n 1; }
token=$(word --token) hash=$(word --discovery-token-ca-cert-hash) key=$(word --certificate-key)

on "$first" kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f /root/flannel.yaml >&2
mark flannel

join() {
    on "$1" "sed -i 's/@TOKEN@/$token/; s/@HASH@/$hash/; s/@KEY@/$key/' /root/join.yaml && kubeadm join --config /root/join.yaml" >&2
}

for host in $control_planes; do
    join "$host"
    mark "$host"
done
jobs=
for host in $workers; do
    join "$host" &
    jobs="$jobs $!"
done
for job in $jobs; do wait "$job"; done
mark workers

#!/bin/sh
# What a person does around `kubeadm join`: on a control plane what lets hosts join and what forgets them, on a host what takes it back to what it
# was when it was prepared. Whoever runs it ends it when that takes too long.
#
# usage: by_hand.sh network         on a control plane: applies /root/install-cni.yaml
#        by_hand.sh ticket          on a control plane: prints the command by which workers join
#        by_hand.sh plane-ticket    the same for control planes
#        by_hand.sh dismiss HOST    on a control plane: etcd goes on without the member of HOST
#        by_hand.sh empty           on a host that leaves: it has programs, containerd and images, and is no node
#        by_hand.sh forget HOST     on a control plane: the cluster knows no node HOST, and no token
set -eu
export KUBECONFIG=/etc/kubernetes/admin.conf

# kubeadm tries a token that the cluster has not signed with yet every five seconds: that is no time of the join.
ticket() {
    join=$(kubeadm token create --print-join-command)
    id=${join#*--token }
    id=${id%%.*}
    until kubectl -n kube-public get configmap cluster-info -o "jsonpath={.data.jws-kubeconfig-$id}" | grep -q .; do sleep 0.2; done
    printf '%s\n' "$join"
}

plane_ticket() {
    key=$(kubeadm init phase upload-certs --upload-certs | tail -n 1)
    join=$(ticket)
    printf '%s\n' "$join --control-plane --certificate-key $key"
}

etcdctl() {
    pki=/etc/kubernetes/pki/etcd
    kubectl -n kube-system exec "etcd-$(hostname)" -- etcdctl --cacert=$pki/ca.crt --cert=$pki/server.crt --key=$pki/server.key "$@"
}

dismiss() {
    members=$(etcdctl member list)
    member=$(printf '%s\n' "$members" | sed -n "s/^\([0-9a-f]*\), [a-z]*, $1, .*/\1/p")
    etcdctl member remove "$member"
}

# With what kubeadm leaves for people to remove, as it says itself.
empty() {
    kubeadm reset --force --skip-phases=remove-etcd-member --cri-socket=unix:///run/containerd/containerd.sock
    if [ -d /var/lib/etcd ]; then find /var/lib/etcd -mindepth 1 -xdev -delete; fi
    nft flush ruleset
    for link in cni0 flannel.1; do
        if ip link show "$link" >/dev/null 2>&1; then ip link delete "$link"; fi
    done
    rm -rf /etc/cni/net.d/* /var/lib/cni /run/flannel
}

# A control plane refuses for a moment when a member of etcd has left. Pods of a node that is gone are collected a minute later, and kubeadm would ask
# their etcd until then.
forget() {
    until kubectl delete node "$1" --ignore-not-found; do sleep 0.2; done
    until kubectl delete pods --all-namespaces --field-selector "spec.nodeName=$1" --force --grace-period=0; do sleep 0.2; done
    kubectl -n kube-system delete secrets --field-selector type=bootstrap.kubernetes.io/token
    kubectl -n kube-system rollout status deployment/coredns
}

case $1 in
    network) kubectl apply -f /root/install-cni.yaml ;;
    ticket) ticket ;;
    plane-ticket) plane_ticket ;;
    dismiss) dismiss "$2" ;;
    empty) empty ;;
    forget) forget "$2" ;;
    *) exit 2 ;;
esac

//! A host without Kubernetes.

use kok_tests::lab::{Host, Lab};

use super::{each, hosts};

/// Nothing of Kubernetes or containerd is on any host.
pub fn assert_bare(lab: &Lab) {
    for host in hosts(lab) {
        is_bare(&host);
    }
}

pub fn is_bare(host: &Host) {
    let [paths, folders, programs, processes, mounts, links, routes, packet_filter, units] = each(
        host,
        [
            "ls -d /etc/kubernetes /etc/cni /etc/containerd /opt/cni /var/lib/cni /var/lib/kokctl /run/containerd /run/flannel /var/lib/calico",
            "ls -A /usr/local/bin /var/lib/kubelet /var/lib/etcd /var/lib/containerd | grep -v -e : -e '^$'",
            "command -v kubectl kubelet kubeadm containerd ctr runc etcd etcdctl; ls -d /etc/etcd; id etcd",
            FOREIGN_PROCESSES,
            "grep -e /var/lib/kubelet/ -e /run/containerd -e /run/netns -e /var/lib/containerd/ /proc/mounts",
            "ip -brief link | grep -e cni0 -e flannel -e cali -e veth -e nodelocaldns",
            "ip -4 route show root 10.233.64.0/18; ip -4 route show root 10.64.0.0/12",
            "nft list ruleset | grep -i -e kube -e flannel -e cali -e cni -e kokctl",
            "systemctl list-units --all --plain --no-legend 'kube*' 'containerd*' 'etcd*' 'kokctl*'",
        ],
    );
    let found = [
        ("paths", paths),
        ("in folders", folders),
        ("programs", programs),
        ("processes", processes),
        ("mounts", mounts),
        ("links", links),
        ("routes", routes),
        ("packet filter", packet_filter),
        ("units", units),
    ];
    for (what, found) in found {
        assert_eq!(found, "", "{what} on {}", host.name());
    }
}

/// Processes whose program is none of the distribution's, containers among them.
const FOREIGN_PROCESSES: &str = "for process in /proc/[0-9]*; do
    program=$(readlink $process/exe) || continue
    case $program in /usr/bin/*|/usr/sbin/*|/usr/lib/*) ;; *) echo $process $program;; esac
done";

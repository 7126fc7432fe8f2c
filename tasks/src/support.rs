//! What somebody else needs to see of a cluster to help: what is asked of each host, and what of the answers is not passed on.

mod secrets;

use kok_crds::model::Host;

use crate::observe::STATE_DIRECTORY;

pub use secrets::redacted;

/// So many lines of a unit's journal: some hours of a kubelet that complains.
const LINES: usize = 1_500;

/// In so many seconds a host has said what it has to say, or is not asked the rest: its disk may hang, and it is looked at for that.
pub const SECONDS: u64 = 60;

/// No question has more of them.
const SECONDS_OF_ONE: u64 = 15;

/// What a host is asked: nothing changes by it, and no file with a secret is read. Of each answer the last part is kept, which says how it is now, from the
/// beginning of a line on: what is left of a line may be the half of a secret, which nobody knows as one. All of them together are no more than
/// `most_bytes`, nearly.
#[must_use]
pub fn script(host: &Host, most_bytes: usize) -> String {
    let units = if host.roles.is_node() { "kubelet containerd" } else { "" };
    let etcd = if host.roles.etcd { " etcd" } else { "" };
    let of_cluster = if host.roles.control_plane { CLUSTER } else { "" };
    let each = most_bytes / 16;
    format!(
        "begun=$(date +%s)\n\
         titled() {{\n\
         \x20 printf '\\n==== %s\\n' \"$1\"; shift\n\
         \x20 left=$((begun + {SECONDS} - $(date +%s)))\n\
         \x20 if [ \"$left\" -gt {SECONDS_OF_ONE} ]; then left={SECONDS_OF_ONE}; fi\n\
         \x20 if [ \"$left\" -le 0 ]; then echo '(not asked: the host has been at it for too long)'; return; fi\n\
         \x20 {{ echo; timeout -k 2 \"$left\" \"$@\" || {{ status=$?; [ \"$status\" -ne 124 ] || echo \"(cut off after $left s)\"; }}; }} 2>&1 | tail -c {each} | sed 1d\n\
         }}\n\
         part() {{ titled \"$*\" \"$@\"; }}\n\
         {HOST}for unit in {units}{etcd} kokctl-node-dns kokctl-pod-network kokctl-keepalived kokctl-keepalived-check; do\n\
         \x20 systemctl cat \"$unit\" >/dev/null 2>&1 || continue\n\
         \x20 part systemctl status --no-pager --lines=0 \"$unit\"\n\
         \x20 part journalctl --no-pager --quiet --lines={LINES} --unit=\"$unit\"\n\
         done\n\
         {PODS}\
         part find /etc/kubernetes /var/lib/kubelet /var/lib/etcd {STATE_DIRECTORY} -maxdepth 3 -not -path '*/pods/*' -printf '%M %u %s %TY-%Tm-%TdT%TH:%TM %p %l\\n'\n\
         {of_cluster}"
    )
}

/// Of the machine.
const HOST: &str = "part uname -a
part cat /etc/os-release
part uptime
part timedatectl
part free -m
part df -hT -x overlay -x tmpfs
part ip -brief address
part ip route
part systemctl list-units --no-pager --failed
part journalctl --no-pager --quiet --priority=3 --lines=200
";

/// What the static pods of the host have said last, of each the two newest logs: that of the one that runs, and that of the one that ended.
const PODS: &str = r#"for pod in etcd kube-apiserver kube-controller-manager kube-scheduler; do
  for log in $(ls -t /var/log/pods/kube-system_"$pod"-*/"$pod"/*.log 2>/dev/null | head -n 2); do part tail -n 300 "$log"; done
done
"#;

/// Of the cluster, as a control plane shows it.
const CLUSTER: &str = r#"kube() {
  titled "kube $*" env HOME=/run/kokctl /usr/local/bin/kubectl --kubeconfig=/etc/kubernetes/admin.conf --request-timeout=10s "$@"
}
kube version
kube get nodes -o wide --show-labels
kube get pods -A -o wide
kube get events -A --sort-by=.lastTimestamp
kube get poddisruptionbudgets,daemonsets,deployments -A -o wide
kube -n kube-system get configmap kubeadm-config kokctl kokctl-addons kokctl-cluster -o yaml --ignore-not-found
part sh -c 'grep -h -- "^    - --" /etc/kubernetes/manifests/*.yaml'
"#;

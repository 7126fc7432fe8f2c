//! A host leaves its cluster and becomes what it was.

use crate::change::{Change, ChangeKind, Verdict, seen};
use crate::components::AUDIT_FOLDER;
use crate::network_plugins::{self, Leftovers};
use crate::observe::{Look, Observations, PathState, STATE_DIRECTORY};
use crate::operations::node_dns::UNIT_FILE;
use crate::operations::stand_in;
use crate::operations::virtual_router::{VIRTUAL_ROUTER_CHECK_FILE, VIRTUAL_ROUTER_UNIT, VIRTUAL_ROUTER_UNIT_FILE};
use crate::resources::Act;
use crate::script::{Content, Fragment};
use crate::shell::quote;

/// Everything of Kubernetes, containerd and kokctl is removed from a host, its data included. Only what kokctl installs is touched; the
/// configuration of chrony, the host's name, packages, ports that were opened in a firewall, the state of SELinux and the present values of kernel
/// parameters stay, because nothing better is known. Swap comes back as it was configured, and counts from the next start on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reset {
    /// Whether kokctl ran etcd here. On any other host, data of an etcd is somebody else's.
    pub etcd: bool,
    /// Whether that was a unit. On any other host, a unit of this name is somebody else's.
    pub etcd_unit: bool,
}

/// The record of whose host it is. It goes last: while anything is left, the host says whose it was, and `reset` goes on with it.
const RECORDS: &str = STATE_DIRECTORY;

/// Says that a reset has begun here, and with it that what was to be kept of the cluster has been. Gone with the records, or when the host is
/// made part of the cluster again.
pub const RESET_BEGUN: &str = "/var/lib/kokctl/reset-begun";

const ETCD_DATA: &str = "/var/lib/etcd/member";

/// What must be gone at the end; directories whose mount points may belong to the owner of the host are emptied instead.
const PATHS: &[&str] = &[
    "/etc/kubernetes",
    UNIT_FILE,
    VIRTUAL_ROUTER_UNIT_FILE,
    VIRTUAL_ROUTER_CHECK_FILE,
    "/sys/class/net/nodelocaldns",
    "/etc/containerd/config.toml",
    "/etc/systemd/system/containerd.service",
    "/etc/systemd/system/kubelet.service",
    "/etc/systemd/system/kubelet.service.d",
    "/etc/modules-load.d/kokctl.conf",
    "/etc/sysctl.d/99-zz-kokctl.conf",
    "/etc/systemd/system/containerd.service.d/50-kokctl-proxy.conf",
    "/etc/cloud/cloud.cfg.d/99-kokctl.cfg",
    "/usr/local/bin/containerd",
    "/usr/local/bin/containerd-shim-runc-v2",
    "/usr/local/bin/ctr",
    "/usr/local/bin/kubeadm",
    "/usr/local/bin/kubectl",
    "/usr/local/bin/kubelet",
    "/usr/local/sbin/runc",
    "/var/lib/cni",
    "/var/lib/kubelet/config.yaml",
    "/var/lib/kubelet/pki",
    "/var/log/pods",
    AUDIT_FOLDER,
];

const UNITS: [&str; 4] = ["kubelet.service", "containerd.service", VIRTUAL_ROUTER_UNIT, stand_in::UNIT];

/// The same where etcd is a unit.
const PATHS_OF_ETCD: [&str; 3] = ["/etc/systemd/system/etcd.service", "/etc/etcd", "/usr/local/bin/etcd"];
const UNIT_OF_ETCD: &str = "etcd.service";

/// `kubeadm reset` does not take the member out of etcd's list: all members go, and what is left of them could not agree to it for minutes. It
/// ends without an error after warnings, so what it should have done is done again by hand, and the second look decides.
/// Shims outlive containerd (`KillMode=process`) and end with their tasks, which containerd's own record names; one that still tidies up when
/// containerd is stopped stays in the group of its unit. A container that was cut off while it was made is in no record: processes of pods are
/// known by their control group. runc freezes the group for a moment of that, and where freezing is a hierarchy of its own (v1) nothing that is
/// frozen can be killed, so it is thawed first. systemd alone would give each of them 90 s for a signal that it may not hear.
const SCRIPT: &str = r#"set +e
kubeadm=/usr/local/bin/kubeadm
# First of all: clients are with another control plane before this one ends.
systemctl disable --now kokctl-keepalived.service 2>/dev/null
rm -f /etc/systemd/system/kokctl-keepalived.service /etc/systemd/system/kokctl-keepalived-check.service
if [ -e /var/lib/kokctl/made/user-kokctl-vip ] && id -u kokctl-vip >/dev/null 2>&1; then userdel kokctl-vip || exit 1; fi
systemctl stop kokctl-stand-in.service 2>/dev/null
systemctl disable --now kubelet.service 2>&1
thaw() { for state in $(find /sys/fs/cgroup/freezer/kubepods* -name freezer.state 2>/dev/null); do echo THAWED >"$state"; done; }
thaw
if [ -x "$kubeadm" ] && [ -S /run/containerd/containerd.sock ]; then
  "$kubeadm" reset --force --skip-phases=remove-etcd-member --cri-socket=unix:///run/containerd/containerd.sock 2>&1
fi
if [ -x /usr/local/bin/ctr ] && [ -S /run/containerd/containerd.sock ]; then
  for task in $(/usr/local/bin/ctr -n k8s.io tasks ls -q); do /usr/local/bin/ctr -n k8s.io tasks kill -s SIGKILL "$task"; done
  for container in $(/usr/local/bin/ctr -n k8s.io containers ls -q); do
    /usr/local/bin/ctr -n k8s.io tasks delete -f "$container"
    /usr/local/bin/ctr -n k8s.io containers delete "$container"
  done
fi
systemctl disable --now containerd.service 2>&1
# Of this host alone: what runs in a container here may have pods, too. A process of another namespace is shown as 0, which to `kill` would be this
# script.
of_pods() {
  find /sys/fs/cgroup/kubepods* /sys/fs/cgroup/*/kubepods* /sys/fs/cgroup/system.slice/containerd.service \
    /sys/fs/cgroup/*/system.slice/containerd.service -name cgroup.procs -exec cat {} + 2>/dev/null | grep -vx 0 | sort -u
}
tries=100
while left=$(of_pods); [ -n "$left" ]; do
  thaw
  kill -s KILL $left 2>/dev/null
  if [ "$tries" -eq 0 ]; then
    for process in $left; do echo "process $process of a pod or a shim ($(cat "/proc/$process/comm")) can't be ended" >&2; done
    echo 'nothing more of this host is removed while it runs; restart the host, which starts no pods any more, and reset it again' >&2
    exit 1
  fi
  tries=$((tries - 1))
  sleep 0.1
done
systemctl stop kubepods.slice 2>/dev/null
# The kubelet writes it for its grace period, and says so in it.
grep -qs 'Kubelet logind override' /etc/systemd/logind.conf.d/99-kubelet.conf && rm -f /etc/systemd/logind.conf.d/99-kubelet.conf
rm -rf /var/log/kubernetes/audit
rmdir /var/log/kubernetes 2>/dev/null
# The network namespaces of pods are named cni-*; others below /run/netns belong to somebody else.
while read -r _ where _; do
  case $where in /var/lib/kubelet/*|/var/lib/containerd/*|/run/containerd/*|/run/netns/cni-*|/var/run/netns/cni-*) echo "$where";; esac
done </proc/mounts | sort -r | while IFS= read -r where; do umount -l "$(printf '%b' "$where")"; done
rm -f /run/netns/cni-* 2>/dev/null
systemctl disable --now kokctl-node-dns.service 2>/dev/null
for link in @LINKS@ nodelocaldns; do ip link delete "$link" 2>/dev/null; done
@NETWORK_PLUGINS@
for table in @TABLES@ 'ip kube-proxy' 'ip6 kube-proxy' 'inet kube-proxy'; do nft delete table $table 2>/dev/null; done
for folder in /var/lib/kubelet /var/lib/containerd /run/containerd; do
  if grep -q " $folder/" /proc/mounts; then
    echo "something is still mounted below $folder; nothing there is removed, for it may be somebody's data" >&2
    exit 1
  fi
done
for tool in iptables ip6tables; do
  if command -v "$tool-save" >/dev/null && "$tool-save" | grep -q @RULES@; then "$tool-save" | grep -v @RULES@ | "$tool-restore"; fi
done
for folder in /var/lib/kubelet /var/lib/containerd $etcd; do
  [ -d "$folder" ] && find "$folder" -mindepth 1 -xdev -delete
done
rm -rf /etc/kubernetes @PATHS@ /etc/containerd/config.toml /etc/modules-load.d/kokctl.conf /etc/sysctl.d/99-zz-kokctl.conf
rm -rf /etc/systemd/system/kokctl-node-dns.service /etc/systemd/system/containerd.service /etc/systemd/system/kubelet.service /etc/systemd/system/kubelet.service.d
for name in containerd containerd-shim-runc-v2 ctr kubeadm kubectl kubelet; do rm -f "/usr/local/bin/$name"; done
rm -f /etc/systemd/system/containerd.service.d/50-kokctl-proxy.conf /etc/cloud/cloud.cfg.d/99-kokctl.cfg
rmdir /etc/systemd/system/containerd.service.d 2>/dev/null
for mark in /etc/containerd/certs.d/*/kokctl; do [ -e "$mark" ] && rm -rf "${mark%/*}"; done
if grep -qs '^#kokctl# ' /etc/fstab; then sed -i 's/^#kokctl# //' /etc/fstab; fi
if [ -f /var/lib/kokctl/swap ]; then
  # What is masked stands where a file that was moved aside has its place, and only what is there can be enabled.
  sed -n 's/^masked //p' /var/lib/kokctl/swap | while IFS= read -r unit; do systemctl unmask --quiet -- "$unit"; done
  sed -n 's/^aside //p' /var/lib/kokctl/swap | while IFS= read -r file; do [ ! -f "$file.kokctl" ] || mv -f -- "$file.kokctl" "$file"; done
  sed -n 's/^enabled //p' /var/lib/kokctl/swap | while IFS= read -r unit; do systemctl enable --quiet -- "$unit"; done
  if grep -qx zram /var/lib/kokctl/swap; then
    file=/etc/systemd/zram-generator.conf
    [ -s "$file" ] || rm -f "$file"
    [ ! -f "$file.kokctl" ] || mv -f "$file.kokctl" "$file"
  fi
fi
if [ "$(grep -cs '^# BEGIN kokctl$' /etc/hosts)" = "$(grep -cs '^# END kokctl$' /etc/hosts)" ]; then
  cp -p /etc/hosts /etc/.kokctl-hosts && sed '/^# BEGIN kokctl$/,/^# END kokctl$/d' /etc/hosts >/etc/.kokctl-hosts && mv -f /etc/.kokctl-hosts /etc/hosts
fi
for anchor in /usr/local/share/ca-certificates/kokctl-*.crt; do [ -e "$anchor" ] && rm -f "$anchor" && update=update-ca-certificates; done
for anchor in /etc/pki/ca-trust/source/anchors/kokctl-*.crt; do [ -e "$anchor" ] && rm -f "$anchor" && update='update-ca-trust extract'; done
[ -z "${update:-}" ] || $update >/dev/null 2>&1
for name in bandwidth bridge dhcp dummy firewall host-device host-local ipvlan loopback macvlan portmap ptp sbr static tap tuning vlan vrf; do
  rm -f "/opt/cni/bin/$name"
done
rm -rf /var/log/pods /var/log/containers /usr/local/sbin/runc /opt/cni/bin/.kokctl-* /usr/local/bin/.kokctl-*.part /usr/local/sbin/.kokctl-*.part /opt/containerd /var/lib/cni /run/containerd
# What containerd, the kubelet and kubectl make by themselves; what others have put there stays.
rm -rf /run/nri/nri.sock /run/kokctl/.kube /run/kokctl/hooks /run/kokctl/stand-in.sh /run/kokctl/hold.sh
plugins=/usr/libexec/kubernetes/kubelet-plugins
rmdir /run/nri /run/netns $plugins/volume/exec $plugins/volume $plugins /usr/libexec/kubernetes 2>/dev/null
rmdir /etc/cni/net.d /etc/cni /opt/cni/bin /opt/cni /etc/containerd/certs.d /etc/containerd 2>/dev/null
systemctl daemon-reload
systemctl reset-failed kubelet.service containerd.service 2>/dev/null
for unit in kubelet.service containerd.service; do
  if systemctl is-active --quiet "$unit"; then echo "$unit still runs" >&2; exit 1; fi
done
"#;

/// etcd as a unit, before anything else: what is left has no use for it. A user that was there before kokctl stays.
const SCRIPT_OF_ETCD: &str = r"set +e
systemctl disable --now etcd.service 2>&1
rm -f /etc/systemd/system/etcd.service /etc/etcd/etcd.yaml /usr/local/bin/etcd /usr/local/bin/etcdctl /usr/local/bin/etcdutl
rmdir /etc/etcd 2>/dev/null
[ ! -d /var/lib/etcd ] || chown 0:0 /var/lib/etcd
if [ -e /var/lib/kokctl/made/user-etcd ] && id -u etcd >/dev/null 2>&1; then userdel etcd || exit 1; fi
systemctl daemon-reload
systemctl reset-failed etcd.service 2>/dev/null
";

/// That script, with what each network plugin may have left: which one the host had is not known.
fn script() -> String {
    let left =
        |part: fn(&Leftovers) -> &'static [&'static str]| network_plugins::all().flat_map(move |plugin| part(&plugin.leftovers)).copied();
    let joined = |words: &mut dyn Iterator<Item = String>| words.collect::<Vec<_>>().join(" ");
    let links = joined(&mut left(|it| it.links).chain([network_plugins::POD_BRIDGE]).map(quote));
    let tables = joined(&mut left(|it| it.tables).map(quote));
    let rules = joined(&mut ["KUBE-", "CNI-"].into_iter().chain(left(|it| it.rules)).map(|rule| format!("-e {}", quote(rule))));
    let paths = joined(&mut left(|it| it.paths).map(quote));
    let scripts: String = network_plugins::all().map(|plugin| plugin.leftovers.script).collect();
    let parts = [("@LINKS@", &links), ("@TABLES@", &tables), ("@RULES@", &rules), ("@PATHS@", &paths), ("@NETWORK_PLUGINS@\n", &scripts)];
    parts.into_iter().fold(SCRIPT.to_owned(), |script, (mark, text)| script.replace(mark, text))
}

impl Reset {
    /// What must be gone before the records go.
    fn paths(&self) -> impl Iterator<Item = &'static str> {
        let of_etcd = PATHS_OF_ETCD.into_iter().filter(|_| self.etcd_unit);
        let of_network = network_plugins::all().flat_map(|plugin| plugin.leftovers.paths.iter().copied());
        PATHS.iter().copied().chain(of_network).chain(self.etcd.then_some(ETCD_DATA)).chain(of_etcd)
    }

    fn units(&self) -> impl Iterator<Item = &'static str> {
        UNITS.into_iter().chain(self.etcd_unit.then_some(UNIT_OF_ETCD))
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        let units = self.units().map(|name| Look::Unit(name.to_owned()));
        self.paths().chain([RECORDS]).map(|path| Look::Path(path.to_owned())).chain(units).collect()
    }

    pub(super) fn diff(&self, seen: &Observations) -> Verdict {
        for path in self.paths().chain([RECORDS]) {
            if *seen!(seen.paths.get(path)) != PathState::Missing {
                return Verdict::differs(ChangeKind::Remove, format!("{path} exists"));
            }
        }
        for unit in self.units() {
            if seen!(seen.units.get(unit)).active == "active" {
                return Verdict::differs(ChangeKind::Remove, format!("{unit} is active"));
            }
        }
        Verdict::Same
    }

    pub(super) fn act(&self, _: &Change) -> Act {
        let unit = if self.etcd_unit { SCRIPT_OF_ETCD } else { "" };
        let etcd = if self.etcd { "etcd=/var/lib/etcd\n" } else { "etcd=\n" };
        let paths = self.paths().map(quote).collect::<Vec<_>>().join(" ");
        let last = format!(
            "for path in {paths}; do\n  if [ -e \"$path\" ] || [ -h \"$path\" ]; then echo \"$path could not be removed\" >&2; exit 1; fi\ndone\n\
             rm -rf {RECORDS}\nexit 0\n"
        );
        let mut fragment = Fragment::default();
        // Before anything goes, and on the disk by then: a host that loses its power must not forget it.
        let begun = format!("[ ! -d {RECORDS} ] || {{ : >{RESET_BEGUN} && sync {RESET_BEGUN}; }} || exit 1\n");
        fragment.feed(Content::Bytes(format!("{begun}{unit}{etcd}{}{last}", script()).as_bytes()), "job reset");
        Act::Script(fragment)
    }

    pub(super) fn title(&self) -> String {
        "everything of Kubernetes removed".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_has_the_leftovers_of_every_plugin_and_no_marks() {
        let script = script();
        assert!(!script.contains('@'), "{script}");
        let all = || network_plugins::all().map(|plugin| &plugin.leftovers);
        assert!(all().all(|left| script.contains(left.script)));
        let words = all().flat_map(|left| [left.links, left.tables, left.rules, left.paths]).flatten();
        let missing: Vec<_> = words.filter(|word| !script.contains(&quote(word))).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}

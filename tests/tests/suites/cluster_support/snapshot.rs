//! What a host is like, to be compared with what it is like later.

use std::thread;

use kok_tests::lab::{Host, Lab};

use super::{hosts, ok};

/// Where kokctl writes.
const FOLDERS: &str = "/etc /usr/local /opt /var/lib/kokctl";

/// Everything that a change by kokctl would show in and that a cluster does not change by itself: files with their times and sizes,
/// units with their starts, network.
pub fn fingerprint(lab: &Lab) -> String {
    gather(
        lab,
        "find @ -printf '%p %y %m %U:%G %s %T@ %l\\n' 2>/dev/null | sort
         ls -A /var/lib /var/lib/kubelet /var/lib/containerd /var/lib/etcd
         systemctl list-units --all --plain --no-legend 'kokctl*'
         systemctl show --property=Id,ActiveState,UnitFileState,InvocationID containerd.service kubelet.service
         nft list tables
         ip -brief link | cut -d' ' -f1",
    )
}

/// The names, kinds, modes and owners of all files, which do not depend on the time at which they were made.
pub fn tree(lab: &Lab) -> String {
    gather(lab, "find @ -printf '%p %y %m %U:%G %l\\n' 2>/dev/null | sort")
}

/// What has to be the same before a host joined a cluster and after it was taken out: all files, what those of the host's configuration
/// hold, units, network, mounts. But for [`OF_THE_SYSTEM`], and for what docs/apply.md says that reset leaves: with forwarding, the kernel answers at the
/// anycast addresses of routers (RFC 4291).
pub fn bare_state(lab: &Lab) -> String {
    let script = "find @ /usr/libexec /var/lib /var/log /var/cache /var/spool /run /root /home /srv -xdev \\( EXCEPT \\) -prune -o -printf '%p %y %m %U:%G %l\\n' 2>/dev/null | sort
         find /etc -xdev -type f ! -path '/etc/chrony/*' ! -name '*-' -exec sha256sum {} + 2>/dev/null | sort -k 2
         ls -A /var/lib/kubelet /var/lib/containerd /var/lib/etcd
         systemctl list-unit-files --plain --no-legend | tr -s ' '
         systemctl list-units --all --failed --plain --no-legend
         getent passwd; getent group
         ip -brief link | sed 's/@[^ ]*//' | cut -d' ' -f1
         ip -brief -4 address show dev host0 | sed 's/@[^ ]*//' | tr -s ' '
         ip -brief -6 address show dev host0 scope global | sed 's/@[^ ]*//' | tr -s ' '
         ip -4 route show table all; ip -6 route show table all | grep -v -e fe80: -e ^anycast; ip rule
         nft list ruleset | grep -v -e '^table ip6* \\(mangle\\|filter\\|nat\\|raw\\) ' -e '^\tchain [A-Z]* ' -e ' hook .* policy accept;$' -e '^\t*}$' -e '^$'
         cut -d' ' -f2,3 /proc/mounts | sort";
    let except = OF_THE_SYSTEM.iter().map(|path| format!("-path '{path}'")).collect::<Vec<_>>().join(" -o ");
    gather(lab, &script.replace("EXCEPT", &except))
}

/// What a running system writes by itself, with or without a cluster; and what docs/apply.md says that stays until the next start. The tests
/// themselves run kubectl as root, and that keeps what it learned.
const OF_THE_SYSTEM: [&str; 22] = [
    // What useradd and userdel keep of the lists as they were.
    "/etc/*-",
    "/root/.kube",
    "/var/lib/kubelet",
    "/var/lib/containerd",
    "/var/lib/etcd",
    "/run/kokctl",
    "/run/xtables.lock",
    "/run/motd.dynamic",
    "/run/systemd",
    "/run/udev",
    "/run/log",
    "/run/chrony*",
    "/run/user",
    "/run/dbus",
    "/run/sshd*",
    "/run/sudo",
    "/var/log/journal",
    "/var/log/*tmp*",
    "/var/log/lastlog",
    "/var/lib/systemd",
    "/var/lib/chrony",
    "/var/lib/sudo",
];

fn gather(lab: &Lab, script: &str) -> String {
    let of_host = |host: &Host| {
        let text = ok(host, &script.replace('@', FOLDERS));
        text.lines().map(|line| format!("{}: {line}\n", host.name())).collect::<String>()
    };
    // A login costs more than what is done in it.
    thread::scope(|scope| {
        let asked: Vec<_> = hosts(lab).into_iter().map(|host| scope.spawn(move || of_host(&host))).collect();
        asked.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

/// Fails with the lines that differ, for the whole of a snapshot fills screens.
pub fn assert_same(before: &str, after: &str, what: &str) {
    let only = |here: &str, there: &str, sign: &str| {
        let there: std::collections::BTreeSet<&str> = there.lines().collect();
        here.lines().filter(|line| !there.contains(line)).map(|line| format!("{sign} {line}\n")).collect::<String>()
    };
    let difference = only(before, after, "-") + &only(after, before, "+");
    assert!(difference.is_empty(), "{what}:\n{difference}");
}

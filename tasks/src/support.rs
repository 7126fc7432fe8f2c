//! What somebody else needs to see of a cluster to help: what is asked of each host, and what of the answers is not passed on.

use std::sync::LazyLock;

use kok_crds::model::Host;
use regex::Regex;

use crate::observe::STATE_DIRECTORY;

/// So many lines of a unit's journal: some hours of a kubelet that complains.
const LINES: usize = 1_500;

/// What a host is asked: nothing changes by it, and no file with a secret is read. Of each answer the last part is kept, which says how it is now.
#[must_use]
pub fn script(host: &Host, most_bytes: usize) -> String {
    let units = if host.roles.is_node() { "kubelet containerd" } else { "" };
    let etcd = if host.roles.etcd { " etcd" } else { "" };
    let of_cluster = if host.roles.control_plane { CLUSTER } else { "" };
    let each = most_bytes / 12;
    format!(
        "part() {{ printf '\\n==== %s\\n' \"$*\"; \"$@\" 2>&1 | tail -c {each}; }}\n\
         {HOST}for unit in {units}{etcd} kokctl-node-dns kokctl-pod-network kokctl-keepalived kokctl-keepalived-check; do\n\
         \x20 systemctl cat \"$unit\" >/dev/null 2>&1 || continue\n\
         \x20 part systemctl status --no-pager --lines=0 \"$unit\"\n\
         \x20 part journalctl --no-pager --quiet --lines={LINES} --unit=\"$unit\"\n\
         done\n\
         part sh -c 'for file in $(ls -t /var/log/pods/kube-system_{{etcd,kube-apiserver}}-*/*/*.log 2>/dev/null | head -n 4); do echo \"== $file\"; tail -n 200 \"$file\"; done'\n\
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
part sh -c 'journalctl --no-pager --quiet --priority=3 --lines=200'
";

/// Of the cluster, as a control plane shows it.
const CLUSTER: &str =
    "kube() { HOME=/run/kokctl /usr/local/bin/kubectl --kubeconfig=/etc/kubernetes/admin.conf --request-timeout=10s \"$@\"; }
part kube version
part kube get nodes -o wide --show-labels
part kube get pods -A -o wide
part kube get events -A --sort-by=.lastTimestamp
part kube get poddisruptionbudgets,daemonsets,deployments -A -o wide
part kube -n kube-system get configmap kubeadm-config kokctl kokctl-addons kokctl-cluster -o yaml --ignore-not-found
part sh -c 'grep -h -- \"^    - --\" /etc/kubernetes/manifests/*.yaml'
";

/// What looks like a secret, and what takes its place; the rest of a line stays.
static SECRETS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        (r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)", "(a private key)"),
        (r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", "(a token)"),
        (r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b", "(a token)"),
        (r"(?i)\b(bearer|basic) +[A-Za-z0-9+/._~=-]{8,}", "$1 (left out)"),
        (
            r#"(?i)((?:token|passw(?:or)?d|secret|client-key-data|certificate-key|api[-_]?key|access[-_]?key|private[-_]?key)["']?\s*[:=]\s*)("[^"\n]*"|'[^'\n]*'|[^\s,;&"'}]+)"#,
            "$1(left out)",
        ),
        (r"(?i)([a-z][a-z0-9+.-]*://)[^\s/:@]+:[^\s/@]+@", "$1(left out)@"),
    ];
    patterns.iter().filter_map(|(pattern, by)| Some((Regex::new(pattern).ok()?, *by))).collect()
});

/// A text without what looks like a secret. More may go than has to; what is left is no proof that nothing secret is in it.
#[must_use]
pub fn redacted(text: &str) -> String {
    SECRETS.iter().fold(text.to_owned(), |text, (pattern, by)| pattern.replace_all(&text, *by).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANARY: &str = "c4n4ry";

    #[test]
    fn nothing_that_looks_like_a_secret_is_passed_on() {
        let secrets = [
            format!("-----BEGIN RSA PRIVATE KEY-----\n{CANARY}\n-----END RSA PRIVATE KEY-----"),
            format!("-----BEGIN PRIVATE KEY-----\n{CANARY}"),
            format!("token: {CANARY}"),
            format!("{{\"password\":\"{CANARY} {CANARY}\",\"a\":1}}"),
            format!("--token={CANARY} --x=1"),
            format!("    client-key-data: {CANARY}=="),
            format!("HTTP_PROXY=http://ann:{CANARY}@proxy:3128"),
            format!("Authorization: Bearer {CANARY}{CANARY}"),
            format!("aws_secret_access_key = {CANARY}"),
            "eyJhbGciOiJSUzI1NiIs.c4n4ry.c4n4ry".to_owned(),
        ];
        for secret in secrets {
            let left = redacted(&format!("before {secret} after"));
            assert!(!left.contains(CANARY) && left.starts_with("before "), "{secret}: {left}");
        }
        assert_eq!(redacted("joins with abcdef.0123456789abcdef now"), "joins with (a token) now");
        let plain = "node worker1 is Ready; secretName: is no secret of ours? kube-system/bootstrap-signer";
        assert!(redacted(plain).contains("bootstrap-signer"));
        assert_eq!(SECRETS.len(), 6, "each of them is a pattern");
    }
}

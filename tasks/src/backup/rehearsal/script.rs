//! The script that rehearses a restore on a host.

use std::collections::BTreeSet;

use zeroize::Zeroizing;

use crate::documents::kms_plugins;
use crate::shell::quote;

/// What a host gets besides the snapshot, which comes as the script's standard input. It has no `Debug` on purpose.
pub struct Rehearsing<'a> {
    /// Length of the snapshot.
    pub bytes: u64,
    /// SHA-256 of it, in hexadecimal digits.
    pub sha256: &'a str,
    /// The API servers' configuration of encryption, if they encrypt.
    pub encryption: Option<&'a str>,
    /// The private key of service accounts, and the public ones.
    pub service_accounts: (&'a str, &'a str),
}

/// Where all of it lies while it goes on: nobody but root can look into it.
const WORK: &str = "/var/lib/kokctl/rehearsal";

/// Prints what [`super::Rehearsed::read`] reads. Whoever has asked may be gone: it ends by itself, within its own deadlines, and what it has made goes with it. What one
/// has left that was killed with its host goes with the next.
///
/// The programs are those that the host's static pods run, and its unit where etcd is one. They have a network of their own with nothing in it but its
/// loopback, so that they meet nobody, and whoever is no root on the host can't ask them. An etcd whose data are thrown away need not wait for the disk, which is that of the cluster's own.
const BEGIN: &str = r#"exec 3<&0 </dev/null
trap '' PIPE
mkdir -p -m 700 /run/kokctl /var/lib/kokctl
exec 8>/run/kokctl/rehearsal.lock
flock -n 8 || { echo 'another rehearsal is at work there' >&2; exit 1; }
ctr() { /usr/local/bin/ctr -n k8s.io "$@"; }
end() {
  for name in kokctl-rehearsal-api kokctl-rehearsal-etcd kokctl-rehearsal-restore; do
    ctr tasks delete -f "$name" >/dev/null 2>&1 || :
    ctr containers delete "$name" >/dev/null 2>&1 || :
  done
  systemctl stop kokctl-rehearsal-etcd.service 2>/dev/null || :
  rm -rf "$work"
}
trap end EXIT
trap 'exit 143' HUP INT TERM
end
fail() { echo "$1" >&2; exit 1; }
last() {
  said=$(grep -E '[Ee]rror|fatal|panic' "$1" 2>/dev/null | tail -n 1 | sed 's/[,{]*"stacktrace".*//' | cut -c1-600)
  fail "$2: ${said:-$(tail -n 1 "$1" 2>/dev/null | cut -c1-600)}"
}
at() { read -r up _ </proc/uptime; echo "at $1 $up"; }
image() { sed -n 's/^ *-* *image: *//p' "/etc/kubernetes/manifests/$1.yaml" 2>/dev/null | head -n 1; }
etcd=$(image etcd)
api=$(image kube-apiserver)
[ -n "$api" ] || fail 'it has no manifest of an API server, whose image is needed'
[ -n "$etcd" ] || [ -x /usr/local/bin/etcdutl ] || fail 'it has neither a manifest of etcd nor its programs'
mkdir -m 700 "$work"
free=$(df -Pk "$work" | awk 'NR == 2 { print $4 }')
[ "$((bytes / 1024 * 3 + 262144))" -le "${free:-0}" ] || fail "$((bytes / 1024 * 3 + 262144)) KiB are needed in $work, and ${free:-0} are free"
memory=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)
[ "$((bytes / 1024 + 786432))" -le "${memory:-0}" ] || fail "$((bytes / 1024 + 786432)) KiB of memory are needed, and ${memory:-0} are available"
at begun
cat <&3 >"$work/snapshot.db"
exec 3<&-
sum=$(sha256sum <"$work/snapshot.db")
[ "${sum%% *}" = "$sha256" ] || fail "what arrived has another sha256: ${sum%% *}"
"#;

/// `utl` and `alone` know what lies in the folder as `$there`; `ctl` asks the etcd that `alone` has started, whose process `process` prints.
const PROGRAMS: &str = r#"run() { ctr run --user 0:0 --cpu-shares 128 --mount "type=bind,src=$work,dst=/rehearsal,options=rbind:rw" "$@"; }
is_running() { ctr tasks ls 2>/dev/null | grep -q "^$1 .*RUNNING"; }
if [ -n "$etcd" ]; then
  there=/rehearsal
  utl() { run --rm "$etcd" kokctl-rehearsal-restore /usr/local/bin/etcdutl "$@"; }
  alone() { run -d --log-uri "file://$work/etcd.log" "$etcd" kokctl-rehearsal-etcd /usr/local/bin/etcd "$@"; }
  is_alone() { is_running kokctl-rehearsal-etcd; }
  process() { ctr tasks ls | awk '$1 == "kokctl-rehearsal-etcd" { print $2 }'; }
  ctl() { ctr tasks exec --exec-id "ask-$asked" kokctl-rehearsal-etcd /usr/local/bin/etcdctl "$@"; }
else
  there=$work
  utl() { /usr/local/bin/etcdutl "$@"; }
  alone() {
    systemd-run --quiet --collect --unit=kokctl-rehearsal-etcd --property=PrivateNetwork=yes --property=UMask=0077 --property=CPUWeight=13 \
      "--property=StandardError=append:$work/etcd.log" /usr/local/bin/etcd "$@"
  }
  is_alone() { systemctl is-active --quiet kokctl-rehearsal-etcd.service; }
  process() { systemctl show --property=MainPID --value kokctl-rehearsal-etcd.service; }
  ctl() { nsenter "--net=/proc/$(process)/ns/net" /usr/local/bin/etcdctl "$@"; }
fi
"#;

const RUN: &str = r#"at sent
utl snapshot restore "$there/snapshot.db" "--data-dir=$there/etcd" --name=rehearsal --initial-cluster=rehearsal=http://127.0.0.1:2380 --initial-advertise-peer-urls=http://127.0.0.1:2380 >"$work/restore.log" 2>&1 ||
  last "$work/restore.log" 'etcd does not take the snapshot'
rm -f "$work/snapshot.db"
at restored
alone "--data-dir=$there/etcd" --name=rehearsal --unsafe-no-fsync \
  --listen-peer-urls=http://127.0.0.1:2380 --initial-advertise-peer-urls=http://127.0.0.1:2380 --initial-cluster=rehearsal=http://127.0.0.1:2380 --listen-client-urls=http://127.0.0.1:2379 --advertise-client-urls=http://127.0.0.1:2379 --quota-backend-bytes=17179869184 --log-level=error >"$work/said" 2>&1 ||
  last "$work/said" 'etcd can not be started'
asked=0
ask() {
  asked=$((asked + 1))
  ctl --endpoints=http://127.0.0.1:2379 --command-timeout=600s "$@" >"$work/said" 2>&1
}
"#;

const ASK: &str = r#"until ask get kokctl --limit=1 --command-timeout=5s; do
  is_alone || last "$work/etcd.log" 'etcd does not start on what it has made of the snapshot'
  [ "$asked" -lt 240 ] || last "$work/said" 'etcd does not get ready on what it has made of the snapshot'
  sleep 0.5
done
ask endpoint status --write-out=json || last "$work/said" 'etcd does not answer'
echo "revision $(sed -n 's/.*"revision":\([0-9][0-9]*\).*/\1/p' "$work/said" | head -n 1)"
ask get / --prefix --count-only --write-out=fields || last "$work/said" 'etcd does not answer'
echo "keys $(sed -n 's/^"Count" : //p' "$work/said")"
at etcd
"#;

/// Options of the cluster's API servers that decide which objects they read, and by which rules; all others lead to what is not there. One that can't read its
/// Secrets is never ready (`informer-sync`), and says of each kind what is wrong as soon as it lives.
const SERVE: &str = r#"set --
while read -r line; do
  case "$line" in
    '- --service-cluster-ip-range='* | '- --service-node-port-range='* | '- --feature-gates='* | '- --runtime-config='* | '- --etcd-prefix='* | \
      '- --emulated-version='* | '- --emulation-forward-compatible='* | '- --runtime-config-emulation-forward-compatible='* | '- --storage-media-type='*)
      line=${line#- }
      set -- "$@" "$line" ;;
  esac
done </etc/kubernetes/manifests/kube-apiserver.yaml
[ ! -e "$work/encryption.yaml" ] || set -- "$@" --encryption-provider-config=/rehearsal/encryption.yaml
token=$(od -An -tx1 -N24 /dev/urandom | tr -d ' \n')
printf '%s,rehearsal,rehearsal\n' "$token" >"$work/tokens"
printf '%s\n' 'apiVersion: v1' 'kind: Config' 'current-context: r' 'contexts: [{name: r, context: {cluster: r, user: r}}]' \
  'clusters: [{name: r, cluster: {server: "https://127.0.0.1:6443", insecure-skip-tls-verify: true}}]' "users: [{name: r, user: {token: $token}}]" >"$work/kubeconfig"
pid=$(process)
api() {
  for socket in $plugins; do set -- --mount "type=bind,src=${socket%/*},dst=${socket%/*},options=rbind:rw" "$@"; done
  run "$@"
}
for socket in $plugins; do
  [ -S "$socket" ] || fail "no KMS plugin listens at $socket, and without it nobody can read what it has encrypted"
done
api -d --log-uri "file://$work/api.log" --with-ns "network:/proc/$pid/ns/net" "$api" kokctl-rehearsal-api kube-apiserver --etcd-servers=http://127.0.0.1:2379 \
  --bind-address=127.0.0.1 --secure-port=6443 --advertise-address=192.0.2.1 --endpoint-reconciler-type=none --cert-dir=/rehearsal/certificates \
  --authorization-mode=AlwaysAllow --token-auth-file=/rehearsal/tokens --watch-cache=false --service-account-issuer=https://rehearsal.invalid \
  --service-account-signing-key-file=/rehearsal/sa.key --service-account-key-file=/rehearsal/sa.pub "$@" >"$work/said" 2>&1 ||
  last "$work/said" 'an API server can not be started'
kube() { nsenter "--net=/proc/$pid/ns/net" nice -n 10 kubectl "--kubeconfig=$work/kubeconfig" "--cache-dir=$work/cache" "$@"; }
turn=0
until kube get --raw /livez --request-timeout=5s >"$work/said" 2>&1; do
  is_running kokctl-rehearsal-api || last "$work/api.log" 'the API server does not start on these data'
  turn=$((turn + 1))
  [ "$turn" -lt 300 ] || fail "the API server does not get ready on these data: $(sed 's/\\n/\n/g' "$work/said" | grep -F '[-]' | tr '\n' ' ' | cut -c1-600)"
  sleep 0.5
done
at served
"#;

/// What is defined by the cluster's users is served a moment later than the rest. Events are of no use to anybody who restores, and statuses of components are
/// asked for elsewhere.
const READ: &str = r#"names() { kube api-resources --verbs=list --no-headers -o name 2>/dev/null | sort -u; }
kube get customresourcedefinitions --request-timeout=60s -o jsonpath='{range .items[*]}{.metadata.name}{"\n"}{end}' >"$work/defined" 2>"$work/said" ||
  last "$work/said" 'the API server says nothing of what users have defined'
turn=0
while names >"$work/names"; missing=$(sort "$work/defined" | comm -13 "$work/names" -); [ -n "$missing" ] && [ "$turn" -lt 60 ]; do
  turn=$((turn + 1))
  sleep 0.5
done
[ -s "$work/names" ] || fail 'the API server names nothing that it has'
for name in $missing; do echo "unreadable $name the API server does not serve it"; done
while read -r name; do
  case "$name" in componentstatuses | events | events.events.k8s.io) continue ;; esac
  if kube get "$name" --all-namespaces --chunk-size=500 -o name >"$work/objects" 2>"$work/said" </dev/null; then
    echo "objects $name $(wc -l <"$work/objects")"
  else
    echo "unreadable $name $(tail -n 1 "$work/said" | tr -cd '[:print:]' | cut -c1-400)"
  fi
done <"$work/names"
at read
echo "clock $(date +%s)"
kubectl --kubeconfig=/etc/kubernetes/admin.conf --request-timeout=20s get --raw /metrics 2>/dev/null |
  grep -E '^(process_start_time_seconds |apiserver_(resource|storage)_objects\{)' || :
end
left=$(ctr containers ls -q | grep '^kokctl-rehearsal-') || :
[ ! -e "$work" ] && [ -z "$left" ] || fail "not all of it could be removed: look at $work and ${left:-its containers}"
echo whole
"#;

impl Rehearsing<'_> {
    /// For `/bin/sh` of a control plane with etcd beside it, which is root.
    #[must_use]
    pub fn script(&self) -> Zeroizing<String> {
        let (key, keys) = self.service_accounts;
        let encryption = self.encryption.unwrap_or_default();
        // Reserved at once: a growing string would leave copies of the keys behind.
        let most = 18432 + 8 * (key.len() + keys.len() + encryption.len());
        let mut text = Zeroizing::new(String::with_capacity(most));
        // What a KMS plugin has encrypted is read by the host's own.
        let plugins: BTreeSet<&str> = kms_plugins(encryption).into_iter().map(|(_, socket)| socket).collect();
        let plugins = plugins.into_iter().collect::<Vec<_>>().join(" ");
        let (sum, plugins) = (quote(self.sha256), quote(&plugins));
        text.push_str(&format!("work={WORK}\nbytes={}\nsha256={sum}\nplugins={plugins}\n{BEGIN}", self.bytes));
        let files = [("sa.key", Some(key)), ("sa.pub", Some(keys)), ("encryption.yaml", self.encryption)];
        for (name, content) in files.into_iter().filter_map(|(name, content)| Some((name, content?))) {
            let quoted = Zeroizing::new(quote(content));
            for piece in ["printf '%s' ", &quoted, " >\"$work/", name, "\"\n"] {
                text.push_str(piece);
            }
        }
        for piece in [PROGRAMS, RUN, ASK, SERVE, READ] {
            text.push_str(piece);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use std::process::Command;

    use super::*;

    /// Its quoting is that of shells, and its text is one for each of them.
    #[test]
    fn shells_take_the_script() {
        let text = Rehearsing { bytes: 7, sha256: "00", encryption: Some("a'b\n"), service_accounts: ("k'", "p") }.script();
        for shell in ["sh", "bash"] {
            let output = Command::new(shell).args(["-n", "-c", &text]).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        assert!(text.contains(r"printf '%s' 'a'\''b") && text.capacity() < 19_000 + 64, "it did not grow");
        assert!(text.contains("\nplugins=''\n"));
    }

    /// The API server is shown the folder of each plugin that the backup's configuration names, once.
    #[test]
    fn plugins_are_those_of_the_backup() {
        let plugin = |name: &str| {
            format!("  - kms:\n      apiVersion: v2\n      name: \"{name}\"\n      endpoint: \"unix:///run/kms/{name}.sock\"\n")
        };
        let encryption = ["b", "a", "b"].map(plugin).concat();
        let text = Rehearsing { bytes: 7, sha256: "00", encryption: Some(&encryption), service_accounts: ("k", "p") }.script();
        assert!(text.contains("\nplugins='/run/kms/a.sock /run/kms/b.sock'\n"), "{}", text.as_str());
    }
}

//! Every version that runs in a cluster, twice a second, and whether at any instant something ran beside what it may not (Kubernetes, "Version Skew
//! Policy"; etcd, "Upgrading etcd").

use std::collections::BTreeMap;

use kok_tests::lab::{Host, Lab};
use semver::Version;

use crate::cluster_support::cluster::has_etcd_alone;
use crate::cluster_support::{hosts, ok};
use crate::lab_support::wait_for;

/// A line for each look: the time, then programs with the versions of their processes: of one that works as an older version that one, by which it may run beside
/// others (KEP-4330). One that was started with `--version` serves nobody: kokctl asks so whether a new version takes its options, before it is to run.
///
/// A process is asked once, and found by what the shell does itself: hosts of a lab share two processors, and what looks at all of them twice a second by dozens of
/// processes would be what makes them slow.
const SCRIPT: &str = r#"mkdir -p -m 700 /root/skew
cd /root/skew
version_of() {
  works_as=$(printf '%s\n' "$arguments" | sed -n 's/^--emulated-version=\(kube=\)\{0,1\}\([0-9.]*\).*/\2/p')
  [ -z "$works_as" ] || { echo "$works_as.0"; return 0; }
  "$1/exe" --version </dev/null 2>/dev/null | sed -n '1s/.*[ v]\([0-9][0-9.]*\)$/\1/p'
}
ask() {
  arguments=$(tr '\0' '\n' <"$1/cmdline" 2>/dev/null) && [ -n "$arguments" ] || return 0
  if printf '%s\n' "$arguments" | grep -qxF -e --version; then
    echo none >"$2"
  else
    version=$(version_of "$1")
    [ -z "$version" ] || echo "$version" >"$2"
  fi
}
while :; do
  line=$(date +%s%3N)
  for process in /proc/[0-9]*; do
    { read -r program <"$process/comm"; } 2>/dev/null || continue
    case $program in kube-apiserver | kube-controller | kube-scheduler | etcd | kubelet) ;; *) continue ;; esac
    { read -r stat <"$process/stat"; } 2>/dev/null || continue
    set -- ${stat##*) }
    shift 19
    known=${process#/proc/}-$1
    [ -s "$known" ] || ask "$process" "$known"
    { read -r version <"$known"; } 2>/dev/null || continue
    [ "$version" = none ] || line="$line $program=$version"
  done
  echo "$line" >>seen
  sleep 0.5
done
"#;

/// What runs on one host: versions by program.
type Programs = BTreeMap<String, Vec<Version>>;

pub struct Watch<'a> {
    lab: &'a Lab,
}

impl<'a> Watch<'a> {
    /// Begins on every host.
    pub fn begin(lab: &'a Lab) -> Self {
        for host in hosts(lab) {
            // It has nothing to end well: what it has begun is waited for by nobody. systemd would, and in a container it may not hear that it has ended.
            let begin = "systemd-run --quiet --unit=skew --property=KillMode=process --property=KillSignal=SIGKILL \
                         --property=SuccessExitStatus=SIGKILL sh /root/skew.sh";
            ok(&host, &format!("cat >/root/skew.sh <<'END'\n{SCRIPT}END\n{begin}"));
        }
        // A host of etcd alone has no kubelet.
        let sees = |host: &Host| ok(host, "cat /root/skew/seen 2>/dev/null || :").contains(" kubelet=") || has_etcd_alone(host);
        wait_for("all hosts say what runs", 60, || hosts(lab).iter().all(&sees));
        Self { lab }
    }

    /// Ends, and fails if at any instant something ran that may not.
    pub fn end(self) {
        let mut looks: Vec<(u64, String, Programs)> = Vec::new();
        for host in hosts(self.lab) {
            let seen = ok(
                &host,
                "systemctl stop skew; systemctl reset-failed skew 2>/dev/null; cat /root/skew/seen; rm -rf /root/skew /root/skew.sh",
            );
            looks.extend(seen.lines().filter_map(read).map(|(at, programs)| (at, host.name().to_owned(), programs)));
        }
        looks.sort();
        let mut now: BTreeMap<String, Programs> = BTreeMap::new();
        let count = looks.len();
        for (at, host, programs) in looks {
            now.insert(host, programs);
            let wrong = forbidden(&now);
            assert!(wrong.is_none(), "at {at}: {}: {now:?}", wrong.unwrap());
        }
        println!("{count} looks at what runs");
    }
}

fn read(line: &str) -> Option<(u64, Programs)> {
    let mut words = line.split(' ');
    let at = words.next()?.parse().ok()?;
    let mut programs = Programs::new();
    for (program, version) in words.filter_map(|word| word.split_once('=')) {
        programs.entry(program.to_owned()).or_default().extend(version.parse::<Version>());
    }
    Some((at, programs))
}

/// What of this may not be.
fn forbidden(now: &BTreeMap<String, Programs>) -> Option<String> {
    let all = |program: &str| now.values().filter_map(|on| on.get(program)).flatten().collect::<Vec<_>>();
    let planes = all("kube-apiserver");
    if let Some((oldest, newest)) = planes.iter().min().zip(planes.iter().max()) {
        if newest.minor - oldest.minor > 1 {
            return Some(format!("API servers of {oldest} and {newest}"));
        }
        for kubelet in all("kubelet") {
            if kubelet.minor > oldest.minor || newest.minor - kubelet.minor > 3 {
                return Some(format!("a kubelet {kubelet} beside API servers of {oldest} and {newest}"));
            }
        }
    }
    for on in now.values() {
        for program in ["kube-controller", "kube-scheduler"] {
            for plane in on.get("kube-apiserver").into_iter().flatten() {
                if let Some(newer) = on.get(program).into_iter().flatten().find(|version| version.minor > plane.minor) {
                    return Some(format!("{program} {newer} beside an API server of {plane}"));
                }
            }
        }
    }
    let members = all("etcd");
    let is_too_old = |version: &&&Version| ***version < Version::new(3, 6, 11);
    let is_next = |version: &&&Version| version.minor >= 7;
    members.iter().find(is_too_old).zip(members.iter().find(is_next)).map(|(old, new)| format!("members of etcd {old} and {new}"))
}

#[test]
fn what_may_not_be_is_found() {
    let now =
        |lines: &[&str]| lines.iter().enumerate().map(|(host, line)| (host.to_string(), read(line).unwrap().1)).collect::<BTreeMap<_, _>>();
    let fine =
        ["1 kube-apiserver=1.37.1 kube-scheduler=1.36.3 etcd=3.7.0 kubelet=1.36.3", "1 kube-apiserver=1.36.3 etcd=3.6.14 kubelet=1.34.1"];
    assert_eq!(forbidden(&now(&fine)), None);
    for wrong in [
        ["1 kube-apiserver=1.37.1", "1 kube-apiserver=1.35.8"],
        ["1 kube-apiserver=1.36.3", "1 kubelet=1.37.1"],
        ["1 kube-apiserver=1.37.1", "1 kubelet=1.33.4"],
        ["1 kube-apiserver=1.36.3 kube-controller=1.37.1", "1"],
        ["1 etcd=3.6.8", "1 etcd=3.7.0"],
    ] {
        assert!(forbidden(&now(&wrong)).is_some(), "{wrong:?}");
    }
}

//! A control plane below a folder, on which scripts of a recovery are run, and killed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use kok_tasks::change::Verdict;
use kok_tasks::observe::{Kind, Look, Metadata, Observations, PathState, UnitState};
use kok_tasks::operations::Operation;

use crate::recovery::order;
use crate::support::shell::{Folder, inner_of, run};

/// What runs there, by its manifest.
pub(super) const PROGRAMS: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/// containerd, with an etcd that writes to its data as soon as it is started. What it restores is what it was given, and new.
const CTR: &str = r#"#!/bin/sh
shift 2
for word; do case $word in type=bind,*) src=${word#*src=}; src=${src%%,*};; esac; done
case "$1 $2" in
  'run -d')
    printf %s "$src" >"ROOT/alone"
    echo and more >>"$src/member/snap/db";;
  'run --rm')
    while [ "$1" != restore ]; do shift; done
    [ ! -e "ROOT/bump" ] || echo "$*" | sed -n 's/.*--bump-revision=\([0-9]*\).*/\1/p' >>"ROOT/bump"
    mkdir -p "$src/work/restored/member/snap" "$src/work/restored/member/wal"
    : >"$src/work/restored/member/wal/1.wal"
    { echo new; cat "$src/${2#/kept/}"; } >"$src/work/restored/member/snap/db";;
  'tasks exec')
    [ -e "ROOT/alone" ] || exit 1
    alone=$(cat "ROOT/alone")
    case "$*" in
      *'snapshot save'*) cp "$alone/member/snap/db" "$alone/snapshot.db";;
      *'endpoint status'*) echo '[{"Status":{"header":{"member_id":1,"revision":42,"raft_term":2}}}]';;
      *'alarm list'*) cat "ROOT/alarm" 2>/dev/null; :;;
      *'alarm disarm'*) rm -f "ROOT/alarm"; echo disarm >>"ROOT/freed";;
      *compact*) echo "compact ${*##* }" >>"ROOT/freed";;
      *defrag*) echo defrag >>"ROOT/freed";;
      *' del '*) echo "${*##* del }" >>"ROOT/deleted"; echo gone >>"$alone/member/snap/db";;
    esac;;
  'tasks ls') [ ! -e "ROOT/alone" ] || echo 'kokctl-recover-etcd 1 RUNNING';;
  'tasks delete') rm -f "ROOT/alone";;
esac
"#;

/// systemd, which starts the member as its unit says it.
const SYSTEMCTL: &str = r#"#!/bin/sh
case "$*" in
  *'ActiveState --value etcd.service') cat "ROOT/unit/active";;
  *'MainPID --value kokctl-recover-etcd.service') echo 1;;
  'is-active --quiet kokctl-recover-etcd.service') [ -e "ROOT/alone" ];;
  'stop kokctl-recover-etcd.service') rm -f "ROOT/alone";;
  'try-restart kubelet.service') ls "ROOT/etc/kubernetes/manifests" >"ROOT/bin/knows";;
  'stop etcd.service') echo inactive >"ROOT/unit/active";;
  'disable --quiet etcd.service') echo disabled >"ROOT/unit/file";;
  'enable --quiet etcd.service') echo enabled >"ROOT/unit/file";;
  start*' etcd.service')
    [ -e "ROOT/var/lib/etcd/member/wal" ] || [ ! -e "ROOT/var/lib/kokctl/made/etcd-started" ] || exit 1
    [ -e "ROOT/var/lib/kokctl/made/etcd-started" ] || { echo 'it may found another cluster' >&2; exit 1; }
    echo active >"ROOT/unit/active";;
esac
"#;

const SYSTEMD_RUN: &str = r#"#!/bin/sh
for word; do case $word in --data-dir=*) src=${word#*=};; esac; done
printf %s "$src" >"ROOT/alone"
echo and more >>"$src/member/snap/db"
"#;

const ETCDUTL: &str = r#"#!/bin/sh
while [ "$1" != restore ]; do shift; done
for word; do case $word in --data-dir=*) to=${word#*=};; esac; done
mkdir -p "$to/member/snap" "$to/member/wal"
: >"$to/member/wal/1.wal"
{ echo new; cat "$2"; } >"$to/member/snap/db"
"#;

const NSENTER: &str = "#!/bin/sh\nexec \"ROOT/bin/ctr\" -n k8s.io tasks exec \"$@\"\n";

/// A control plane below a folder, and whether its member is a unit.
pub(super) struct ScriptHost(pub(super) Folder, pub(super) bool);

impl ScriptHost {
    pub(super) fn new() -> Self {
        Self::with(false)
    }

    /// The manifests that it has.
    pub(super) fn programs(&self) -> &'static [&'static str] {
        if self.1 { &PROGRAMS[1..] } else { &PROGRAMS }
    }

    pub(super) fn with(unit: bool) -> Self {
        let host = Self(Folder::new(), unit);
        for folder in ["bin", "var/lib/etcd/member/snap", "var/lib/etcd/member/wal", "var/lib/kokctl", "etc/kubernetes/manifests"] {
            fs::create_dir_all(host.0.path(folder)).unwrap();
        }
        host.write("var/lib/etcd/member/snap/db", "old\n");
        host.write("var/lib/etcd/member/wal/0.wal", "log\n");
        host.write("var/lib/kokctl/recover", &order("cp3", &[]).text());
        host.programs().iter().for_each(|name| host.write(&format!("etc/kubernetes/manifests/{name}.yaml"), &format!("image: {name}\n")));
        fs::create_dir_all(host.0.path("etc/systemd/system")).unwrap();
        host.write("etc/systemd/system/kubelet.service", "\n");
        host.write("bin/knows", "all of them\n");
        if unit {
            for folder in ["unit", "var/lib/kokctl/made"] {
                fs::create_dir_all(host.0.path(folder)).unwrap();
            }
            let started = "var/lib/kokctl/made/etcd-started";
            [("unit/active", "active\n"), ("unit/file", "enabled\n"), ("etc/systemd/system/etcd.service", "\n"), (started, "had data\n")]
                .iter()
                .for_each(|(path, text)| host.write(path, text));
        }
        let nothing = "#!/bin/sh\n";
        let programs = [("ctr", CTR), ("systemctl", SYSTEMCTL), ("systemd-run", SYSTEMD_RUN), ("etcdutl", ETCDUTL), ("nsenter", NSENTER)];
        for (name, text) in programs.into_iter().chain([("sync", nothing), ("chown", nothing)]) {
            host.0.program(&format!("bin/{name}"), &text.replace("ROOT", &host.0.text("")));
        }
        host
    }

    /// The same host once more.
    pub(super) fn copy(&self) -> Self {
        let other = Self(Folder::new(), self.1);
        let copied = Command::new("cp").arg("-a").arg(self.0.path(".")).arg(other.0.root()).status().unwrap();
        assert!(copied.success());
        let (from, to) = (self.0.text(""), other.0.text(""));
        for name in ["bin/ctr", "bin/systemctl", "bin/systemd-run", "bin/nsenter", "alone"] {
            if let Ok(text) = fs::read_to_string(other.0.path(name)) {
                other.write(name, &text.replace(&from, &to));
            }
        }
        other
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        fs::write(self.0.path(path), text).unwrap();
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.0.path(path).symlink_metadata().is_ok()
    }

    pub(super) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.0.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(super) fn says(&self, word: &str) -> bool {
        fs::read_to_string(self.0.path(&format!("var/lib/kokctl/recovery/{word}"))).is_ok_and(|text| text.trim() == "r-1")
    }

    /// Everything that is there but programs.
    pub(super) fn state(&self) -> BTreeMap<String, String> {
        let mut state = BTreeMap::new();
        files(self.0.root(), &mut state);
        state.into_iter().map(|(path, text)| (path.replace(&self.0.text(""), "/"), text.replace(&self.0.text(""), "/"))).collect()
    }

    fn look(&self, looks: Vec<Look>) -> Observations {
        let mut seen = Observations { programs: Some(BTreeMap::new()), ..Observations::default() };
        for look in looks {
            match look {
                Look::Path(path) => {
                    let there = self.0.path(path.trim_start_matches('/')).symlink_metadata();
                    let file = Metadata { kind: Kind::File, mode: 0o600, user: 0, group: 0, size: 1, changed_nanoseconds: 0, sha256: None };
                    drop(seen.paths.insert(path, there.map_or(PathState::Missing, |_| PathState::Present(file))));
                }
                Look::Content(path) => {
                    let text = fs::read(self.0.path(path.trim_start_matches('/')));
                    seen.contents.extend(text.ok().map(|text| (path, text)));
                }
                Look::Programs => {}
                Look::Unit(name) => {
                    let said = |what: &str| self.text(&format!("unit/{what}")).trim().to_owned();
                    let unit = UnitState { active: said("active"), file: said("file"), ..UnitState::default() };
                    drop(seen.units.insert(name, unit));
                }
                other => panic!("{other:?}"),
            }
        }
        seen
    }

    /// What a step does as long as there is something to do; killed before a command, if that is said. Whether it came to its end.
    pub(super) fn step(&self, operation: &Operation, shell: &[&str], killed_before: Option<usize>) -> bool {
        let change = match operation.diff(&self.look(operation.looks())) {
            Verdict::Same => return true,
            Verdict::Differs(change) => change,
            Verdict::Unseen => panic!("{}", operation.title()),
        };
        let killer = killed_before.map_or_else(String::new, |command| {
            format!(
                "n=0\nset -T\ntrap '[ \"$BASH_SUBSHELL\" -ne 0 ] || {{ n=$((n + 1)); [ \"$n\" -ne {command} ] || kill -9 $$; }}' DEBUG\n"
            )
        });
        let root = self.0.text("");
        let root = root.trim_end_matches('/');
        let script = inner_of(operation.act(&change).script().unwrap().parts());
        let script = script.replace("/var/lib/", &format!("{root}/var/lib/")).replace("/etc/kubernetes", &format!("{root}/etc/kubernetes"));
        let script = script.replace("/etc/systemd", &format!("{root}/etc/systemd"));
        let script = ["ctr", "etcd"]
            .iter()
            .fold(script, |script, name| script.replace(&format!("/usr/local/bin/{name}"), &format!("{root}/bin/{name}")));
        let output = run(shell, &["-eu"], &format!("PATH={root}/bin:$PATH\n{killer}{script}"));
        let was_killed = output.status.code().is_none();
        assert!(output.status.success() || was_killed, "{}: {output:?}", operation.title());
        !was_killed
    }
}

fn files(folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_str().unwrap().to_owned();
        let is = path.symlink_metadata().unwrap();
        if is.is_dir() && !name.ends_with("/bin") {
            found.insert(name, String::new());
            files(&path, found);
        } else if !is.is_dir() {
            let text = if is.is_symlink() { "a link".to_owned() } else { fs::read_to_string(&path).unwrap() };
            found.insert(name, text);
        }
    }
}

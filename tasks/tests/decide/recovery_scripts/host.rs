//! A control plane below a folder, on which scripts of a recovery are run, and killed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use kok_tasks::change::Verdict;
use kok_tasks::observe::{Kind, Look, Metadata, Observations, PathState};
use kok_tasks::operations::Operation;
use kok_tasks::script::Part;

use crate::recovery::order;
use crate::support::shell::{Folder, run};

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

/// A control plane below a folder.
pub(super) struct Host(pub(super) Folder);

impl Host {
    pub(super) fn new() -> Self {
        let host = Self(Folder::new());
        for folder in ["bin", "var/lib/etcd/member/snap", "var/lib/etcd/member/wal", "var/lib/kokctl", "etc/kubernetes/manifests"] {
            fs::create_dir_all(host.0.path(folder)).unwrap();
        }
        host.write("var/lib/etcd/member/snap/db", "old\n");
        host.write("var/lib/etcd/member/wal/0.wal", "log\n");
        host.write("var/lib/kokctl/recover", &order("cp3", &[]).text());
        PROGRAMS.iter().for_each(|name| host.write(&format!("etc/kubernetes/manifests/{name}.yaml"), &format!("image: {name}\n")));
        for (name, text) in [("ctr", CTR), ("systemctl", "#!/bin/sh\n"), ("sync", "#!/bin/sh\n")] {
            host.0.program(&format!("bin/{name}"), &text.replace("ROOT", &host.0.text("")));
        }
        host
    }

    /// The same host once more.
    pub(super) fn copy(&self) -> Self {
        let other = Self(Folder::new());
        let copied = Command::new("cp").arg("-a").arg(self.0.path(".")).arg(other.0.root()).status().unwrap();
        assert!(copied.success());
        let (from, to) = (self.0.text(""), other.0.text(""));
        for name in ["bin/ctr", "alone"] {
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
        let script = inner(operation.act(&change).script().unwrap().parts());
        let script = script.replace("/var/lib/", &format!("{root}/var/lib/")).replace("/etc/kubernetes", &format!("{root}/etc/kubernetes"));
        let script = script.replace("/usr/local/bin/ctr", &format!("{root}/bin/ctr"));
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

/// What a fragment does, be it by a job.
fn inner(parts: &[Part]) -> String {
    let text: String = parts.iter().map(|part| if let Part::Text(text) = part { text.as_str() } else { panic!("{part:?}") }).collect();
    let Some((_, rest)) = text.split_once("base64 -d <<'--END--'") else { return text };
    let body: String = rest.lines().skip(1).take_while(|line| *line != "--END--").collect();
    String::from_utf8(base64::engine::general_purpose::STANDARD.decode(body).unwrap()).unwrap()
}

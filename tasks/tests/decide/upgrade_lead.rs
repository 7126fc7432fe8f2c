//! The lead of etcd goes to another member while API servers are held.

use std::process::{Child, Command};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use kok_tasks::observe::{EtcdMember, EtcdPeer, EtcdState, Observations};
use kok_tasks::operations::lead::{give_script, go_on_script, hold_script, successors};

use crate::support::shell::{Folder, SHELLS, run};

/// systemd, with one unit: what is to be done at its end is written down, and done.
const SYSTEMD_RUN: &str = r#"#!/bin/sh
for option; do
  case $option in
    --property=ExecStopPost=*) printf '%s\n' "${option#--property=ExecStopPost=}" >ROOT/after; shift;;
    --*) shift;;
    *) break;;
  esac
done
{ "$@"; sh ROOT/after; } >/dev/null 2>&1 </dev/null &
echo $! >ROOT/unit
"#;

const SYSTEMCTL: &str = r#"#!/bin/sh
[ -e ROOT/unit ] || exit 5
kill "$(cat ROOT/unit)"
sh ROOT/after
rm ROOT/unit
"#;

/// A program of this name that does nothing for a while.
fn begins(folder: &Folder, name: &str) -> Child {
    let program = folder.path(name);
    if !program.exists() {
        std::fs::copy("/bin/sleep", &program).unwrap();
    }
    Command::new(program).arg("60").spawn().unwrap()
}

fn is_held(process: &Child) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    status.lines().any(|line| line.starts_with("State:") && line.contains('T'))
}

/// That of the control plane's own pod, and no other one; it goes on when it is said, and by itself.
#[test]
fn an_api_server_is_held_and_goes_on() {
    for shell in SHELLS {
        let folder = Folder::new();
        let root = folder.root().to_str().unwrap();
        let (mut ours, mut theirs) = (begins(&folder, "kube-apiserver"), begins(&folder, "kube-apiserver"));
        let list = format!(
            "#!/bin/sh\ncase \"$*\" in *containers*) echo one;; *) echo 'one {} RUNNING'; echo 'two {} RUNNING';; esac\n",
            ours.id(),
            theirs.id()
        );
        folder.program("ctr", &list);
        folder.program("systemd-run", &SYSTEMD_RUN.replace("ROOT", root));
        folder.program("systemctl", &SYSTEMCTL.replace("ROOT", root));
        let does = |script: &str| {
            let script = script.replace("/usr/local/bin/", &format!("{root}/")).replace("/run/kokctl", root);
            let output = run(shell, &[], &format!("PATH={root}:$PATH\n{script}"));
            assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        };
        does(&hold_script());
        assert!(is_held(&ours) && !is_held(&theirs));
        does(&go_on_script());
        assert!(!is_held(&ours));
        // Whoever comes late needs what ends it still.
        does(&go_on_script());
        assert!(folder.path("hold.sh").exists());
        does(&hold_script().replace("sleep 2'", "sleep 0.1'"));
        assert!(is_held(&ours));
        let deadline = Instant::now() + Duration::from_secs(10);
        while is_held(&ours) {
            assert!(Instant::now() < deadline, "it goes on by itself");
            yield_now();
        }
        for process in [&mut ours, &mut theirs] {
            process.kill().unwrap();
            process.wait().unwrap();
        }
        let none = hold_script().replace("/usr/local/bin/", &format!("{root}/")).replace("/run/kokctl", root);
        assert_eq!(run(shell, &[], &none).status.code(), Some(3), "nothing is held");
    }
}

/// To the first one that takes it; the script says whether anybody has.
#[test]
fn the_lead_is_given_to_the_first_one_that_takes_it() {
    let gateway = r#"#!/bin/sh
said=$(cat)
echo "$said" >>LOG
case $said in *'"12"'*) exit 1;; esac
"#;
    for shell in SHELLS {
        let folder = Folder::new();
        folder.program("kubectl", &gateway.replace("LOG", &folder.text("log")));
        let gives = |ids: &[u64]| {
            let script = give_script(ids).replace("/usr/local/bin/", &format!("{}/", folder.root().display()));
            run(shell, &[], &script).status.success()
        };
        assert!(gives(&[12, 13, 14]) && !gives(&[12]));
        let log = std::fs::read_to_string(folder.path("log")).unwrap();
        assert_eq!(log, "{\"targetID\":\"12\"}\n{\"targetID\":\"13\"}\n{\"targetID\":\"12\"}\n");
    }
}

/// Members with a vote, where the host's own leads by its own word.
#[test]
fn who_may_lead_instead() {
    let url = |number: u64| format!("https://10.20.0.{number}:2380");
    let peer = |id: u64| EtcdPeer { id, is_learner: id == 14, name: format!("cp{id}"), peer_url: url(id), is_started: true };
    let member = |leader: u64| EtcdMember {
        id: 11,
        leader,
        has_leader: leader != 0,
        members: (11..=14).map(peer).collect(),
        ..EtcdMember::default()
    };
    let seen = |etcd: Option<EtcdState>| Observations { etcd, ..Observations::default() };
    let of = |etcd: Option<EtcdState>| successors(&[13, 14, 19].map(url), &seen(etcd));
    assert_eq!(of(Some(EtcdState::Ready(member(11)))), [13, 12]);
    assert_eq!(successors(&[], &seen(Some(EtcdState::Ready(member(11))))), [12, 13]);
    for other in [Some(EtcdState::Ready(member(12))), Some(EtcdState::Ready(member(0))), Some(EtcdState::Absent), None] {
        assert_eq!(of(other), [0; 0]);
    }
}

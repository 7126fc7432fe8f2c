//! What `kokctl support` asks of a host, in the shells that hosts have.

use std::fs;

use kok_tasks::support::script;

use crate::support::shell::{Folder, SHELLS, run};
use crate::support::{cluster, highly_available};

/// Programs that tell nothing of the machine that the test runs on.
const SILENT: [&str; 13] =
    ["uname", "uptime", "timedatectl", "free", "df", "ip", "systemctl", "journalctl", "find", "env", "grep", "cat", "hostname"];

fn folder() -> Folder {
    let folder = Folder::new();
    for name in SILENT {
        folder.program(name, "#!/bin/sh\necho \"this is ${0##*/}\"\n");
    }
    for (pod, container) in [("etcd-cp1_1", "etcd"), ("kube-apiserver-cp1_2", "kube-apiserver"), ("kube-scheduler-cp1_3", "kube-scheduler")]
    {
        let logs = folder.path(&format!("kube-system_{pod}/{container}"));
        fs::create_dir_all(&logs).unwrap();
        fs::write(logs.join("0.log"), format!("{container} ended\n")).unwrap();
        fs::write(logs.join("1.log"), format!("{container} says so\n")).unwrap();
    }
    folder
}

fn script_output(shell: &[&str], folder: &Folder, most: usize) -> String {
    let cluster = highly_available();
    let text = script(cluster.host("cp1").unwrap(), most).replace("/var/log/pods", &folder.text(""));
    let output = run(shell, &[], &format!("PATH={}:$PATH\n{text}", folder.text("")));
    assert!(output.status.success(), "{shell:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// dash knows no braces.
#[test]
fn what_etcd_and_the_api_server_have_said_comes_along() {
    for shell in SHELLS {
        let said = script_output(shell, &folder(), 1 << 20);
        for words in ["etcd says so", "etcd ended", "kube-apiserver says so", "kube-apiserver ended", "kube-scheduler says so"] {
            assert!(said.contains(words), "{shell:?}: {words}: {said}");
        }
        for words in ["==== uname -a\nthis is uname\n", "==== kube get nodes", "journalctl --no-pager --quiet --lines=1500 --unit=etcd"] {
            assert!(said.contains(words), "{shell:?}: {words}: {said}");
        }
    }
    let worker = script(cluster().host("worker1").unwrap(), 1 << 20);
    assert!(!worker.contains("kube get") && !worker.contains(" etcd kokctl"), "it is asked what it knows");
}

/// A disk that hangs, and a log without end.
#[test]
fn no_answer_takes_for_ever_or_all_the_room() {
    for shell in SHELLS {
        let folder = folder();
        folder.program("timedatectl", "#!/bin/sh\nexec sleep 100\n");
        // The clock of the host, so that nobody waits here.
        folder.program("timeout", "#!/bin/sh\nshift 3\n[ \"${1##*/}\" != timedatectl ] || exit 124\nexec \"$@\"\n");
        folder.program(
            "journalctl",
            "#!/bin/sh\nfor n in 1 2 3 4 5 6 7 8 9; do echo \"password=c4n4ry$n of many words, and more of them\"; done\n",
        );
        let all = script_output(shell, &folder, 4096);
        assert!(all.contains("==== timedatectl\n(cut off after 15 s)\n"), "{shell:?}: {all}");
        let (_, part) = all.split_once("==== journalctl").unwrap();
        let (part, _) = part.split_once("\n====").unwrap();
        let lines: Vec<&str> = part.lines().skip(1).filter(|line| !line.is_empty()).collect();
        assert!(lines.len() < 9 && lines.iter().all(|line| line.starts_with("password=")), "whole lines, and the last: {lines:?}");
        assert!(lines.last().is_some_and(|line| line.contains("c4n4ry9")));
        // A minute later.
        folder.program("date", &format!("#!/bin/sh\necho x >>{0}asked\nexpr 1000000 + 30 \\* \"$(wc -l <{0}asked)\"\n", folder.text("")));
        let late = script_output(shell, &folder, 1 << 20);
        assert!(late.contains("this is uname") && late.contains("(not asked: the host has been at it for too long)"), "{shell:?}: {late}");
    }
}

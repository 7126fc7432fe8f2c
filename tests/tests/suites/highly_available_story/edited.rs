//! A file that asks for what is an operation of its own, as it would be after an edit: `plan` and `apply` name that operation and change nothing.

use std::fs;

use kok_tests::lab::Lab;

use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::snapshot;
use crate::lab_support::wait_for;

/// What somebody makes of the file, and what he has to be told.
struct Edit {
    edited: fn(&str) -> String,
    expected: &'static [&'static str],
}

const EDITS: [Edit; 6] = [
    Edit { edited: |file| network(file, "podCIDR: 10.128.0.0/16"), expected: &["a new range of pods is an operation of its own"] },
    Edit { edited: |file| network(file, "serviceCIDR: 10.129.0.0/16"), expected: &["a new range of services is an operation of its own"] },
    Edit {
        edited: |file| network(file, "nodePrefix: 25"),
        expected: &["another share of the range of pods for each node is an operation of its own"],
    },
    // An even number of members would be an error of the file alone.
    Edit {
        edited: |file| without(&without(file, "cp2"), "cp3"),
        expected: &["a member does not leave etcd because a line of the file is lost", "kokctl remove -f FILE cp2 cp3"],
    },
    Edit {
        edited: |file| role(&role(file, "worker1", "control-plane"), "worker2", "control-plane"),
        expected: &["worker1 is a worker of the cluster, and the file makes it a control plane", "kokctl replace -f FILE worker1 worker2"],
    },
    Edit {
        edited: |file| role(&role(file, "worker1", "control-plane"), "cp2", "worker"),
        expected: &["cp2 was set up as a control plane, and the file gives it other roles", "kokctl replace -f FILE cp2 worker1"],
    },
];

/// What can be told only where the bundle holds the version that is asked for: otherwise that one is missing is told.
const OLDER: [(&str, Edit); 2] = [
    (
        "1.36.3",
        Edit {
            edited: |file| file.replacen("kubernetesVersion: 1.37.1", "kubernetesVersion: 1.36.3", 1),
            expected: &["has kubernetesVersion v1.37.1, the file asks for v1.36.3", "that is no upgrade: Kubernetes can't go back"],
        },
    ),
    (
        "2.2.9",
        Edit {
            edited: |file| format!("{file}    containerd_version: 2.2.9\n"),
            expected: &["runs containerd 2.3.7, and the file asks for 2.2.9", "containerd can't go back to an older version"],
        },
    ),
];

pub fn needs_an_operation_of_its_own(lab: &Lab, kokctl: &Kokctl<'_>, manifest: &str) {
    // Pods that are on their way out still take their links with them.
    wait_for("no pod is on its way out", 120, || !kubectl(lab, "get namespaces,pods -A --no-headers").contains("Terminating"));
    let before = snapshot::fingerprint(lab);
    let held = fs::read_to_string(kokctl.bundle().join("bundle.json")).unwrap();
    let older = OLDER.iter().filter(|(version, _)| held.contains(version)).map(|(_, edit)| edit);
    for edit in EDITS.iter().chain(older) {
        let edited = (edit.edited)(manifest);
        assert_ne!(edited, manifest, "{:?}", edit.expected);
        kokctl.write_manifest(&edited);
        for verb in ["plan", "apply"] {
            let said = kokctl.verb(verb, &["--bundle", kokctl.bundle().to_str().unwrap()]);
            assert_eq!((said.code, said.stdout.as_str()), (3, ""), "{verb}: {said:?}");
            let missing: Vec<_> = edit.expected.iter().filter(|told| !unwrapped(&said.stderr).contains(**told)).collect();
            assert!(missing.is_empty(), "{verb} does not say {missing:?}: {said:?}");
        }
    }
    snapshot::assert_same(&before, &snapshot::fingerprint(lab), "what is refused changes nothing");
    kokctl.write_manifest(manifest);
    kokctl.has_nothing_to_do();
}

/// What is said, wherever its lines were broken.
fn unwrapped(said: &str) -> String {
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn network(file: &str, line: &str) -> String {
    file.replacen("  network:\n", &format!("  network:\n    {line}\n"), 1)
}

fn without(file: &str, host: &str) -> String {
    let kept = file.lines().filter(|line| !line.contains(&format!("{{name: {host},")));
    kept.map(|line| format!("{line}\n")).collect()
}

fn role(file: &str, host: &str, role: &str) -> String {
    let of_host = |line: &str| match line.split_once("roles: [") {
        Some((start, _)) if line.contains(&format!("{{name: {host},")) => format!("{start}roles: [{role}]}}\n"),
        _ => format!("{line}\n"),
    };
    file.lines().map(of_host).collect()
}

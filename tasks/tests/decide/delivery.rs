//! Hosts that fetch what is installed on them: from where, after what, and what they do about answers that are cut, wrong or none.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use kok_tasks::artifact::{Artifact, Source, Supply};
use kok_tasks::change::{Change, ChangeKind};
use kok_tasks::digest::sha256;
use kok_tasks::plan::Plan;
use kok_tasks::preconditions;
use kok_tasks::resources::{Act, Binary, Resource};

use crate::support::cluster_of;
use crate::support::shell::{Folder, SHELLS, run, script_of};
use crate::support::world::World;

const CLUSTER: &str = include_str!("../fixtures/cluster.yaml");

/// The cluster in which one worker fetches for itself, with these variables.
fn with(vars: &str) -> World {
    let line = "name: worker1, address: 10.20.0.12, roles: [worker]";
    assert!(CLUSTER.contains(line));
    let text = CLUSTER.replace(line, &format!("{line}, delivery: pull"));
    World::bare_of(cluster_of(&format!("{}\n  vars: {{{vars}}}\n", text.trim_end())))
}

fn acts(plan: &Plan, host: &str) -> Vec<(String, Act)> {
    plan.changes().filter(|(step, _)| step.host == host).map(|(step, change)| (step.title(), step.act(change))).collect()
}

#[test]
fn a_host_fetches_what_upstream_has_and_the_others_are_sent_it() {
    let plan = with("").plan();
    let of_worker = acts(&plan, "worker1");
    let sent: Vec<&String> = of_worker.iter().filter(|(_, act)| matches!(act, Act::Stream { .. })).map(|(title, _)| title).collect();
    assert!(
        !sent.is_empty() && sent.iter().all(|title| title.contains("ghcr.io/kokctl/") && title.contains(", sent by kokctl: ")),
        "{sent:?}"
    );
    let fetched: Vec<&String> = of_worker.iter().filter(|(_, act)| matches!(act, Act::Fetch(_))).map(|(title, _)| title).collect();
    for part in ["fetched by the host from https://dl.k8s.io/release/", "https://github.com/", "registry.k8s.io/pause@sha256:"] {
        assert!(fetched.iter().any(|title| title.contains(part)), "{part}: {fetched:?}");
    }
    for host in ["cp1", "worker2"] {
        assert!(!acts(&plan, host).iter().any(|(title, act)| matches!(act, Act::Fetch(_)) || title.contains("fetched by")), "{host}");
    }
}

#[test]
fn mirrors_and_the_proxy_of_the_cluster_are_those_of_its_hosts() {
    let plan =
        with("dl_k8s_io_url: 'http://files.lan/dl', kube_image_repo: 'registry.lan:5000/k8s', https_proxy: 'http://proxy.lan:3128'").plan();
    let scripts: Vec<String> =
        acts(&plan, "worker1").into_iter().filter(|(_, act)| matches!(act, Act::Fetch(_))).map(|(_, act)| script_of(&act)).collect();
    let is_there = |parts: &[&str]| scripts.iter().any(|script| parts.iter().all(|part| script.contains(part)));
    assert!(is_there(&["address='http://files.lan/dl/release/", "protocols==http,https\n"]));
    assert!(is_there(&["address='https://github.com/", "protocols==https\n"]));
    assert!(is_there(&["address='registry.lan:5000/k8s/pause@sha256:", "reference='registry.k8s.io/pause:"]));
    assert!(
        scripts.iter().all(|script| script.contains("export https_proxy='http://proxy.lan:3128'\n") && script.contains("export no_proxy="))
    );
}

#[test]
fn whoever_fetches_trusts_by_then_whom_the_owner_trusts() {
    let plan = with("").plan();
    for step in plan.steps().filter(|step| step.title().contains("fetched by the host")) {
        let needs: Vec<String> = plan.needs(&step.id).into_iter().map(|(need, _)| need.id.to_string()).collect();
        assert!(needs.contains(&"worker1/trust/store".to_owned()), "{}: {needs:?}", step.id);
    }
}

#[test]
fn a_host_without_curl_is_told_of_before_anything_changes() {
    let refusals = |install: &str| {
        let world = with(&format!("install_packages: {install}"));
        let mut seen = world.seen();
        for host in ["worker1", "worker2"] {
            let mut facts = seen.facts(host).unwrap().clone();
            facts.commands.remove("curl");
            facts.installable = ["curl".to_owned()].into();
            seen.add_facts(host, facts);
        }
        preconditions::check(&world.cluster, &seen)
    };
    assert!(refusals("true").is_empty(), "it is installed");
    let [refusal] = refusals("false").try_into().unwrap();
    assert_eq!(refusal.what, "it lacks the commands curl");
    assert!(refusal.at.unwrap().contains("worker1"));
    assert!(
        refusal.hint.unwrap().ends_with("install the packages curl; without curl, have kokctl send what is installed: `delivery: push`")
    );
}

const CONTENT: &str = "0123456789";

/// What came of fetching a program of that content: whether it went well, what was said, from where each try went on, and what is there.
struct Fetched {
    is_good: bool,
    stderr: String,
    tries: String,
    names: Vec<String>,
}

/// `answers` is what stands for curl: it writes to `$to`, from `$from` on, and knows the number of the try as `$try`.
fn fetch(shell: &[&str], left: &str, answers: &str) -> Fetched {
    let (folder, programs) = (Folder::new(), Folder::new());
    let log = programs.text("log");
    let read = "while [ $# -gt 0 ]; do case $1 in -C) from=$2;; -o) to=$2;; esac; shift; done";
    programs.program("curl", &format!("#!/bin/sh\n{read}\necho \"$from\" >>{log}\ntry=$(wc -l <{log})\n{answers}\n"));
    let source = Source { address: "https://dl.k8s.io/tool".to_owned(), is_plain: false, environment: Vec::new() };
    let artifact = Artifact {
        title: "tool 1.0".to_owned(),
        path: "files/dl.k8s.io/tool".to_owned(),
        size: CONTENT.len() as u64,
        sha256: sha256(CONTENT.as_bytes()),
        supply: Supply::Fetched(source),
    };
    if !left.is_empty() {
        fs::write(folder.path(".kokctl-tool.part"), left).unwrap();
    }
    let binary = Resource::Binary(Binary::executable(folder.text("tool"), artifact));
    let script = script_of(&binary.act(&Change::new(ChangeKind::Install, "")));
    let output = run(shell, &[], &format!("sleep() {{ :; }}\nPATH={}:$PATH\n{script}", programs.root().display()));
    let is_good = output.status.success();
    if is_good {
        assert_eq!(fs::read_to_string(folder.path("tool")).unwrap(), CONTENT);
        assert_eq!(fs::metadata(folder.path("tool")).unwrap().permissions().mode() & 0o7777, 0o755);
    }
    let tries = fs::read_to_string(log).unwrap_or_default().replace('\n', " ");
    Fetched { is_good, stderr: String::from_utf8(output.stderr).unwrap(), tries: tries.trim().to_owned(), names: folder.names() }
}

/// The rest of the content from `$from` on, or as much of it.
const REST: &str = "printf 0123456789 | tail -c +$((from + 1)) >>\"$to\"";

#[test]
fn what_was_cut_is_gone_on_with() {
    for shell in SHELLS {
        for (left, answers, tries) in [
            ("", REST.to_owned(), "0"),
            ("0123", REST.to_owned(), "4"),
            ("0123456789", "exit 99".to_owned(), ""),
            ("", format!("[ $try != 1 ] || {{ printf 012 >\"$to\"; exit 18; }}\n{REST}"), "0 3"),
            // Of another version: all of it comes anew.
            ("9999", REST.to_owned(), "4 0"),
            ("99999999999999", REST.to_owned(), "0"),
            // A server that gives no parts.
            ("0123", format!("[ $from = 0 ] || exit 33\n{REST}"), "4 0"),
            ("0123", format!("[ $from = 0 ] || {{ echo 'curl: (22) error: 416'; exit 22; }}\n{REST}"), "4 0"),
            ("", format!("[ $try = 3 ] || {{ echo 'curl: (22) error: 503'; exit 22; }}\n{REST}"), "0 0 0"),
            // As long as something comes, it goes on.
            ("", "printf %s $from >>\"$to\"; [ $from = 9 ] || exit 56".to_owned(), "0 1 2 3 4 5 6 7 8 9"),
        ] {
            let fetched = fetch(shell, left, &answers);
            assert!(fetched.is_good, "{left:?} {answers}: {}", fetched.stderr);
            assert_eq!(fetched.tries, tries, "{answers}");
            assert_eq!(fetched.names, ["tool"], "{answers}");
        }
    }
}

#[test]
fn nothing_of_what_is_wrong_stays_and_the_way_out_is_told() {
    for shell in SHELLS {
        for (answers, tries, told) in [
            ("printf 9999999999 >>\"$to\"", "0", "it is another file than the bundle's: 10 bytes with the sha256 "),
            ("printf 012 >>\"$to\"", "0", "it is another file than the bundle's: 3 bytes with the sha256 "),
            ("head -c 100000 /dev/zero >>\"$to\"", "0", "it is another file than the bundle's: more than 10 bytes with the sha256 "),
            ("echo 'curl: (22) The requested URL returned error: 404'; exit 22", "0", "returned error: 404"),
            ("echo 'curl: (60) SSL certificate problem'; exit 60", "0", "SSL certificate problem"),
            ("echo 'curl: (7) Failed to connect'; exit 7", "0 0 0", "curl: (7) Failed to connect"),
            ("echo 'curl: (28) timed out'; exit 28", "0 0 0 0 0", "curl: (28) timed out"),
        ] {
            let fetched = fetch(shell, "", answers);
            assert!(!fetched.is_good, "{answers}");
            assert_eq!(fetched.tries, tries, "{answers}");
            assert!(fetched.stderr.contains(told), "{}", fetched.stderr);
            assert!(
                fetched.stderr.contains("https://dl.k8s.io/tool can't be fetched: ") && fetched.stderr.contains("`delivery: push`"),
                "{}",
                fetched.stderr
            );
            assert!(!fetched.names.contains(&"tool".to_owned()), "{answers}");
        }
    }
}

//! Commands of the user on bare hosts, and what these are.

use std::process::Stdio;

use kok_tests::lab::{Host, Lab};
use serde_json::Value;

use crate::cluster_support::kokctl::{Kokctl, KokctlOutput};
use crate::cluster_support::{hosts, ok, up};
use crate::lab_support::wait_for;

/// What ends is gone within so long; what does not listen is killed after five seconds.
const ENDED_SECONDS: u64 = 30;

#[test]
fn a_command_runs_on_all_hosts_and_ends_with_kokctl() {
    let lab = up(2);
    let kokctl = Kokctl::new(&lab);
    equal_answers_are_shown_once(&kokctl);
    arguments_arrive_as_they_are(&kokctl);
    what_fails_is_summed_up(&kokctl);
    a_flood_is_cut(&kokctl);
    it_is_ended_after_its_time(&lab, &kokctl);
    it_ends_with_kokctl(&lab, &kokctl);
    nothing_is_kept_of_it(&lab, &kokctl);
    facts_are_those_of_the_hosts(&lab, &kokctl);
    a_host_that_is_away_is_named(&lab, &kokctl);
}

fn exec(kokctl: &Kokctl<'_>, words: &[&str]) -> KokctlOutput {
    kokctl.verb("exec", words)
}

fn document(said: &KokctlOutput) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

fn equal_answers_are_shown_once(kokctl: &Kokctl<'_>) {
    let said = exec(kokctl, &["--", "uname", "-s"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "cp1 and worker1 (2 hosts):\nLinux\n\n"), "{said:?}");
    assert!(said.stderr.contains("exit code 0: 2 hosts"), "{said:?}");
    let said = exec(kokctl, &["--limit", "worker1", "--at-once", "1", "--", "cat", "/proc/sys/kernel/hostname"]);
    assert!(said.code == 0 && said.stdout.starts_with("worker1:\n"), "{said:?}");
}

/// Also what could drive a terminal: it is shown, and not obeyed.
fn arguments_arrive_as_they_are(kokctl: &Kokctl<'_>) {
    let said = exec(kokctl, &["--sudo", "--json", "--", "printf", "%s|", "a b", "$(id)", "'", "*", "", "\u{1b}[2J"]);
    let document = document(&said);
    for host in document["hosts"].as_array().unwrap() {
        assert_eq!(host["stdout"], "a b|$(id)|'|*||\u{1b}[2J|", "{said:?}");
        assert_eq!((&host["ended"], &host["exitCode"]), (&"exited".into(), &0.into()));
    }
    let said = exec(kokctl, &["--", "printf", "\\033[2Jgone"]);
    assert_eq!(said.stdout, "cp1 and worker1 (2 hosts):\n\u{fffd}[2Jgone\n\n");
}

fn what_fails_is_summed_up(kokctl: &Kokctl<'_>) {
    let said = exec(kokctl, &["--", "sh", "-c", "echo out; echo err >&2; [ \"$(cat /proc/sys/kernel/hostname)\" = cp1 ] || exit 3"]);
    assert_eq!(said.code, 4, "{said:?}");
    assert_eq!(said.stdout, "cp1:\nout\n\nworker1, exit code 3:\nout\n\n");
    for words in
        ["standard error of cp1 and worker1 (2 hosts):\nerr\n", "the command ended with 0 on 1 of 2 hosts", "exit code 3 on worker1"]
    {
        assert!(said.stderr.contains(words), "{words}: {said:?}");
    }
    let said = exec(kokctl, &["--limit", "cp1", "--", "/nowhere"]);
    assert!(said.code == 4 && said.stdout.contains("exit code 127") && said.stderr.contains("/nowhere"), "{said:?}");
    let said = exec(kokctl, &["uname"]);
    assert_eq!(said.code, 2, "{said:?}");
}

fn a_flood_is_cut(kokctl: &Kokctl<'_>) {
    let said = exec(kokctl, &["--json", "--", "head", "-c", "3000000", "/dev/zero"]);
    for host in document(&said)["hosts"].as_array().unwrap() {
        assert_eq!((host["stdout"].as_str().unwrap().len(), &host["stdoutCut"], &host["exitCode"]), (256 << 10, &true.into(), &0.into()));
    }
}

/// The processes of a host that sleep so long.
fn sleepers(host: &Host, seconds: u32) -> String {
    ok(host, &format!("pgrep -fx 'sleep {seconds}' || :"))
}

fn all_sleep(lab: &Lab, seconds: u32) -> bool {
    hosts(lab).iter().all(|host| !sleepers(host, seconds).is_empty())
}

fn none_sleeps(lab: &Lab, seconds: u32) -> bool {
    hosts(lab).iter().all(|host| sleepers(host, seconds).is_empty())
}

fn it_is_ended_after_its_time(lab: &Lab, kokctl: &Kokctl<'_>) {
    let said = exec(kokctl, &["--timeout", "2", "--", "sh", "-c", "trap '' TERM; echo begun; sleep 4001"]);
    assert!(said.code == 4 && said.stdout.contains("(2 hosts), ended after its time:\nbegun"), "{said:?}");
    assert!(none_sleeps(lab, 4001), "what the command had begun is ended too");
}

/// By Ctrl-C with what was said until then, and where kokctl is killed without a word.
fn it_ends_with_kokctl(lab: &Lab, kokctl: &Kokctl<'_>) {
    let manifest = kokctl.manifest();
    let begin = |seconds: &str| {
        let line = format!("echo begun; sleep {seconds}");
        let mut command = kokctl.command(&["exec", "-f", manifest.to_str().unwrap(), "--", "sh", "-c", &line]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let child = begin("4002");
    wait_for("it runs", ENDED_SECONDS, || all_sleep(lab, 4002));
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!((output.status.code(), said.as_str()), (Some(4), "cp1 and worker1 (2 hosts), interrupted:\nbegun\n\n"));
    assert!(none_sleeps(lab, 4002));
    let mut child = begin("4003");
    wait_for("it runs", ENDED_SECONDS, || all_sleep(lab, 4003));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("it ends with the connection", ENDED_SECONDS, || none_sleeps(lab, 4003));
}

/// No lock, no journal, and nothing on the hosts.
fn nothing_is_kept_of_it(lab: &Lab, kokctl: &Kokctl<'_>) {
    assert!(!kokctl.folder().join("state/kokctl").exists());
    for host in hosts(lab) {
        assert_eq!(ok(&host, "ls -d /var/lib/kokctl /run/kokctl 2>/dev/null || :"), "", "{}", host.name());
    }
}

fn facts_are_those_of_the_hosts(lab: &Lab, kokctl: &Kokctl<'_>) {
    let said = kokctl.verb("facts", &[]);
    assert_eq!(said.code, 0, "{said:?}");
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(
        lines.len() == 3 && lines[0].starts_with("HOST") && lines[1].starts_with("cp1 ") && lines[2].starts_with("worker1 "),
        "{said:?}"
    );
    let said = kokctl.verb("facts", &["--json"]);
    let known = document(&said);
    for (index, host) in hosts(lab).iter().enumerate() {
        let of = &known["hosts"][index];
        assert_eq!(of["host"], host.name());
        assert_eq!(of["kernel"], ok(host, "uname -r").as_str());
        assert_eq!(of["bootId"], ok(host, "cat /proc/sys/kernel/random/boot_id").as_str());
        assert_eq!(of["machineId"], ok(host, "cat /etc/machine-id").as_str());
        assert_eq!(of["processors"].to_string(), ok(host, "getconf _NPROCESSORS_ONLN"));
        assert_eq!((&of["family"], &of["systemd"]), (&"Debian".into(), &true.into()));
    }
}

fn a_host_that_is_away_is_named(lab: &Lab, kokctl: &Kokctl<'_>) {
    let worker = lab.host("worker1").unwrap();
    worker.power_off().unwrap();
    let said = exec(kokctl, &["--", "uname", "-s"]);
    assert_eq!((said.code, said.stdout.as_str()), (4, "cp1:\nLinux\n\n"), "{said:?}");
    assert!(
        said.stderr.contains("cannot connect to worker1") && said.stderr.contains("exit code 0: 1 host; not known: 1 host"),
        "{said:?}"
    );
    let said = exec(kokctl, &["--limit", "worker1", "--", "uname"]);
    assert!(said.code == 3 && said.stdout.is_empty(), "{said:?}");
    let said = kokctl.verb("facts", &[]);
    assert!(said.code == 3 && said.stdout.contains("\ncp1 ") && said.stderr.contains("cannot connect to worker1"), "{said:?}");
}

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

use clap::Parser as _;

use super::*;
use crate::cli::{Cli, Verb};

fn executed(ended: Ended, stdout: &str, stderr: &str) -> Result<Executed, ExecFailure> {
    let (stdout, stderr) = (stdout.as_bytes().to_vec(), stderr.as_bytes().to_vec());
    Ok(Executed { ended, stdout, stdout_cut: false, stderr, stderr_cut: false })
}

fn away(host: &str) -> Result<Executed, ExecFailure> {
    let failure = Failure::new(Kind::Host, format!("cannot connect to {host}: it is unreachable"));
    Err(ExecFailure { failure: failure.of_host(host).at(format!("host {host} (root@10.0.0.9:22)")), may_have_begun: false })
}

fn executed_hosts<'a>(left: &'a [(&'a str, Result<Executed, ExecFailure>)]) -> Vec<(&'a str, &'a Executed)> {
    left.iter().filter_map(|(host, left)| Some((*host, left.as_ref().ok()?))).collect()
}

fn ordered<'a>(left: &'a [(&'a str, Result<Executed, ExecFailure>)]) -> Vec<(&'a str, &'a Result<Executed, ExecFailure>)> {
    left.iter().map(|(host, left)| (*host, left)).collect()
}

#[test]
fn what_hosts_say_alike_is_shown_once_with_all_their_names() {
    let ok = || executed(Ended::Exited(0), "6.1\n", "");
    let left = [("cp1", ok()), ("w2", executed(Ended::Exited(3), "6.1\n", "no\n")), ("cp2", ok()), ("w1", ok()), ("w3", away("w3"))];
    assert_eq!(text::outputs(&executed_hosts(&left)), ["cp1, cp2 and w1 (3 hosts):\n6.1\n", "w2, exit code 3:\n6.1\n"]);
    assert_eq!(text::errors(&executed_hosts(&left)), ["standard error of w2:\nno\n"]);
    assert_eq!(text::summary(&ordered(&left)), "exit code 0: 3 hosts; exit code 3: 1 host; not known: 1 host");
    let silent = [("a", executed(Ended::Exited(0), "", "")), ("b", executed(Ended::TimedOut, "", ""))];
    assert_eq!(text::outputs(&executed_hosts(&silent)), ["a: no output", "b, ended after its time: no output"]);
    assert!(text::errors(&executed_hosts(&silent)).is_empty());
}

#[test]
fn what_was_cut_says_so_and_is_not_taken_for_what_was_not() {
    let mut left = [("a", executed(Ended::Exited(0), "x\n", "y\n")), ("b", executed(Ended::Exited(0), "x\n", "y\n"))];
    if let (_, Ok(cut)) = &mut left[1] {
        (cut.stdout_cut, cut.stderr_cut) = (true, true);
    }
    assert_eq!(text::outputs(&executed_hosts(&left)), ["a:\nx\n", "b:\nx\n(cut: the first 256 KiB are shown)\n"]);
    assert_eq!(text::errors(&executed_hosts(&left)), ["standard error of a:\ny\n", "standard error of b:\n(cut: the end is shown)\ny\n"]);
}

#[test]
fn the_exit_code_says_whether_it_ended_well_everywhere_somewhere_or_was_begun_nowhere() {
    let code = |left: &[(&str, Result<Executed, ExecFailure>)]| {
        let failures = failures(&ordered(left));
        (!failures.is_empty()).then(|| Kind::worst(&failures).exit_code())
    };
    let of = |ended| executed(ended, "", "");
    assert_eq!(code(&[("a", of(Ended::Exited(0))), ("b", of(Ended::Exited(0)))]), None);
    assert_eq!(code(&[("a", away("a")), ("b", away("b"))]), Some(3));
    for otherwise in [of(Ended::Exited(1)), of(Ended::TimedOut), of(Ended::Interrupted), of(Ended::NotBegun), away("b")] {
        assert_eq!(code(&[("a", of(Ended::Exited(0))), ("b", otherwise)]), Some(4));
    }
    let failure = Failure::new(Kind::Host, "b: the outcome of the script is unknown");
    let unknown = || Err(ExecFailure { failure: failure.clone(), may_have_begun: true });
    assert_eq!(code(&[("a", away("a")), ("b", unknown())]), Some(4));
    let told = failures(&ordered(&[("a", of(Ended::Exited(0))), ("b", of(Ended::Exited(7))), ("c", away("c"))]));
    let last = told.last().unwrap();
    assert_eq!(last.what, "the command ended with 0 on 1 of 3 hosts");
    assert_eq!(last.because.as_deref(), Some("not on b and c: exit code 7 on b; not known on c"));
    assert_eq!(last.hint.as_deref(), Some("`--limit b,c` runs it on these alone"));
}

#[test]
fn a_program_gets_what_each_host_has_said() {
    let mut left = [("a", executed(Ended::Exited(3), "", "e")), ("b", away("b")), ("c", executed(Ended::TimedOut, "", ""))];
    if let (_, Ok(first)) = &mut left[0] {
        first.stdout = b"\xff\x1b[2J".to_vec();
    }
    let whole = serde_json::to_value(document(&ordered(&left))).unwrap();
    let hosts = whole["hosts"].as_array().unwrap();
    assert_eq!((&hosts[0]["ended"], &hosts[0]["exitCode"], &hosts[0]["stderr"]), (&"exited".into(), &3.into(), &"e".into()));
    assert_eq!(hosts[0]["stdout"], "\u{fffd}\u{1b}[2J");
    assert!(serde_json::to_string(&whole).unwrap().contains("\\u001b[2J"), "what could drive a terminal is escaped");
    assert_eq!((&hosts[1]["ended"], &hosts[1]["failure"]["what"]), (&"unknown".into(), &"cannot connect to b: it is unreachable".into()));
    assert_eq!((&hosts[2]["ended"], &hosts[2]["exitCode"]), (&"timed-out".into(), &serde_json::Value::Null));
}

#[test]
fn what_stands_behind_the_dashes_is_the_command() {
    let command = |words: &[&str]| match Cli::try_parse_from([&["kokctl", "exec", "-f", "c.yaml"], words].concat()).map(|cli| cli.verb) {
        Ok(Verb::Exec(arguments)) => Some((arguments.command, arguments.sudo)),
        _ => None,
    };
    assert_eq!(command(&["--", "ls", "--sudo", ""]), Some((vec!["ls".into(), "--sudo".into(), String::new()], false)));
    assert_eq!(command(&["--sudo", "--", "id"]), Some((vec!["id".into()], true)));
    for wrong in [&["ls"][..], &[], &["--"], &["--timeout", "0", "--", "ls"], &["--at-once", "0", "--", "ls"]] {
        assert_eq!(command(wrong), None, "{wrong:?}");
    }
}

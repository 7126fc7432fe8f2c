#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "these are tests")]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use kok_tasks::artifact::{Artifact, Supply};
use kok_tasks::change::{Change, ChangeKind, Verdict};
use kok_tasks::plan::{Step, StepId};
use kok_tasks::resources::{Binary, File, FileContent, Owner, Resource};
use kok_tasks::script::Content;

use super::*;

#[test]
fn a_record_is_read_as_it_was_written() {
    let text = "attempt r a/b/c 2\ninput 00\nboot x\nstarted 1\nended 2\nresult exit-code\nexit exited 3\noutput\nwhy\noutput\n";
    assert_eq!(Record::parse(text), Some(Record { attempt: "r a/b/c 2".into(), code: Some(3), output: "why\noutput\n".into() }));
    let killed = text.replace("exited 3", "killed TERM");
    assert_eq!(Record::parse(&killed).unwrap().code, None);
}

#[test]
fn only_who_has_the_lock_of_jobs_looks_whether_they_have_ended() {
    for (lane, looks) in [(HostLane::Scripts, true), (HostLane::Streams, false)] {
        let order = Order { host: "cp1".into(), lane, steps: Vec::new(), attempt: 1, deadline: Duration::from_secs(60) };
        let script = Batch::new(&order, Nonce::new([7; 16])).settle_script(&Writer::default(), "boot", 17, &Secrets::none()).unwrap();
        assert_eq!(script.contains("\nif flock -x -w 17 8; then jobs_end 17 || echo job; else echo script; fi\n"), looks, "{lane:?}");
        assert_eq!(script.contains("\nif flock -x -w 17 8; then :; else echo script; fi\n"), !looks, "{lane:?}");
        assert_eq!(script.contains("8 || end_uploads\n"), !looks, "{lane:?}");
    }
}

#[test]
fn a_job_has_the_time_that_its_order_has() {
    for (seconds, limit) in [(60, 900), (900, 900), (3600, 3600)] {
        let deadline = Duration::from_secs(seconds);
        let order = Order { host: "cp1".into(), lane: HostLane::Scripts, steps: Vec::new(), attempt: 1, deadline };
        let script = Batch::new(&order, Nonce::new([7; 16])).script(&Writer::default(), &Secrets::none()).unwrap();
        assert!(script.contains(&format!("\nkokctl_limit={limit}\n")), "{seconds}");
    }
    assert!(PRELUDE.contains(r#"--property=RuntimeMaxSec="${kokctl_limit:-900}""#));
}

/// A key file without a byte in it would be there, with the right mode, and nobody would look into it.
#[test]
fn nothing_is_written_in_place_of_a_secret_that_is_not_there() {
    let name = SecretName::ControlPlaneFile { host: "cp1".into(), path: "pki/ca.key".into() };
    let mut fragment = Fragment::default();
    fragment.put("/etc/kubernetes/pki/ca.key", 0o600, Content::Secret(&name));
    assert_eq!(push(&mut String::new(), &fragment, &Secrets::none()), Err(name));
}

#[test]
fn the_end_of_what_was_said_is_kept_in_lines_and_bytes() {
    assert_eq!(last_lines("a\n\nb\n"), "a\nb");
    assert_eq!(last_lines(&"line\n".repeat(100)), ["line"; 12].join("\n"));
    let long = last_lines(&format!("first\n{}cause", "ä".repeat(1 << 20)));
    assert!(long.len() <= 4096 + '…'.len_utf8() && long.starts_with("…ä") && long.ends_with("äcause"), "{}", long.len());
}

#[test]
fn half_a_record_is_none() {
    for text in ["", "attempt r a 1\n", "exit exited 0\noutput\n", "attempt r a 1\nexit\noutput\n", "\u{0}\noutput\n"] {
        assert_eq!(Record::parse(text), None, "{text:?}");
    }
}

const KEY: &str = "/etc/kubernetes/pki/apiserver.key";

/// An order that writes the key of a leaf, and what stands for it in this run.
fn of_key() -> (Order, Secrets) {
    let name = SecretName::ControlPlaneFile { host: "cp1".into(), path: "pki/apiserver.key".into() };
    let content = FileContent::Secret { name: name.clone(), replace: None, without: None };
    let step = Step {
        id: StepId::parse("cp1/certificates/pki/apiserver.key").unwrap(),
        host: "cp1".into(),
        task: "certificates",
        action: Resource::File(File { path: KEY.into(), mode: 0o600, owner: Owner::default(), content }).into(),
        deadline: Duration::from_secs(60),
        triggers: Vec::new(),
        gate: None,
    };
    let act = step.act(&Change::new(ChangeKind::Create, "it does not exist"));
    let order =
        Order { host: "cp1".into(), lane: HostLane::Scripts, steps: vec![(step, act)], attempt: 1, deadline: Duration::from_secs(60) };
    (order, Secrets::from_texts([(name, "the key")]))
}

/// What a host says that has the file, by its look at what is in it.
fn seen(order: &Order, secrets: &Secrets, written: &str) -> (Verdict, Verdict) {
    let nonce = Nonce::new([7; 16]);
    let text = |sections: &str| {
        let sections = format!("{sections}clock\n1\n1.00 1\n@paths\n8180 0 0 {KEY}|7|1.0|1.0|9\n@{written}end\n");
        format!("\n{} {}", nonce.as_str(), sections.replace('@', &format!("\n{} ", nonce.as_str()))).into_bytes()
    };
    let output = |stdout| Output {
        status: crate::remote::ExitStatus::Exited(0),
        stdout,
        stdout_truncated: false,
        stderr: Vec::new(),
        stderr_truncated: false,
        noise: Vec::new(),
    };
    let (step, batch) = (&order.steps[0].0, Batch::new(order, nonce.clone()));
    let acted = batch.read(&output(text("output 0\n@result 0 0\n@")), secrets).unwrap();
    assert_eq!(acted.acted, [Acted::Ended]);
    let settled = batch.read_settled(&output(text("boot\nb\n@busy\n@held\n@")), &Writer::default(), "b", secrets).unwrap();
    let Settled::Answered(settled) = settled else { panic!("{settled:?}") };
    assert_eq!(settled.acted, [Acted::Unknown]);
    (step.diff(&acted.seen), step.diff(&settled.seen))
}

/// That there is a file says nothing of what is in it, above all where nobody heard what became of the order that was to write it.
#[test]
fn a_secret_is_written_when_the_host_has_what_was_sent() {
    let (order, secrets) = of_key();
    let other = Verdict::differs(ChangeKind::Write, "its content is not what was sent");
    assert_eq!(seen(&order, &secrets, &format!("written {KEY}\nsame\n@")), (Verdict::Same, Verdict::Same));
    assert_eq!(seen(&order, &secrets, &format!("written {KEY}\nother\n@")), (other.clone(), other));
}

#[test]
fn the_host_compares_what_was_written_and_no_digest_comes_back() {
    let (order, secrets) = of_key();
    let digest = kok_tasks::digest::sha256(b"the key");
    let batch = Batch::new(&order, Nonce::new([7; 16]));
    let sent = batch.script(&Writer::default(), &secrets).unwrap();
    assert!(sent.contains(&format!("\nput '{KEY}' 0600 {digest} <<")) && sent.contains(&format!("\nwritten {digest} '{KEY}'\n")), "{sent}");
    let asked = batch.settle_script(&Writer::default(), "boot", 17, &secrets).unwrap();
    assert!(asked.contains(&format!("\nwritten {digest} '{KEY}'\n")) && !sent.contains("sha256sum --"), "{asked}");
    // Where only the mode is wrong, nobody knows what stands there.
    let mut order = order;
    order.steps[0].1 = order.steps[0].0.act(&Change::new(ChangeKind::Mode(0o600), "it has mode 0644 and owner 0:0"));
    let sent = Batch::new(&order, Nonce::new([7; 16])).script(&Writer::default(), &Secrets::none()).unwrap();
    assert!(!sent.contains("\nwritten "), "{sent}");
}

/// Files have their names for good only when their folders are on the disk: where that fails, none of the steps has ended well.
#[test]
fn a_folder_that_cannot_be_flushed_is_a_failure_of_what_is_in_it() {
    let (order, secrets) = of_key();
    let batch = Batch::new(&order, Nonce::new([7; 16]));
    let results = batch.results().replace("/etc/kubernetes/pki", "/tmp");
    assert!(results.contains("flush '/tmp' 2>&1"), "{results}");
    for (sync, expected) in
        [("echo 'no input or output'; return 1", Acted::Failed("no input or output".to_owned())), ("[ \"$1\" = /tmp ]", Acted::Ended)]
    {
        let marker = section_marker(&batch.nonce);
        let script = format!(
            "{PRELUDE}{marker}sync() {{ {sync}; }}\nset -u\nstatus_0=0\n{results}mark clock\necho 1; echo 1.00 1\nmark paths\nmark end\n"
        );
        let output = Command::new("sh").arg("-c").arg(&script).output().unwrap();
        assert!(output.stderr.is_empty(), "{output:?}");
        let output = Output {
            status: crate::remote::ExitStatus::Exited(0),
            stdout: output.stdout,
            stdout_truncated: false,
            stderr: Vec::new(),
            stderr_truncated: false,
            noise: Vec::new(),
        };
        assert_eq!(batch.read(&output, &secrets).unwrap().acted, [expected], "{sync}");
    }
}

/// Of what nobody has heard of as well: a disk that takes nothing is no work under way.
#[test]
fn a_folder_that_cannot_be_flushed_afterwards_is_a_failure_too() {
    let (order, secrets) = of_key();
    let nonce = Nonce::new([7; 16]);
    let settled = |flush: &str| {
        let text = format!("\n@boot\nb\n@busy\n@held\n@{UNFLUSHED}\n{flush}@clock\n1\n1.00 1\n@paths\n@end\n");
        let output = Output {
            status: crate::remote::ExitStatus::Exited(0),
            stdout: text.replace('@', &format!("\n{} ", nonce.as_str())).into_bytes(),
            stdout_truncated: false,
            stderr: Vec::new(),
            stderr_truncated: false,
            noise: Vec::new(),
        };
        let settled = Batch::new(&order, nonce.clone()).read_settled(&output, &Writer::default(), "b", &secrets).unwrap();
        let Settled::Answered(answer) = settled else { panic!("{settled:?}") };
        answer.acted
    };
    assert_eq!(settled(""), [Acted::Unknown]);
    assert_eq!(settled("sync: Input/output error\n"), [Acted::Failed("sync: Input/output error".to_owned())]);
}

/// A folder in place of the host's own, in which anybody may write.
fn within(script: &str, folder: &Path) -> String {
    let folder = folder.to_str().unwrap();
    script
        .replace("/run/kokctl", &format!("{folder}/run"))
        .replace("/var/lib/kokctl", &format!("{folder}/lib"))
        .replace(&format!("flock -x -w {UPLOAD_SECONDS} 8"), "flock -x -w 1 8")
}

/// The end of its connection was lost as the connection was: sshd keeps it waiting for what can't come.
#[test]
fn an_upload_whose_connection_hangs_is_ended_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("kubelet");
    let artifact = Artifact { title: "kubelet".into(), path: "kubelet".into(), size: 8, sha256: "0".repeat(64), supply: Supply::Sent };
    let step = Step {
        id: StepId::parse("cp1/kubelet/binary").unwrap(),
        host: "cp1".into(),
        task: "kubelet",
        action: Resource::Binary(Binary::executable(target.to_str().unwrap(), artifact)).into(),
        deadline: Duration::from_secs(60),
        triggers: Vec::new(),
        gate: None,
    };
    let act = step.act(&Change::new(ChangeKind::Install, "it does not exist"));
    let order =
        Order { host: "cp1".into(), lane: HostLane::Streams, steps: vec![(step, act)], attempt: 1, deadline: Duration::from_secs(60) };
    let batch = Batch::new(&order, Nonce::new([7; 16]));
    let writer = Writer { run: "r1".into(), line: "epoch=1 run=r1".into() };
    std::fs::create_dir_all(folder.path().join("lib")).unwrap();
    std::fs::write(folder.path().join("lib/holder"), format!("{}\n", writer.line)).unwrap();
    let script = within(&batch.script(&writer, &Secrets::none()).unwrap(), folder.path());
    let shell = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    };
    let mut upload = shell(&script).spawn().unwrap();
    let mut input = upload.stdin.take().unwrap();
    input.write_all(b"half").unwrap();
    let half = folder.path().join(".kokctl-kubelet");
    let begun = std::time::Instant::now();
    while !std::fs::read(&half).is_ok_and(|content| content == b"half") {
        assert!(begun.elapsed() < Duration::from_secs(20), "it has not begun");
        std::thread::sleep(Duration::from_millis(20));
    }
    let settle = within(&batch.settle_script(&writer, "boot", 20, &Secrets::none()).unwrap(), folder.path());
    let settle = settle.replace("timeout 60 systemctl is-system-running --wait", "true");
    let output = shell(&settle).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let busy = said.split("busy\n").nth(1).and_then(|rest| rest.lines().next()).unwrap_or_default();
    assert!(!busy.contains("script"), "the lane is free: {said}");
    assert!(!half.exists() && !target.exists(), "nothing of it is left");
    upload.wait().unwrap();
    drop(input);
}

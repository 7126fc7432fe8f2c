//! `apply` on a cluster that is as it should be.

use kok_tests::lab::{Host, Lab};

use super::snapshot::{assert_same, fingerprint};
use super::{hosts, ok};
use crate::lab_support::wait_for;

const MARK: &str = "kok-test-mark";

/// From now on sshd's log has a line for every command, not only for every login.
pub fn log_every_command(lab: &Lab) {
    for host in hosts(lab) {
        // A reload closes the socket for a moment after it has returned; a restart returns when somebody listens again.
        ok(&host, "echo 'LogLevel VERBOSE' >/etc/ssh/sshd_config.d/verbose.conf && systemctl restart ssh");
    }
}

/// One connection and one command for each host: that is what makes it cheap to run often.
pub fn costs_one_connection_each(lab: &Lab, apply: impl Fn()) {
    costs_one_connection_each_as("root", lab, apply);
}

/// The same by another login, who becomes root by sudo without being asked.
pub fn costs_one_connection_each_as(login: &str, lab: &Lab, apply: impl Fn()) {
    let before = fingerprint(lab);
    let marks: Vec<usize> = hosts(lab).iter().map(mark).collect();
    apply();
    for (host, begin) in hosts(lab).iter().zip(marks) {
        let end = mark(host);
        let journal = ssh_journal(host);
        let between: Vec<&str> = journal.lines().skip(begin + 1).take(end - begin - 1).collect();
        let count = |text: &str| between.iter().filter(|line| line.contains(text)).count();
        for what in ["Accepted publickey for", "Starting session: command for"] {
            let marks = count(&format!("{what} root from"));
            // One of each is the login that made the second mark.
            assert_eq!(count(what) - 1, 1, "{}: {between:#?}", host.name());
            assert_eq!(count(&format!("{what} {login} from")), if login == "root" { marks } else { 1 }, "{}: {between:#?}", host.name());
        }
    }
    assert_same(&before, &fingerprint(lab), "nothing to do must change nothing");
}

/// Writes a line into the host's journal, behind which everything comes that happens later. Returns the line's number.
fn mark(host: &Host) -> usize {
    let find = || ssh_journal(host).lines().enumerate().filter(|(_, line)| line.contains(MARK)).map(|(number, _)| number).last();
    let before = find();
    ok(host, &format!("logger --tag sshd {MARK}"));
    wait_for("the mark is in the journal", 10, || find() != before);
    find().unwrap()
}

/// Read from outside, for a login to read it would stand in it. From OpenSSH 9.8 on a program of its own serves each connection.
fn ssh_journal(host: &Host) -> String {
    let output = host.journal_command().args(["--identifier=sshd", "--identifier=sshd-session", "--output=cat"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#![allow(clippy::panic, reason = "these are tests")]

use super::*;
use crate::clock::DAY;
use crate::engine::{InUse, RunningProcess};

const NOW: i64 = 1_795_257_889;

fn certificate(host: &str, name: &'static str, days: i64, urgency: EndUrgency, has: InUse, because: &str) -> HeldCertificate {
    HeldCertificate {
        host: host.to_owned(),
        name,
        path: format!("/{name}"),
        authority: name == "ca",
        subject: Some("CN=somebody".to_owned()),
        names: Vec::new(),
        signed_by: "kubernetes".to_owned(),
        not_before: None,
        not_after: None,
        days_left: Some(days),
        problem: None,
        used_by: Some("kube-apiserver"),
        running: RunningProcess { has, because: Some(because.to_owned()).filter(|text| !text.is_empty()) },
        urgency,
        end: Some(NOW + days * DAY),
    }
}

#[test]
fn a_table_has_a_row_for_each() {
    let table = lines(&[
        certificate("cp1", "apiserver", 364, EndUrgency::None, InUse::Yes, "shown"),
        certificate("cp1", "controller-manager.conf", 364, EndUrgency::None, InUse::No, "it was started before"),
        certificate("worker1", "ca", 3649, EndUrgency::None, InUse::None, ""),
    ]);
    assert_eq!(
        table.join("\n"),
        "HOST     CERTIFICATE              ENDS        LEFT   SIGNED BY   RUNNING PROCESS HAS IT\n\
         cp1      apiserver                2027-11-20  364d   kubernetes  yes (shown)\n\
         cp1      controller-manager.conf  2027-11-20  364d   kubernetes  no: it was started before\n\
         worker1  ca                       2036-11-17  3649d  kubernetes  -"
    );
}

#[test]
fn what_a_host_says_reaches_no_terminal_as_it_is() {
    let evil =
        HeldCertificate { signed_by: "\u{1b}[2J".to_owned(), ..certificate("cp1", "apiserver", 1, EndUrgency::None, InUse::Yes, "") };
    assert!(lines(&[evil]).iter().all(|line| !line.contains('\u{1b}')));
}

#[test]
fn what_is_late_ends_with_a_failure_and_the_rest_with_none() {
    let fine = certificate("cp1", "apiserver", 300, EndUrgency::None, InUse::Yes, "shown");
    let soon = certificate("cp1", "etcd/peer", 50, EndUrgency::Warning, InUse::Yes, "shown");
    let late = certificate("cp2", "scheduler.conf", 9, EndUrgency::Alarm, InUse::Yes, "started after it");
    let ended = certificate("cp2", "ca", -1, EndUrgency::Ended, InUse::None, "");
    let behind = certificate("cp3", "apiserver", 300, EndUrgency::None, InUse::No, "kube-apiserver shows one that ends on 2026-11-30");
    assert_eq!((alarms(&[fine.clone(), soon.clone()]), warnings(std::slice::from_ref(&fine))), (Vec::new(), Vec::new()));
    let told: Vec<String> = alarms(&[fine, soon.clone(), late, ended, behind]).iter().map(ToString::to_string).collect();
    let [ended, late, behind] = told.as_slice() else { panic!("{told:?}") };
    assert!(ended.contains("1 certificate has ended") && ended.contains("Manual Rotation") && !ended.contains("certs renew"), "{ended}");
    assert!(late.contains("scheduler.conf of cp2 until") && late.contains("kokctl certs renew"), "{late}");
    assert!(behind.contains("1 certificate is not what runs") && behind.contains("apiserver of cp3: kube-apiserver shows"), "{behind}");
    let warned = warnings(&[soon]);
    assert!(warned.first().is_some_and(|warning| warning.what == "1 certificate ends soon"), "{warned:?}");
}

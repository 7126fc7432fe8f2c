//! The connections to a host break while a run is at work.

use std::collections::BTreeSet;
use std::time::Duration;

use kok_tests::lab::DEFAULT_KUBERNETES_VERSION;

use super::taking::{HOLD_RECORD, IS_AWAITED};
use super::{HOSTS, Story};
use crate::cluster_support::{cluster, hosts, ok, up};

/// The least delay: it is not for the delay, but for the proxy, whose end cuts the connections through it.
const PROXY: Duration = Duration::from_millis(1);

/// Whenever a step begins or is done, the connections to its host are cut.
pub fn cut_at_every_boundary() {
    let lab = up(HOSTS);
    let story = Story::new(&lab);
    hosts(&lab).iter().for_each(|host| host.lag(PROXY).unwrap());
    let (mut cuts, mut runs, mut seen) = (0, 0, BTreeSet::new());
    loop {
        let mut run = story.apply();
        runs += 1;
        while let Some(event) = run.next() {
            let boundary = event["event"] == "step-started" || event["event"] == "step-done";
            // A step that is cut off each time that it is begun comes to no end.
            if boundary && seen.insert(format!("{} {}", event["event"], event["step"])) {
                story.host(event["host"].as_str().unwrap()).lag(PROXY).unwrap();
                cuts += 1;
            }
        }
        let ended = run.end();
        if ended.code == Some(0) {
            break;
        }
        println!("run {runs}: {}", ended.errors);
        assert!(runs < 10, "no end after {cuts} cuts: {}", ended.errors);
    }
    println!("cut {cuts} times in {runs} runs");
    assert_eq!(runs, 1, "a run outlives cuts");
    assert!(cuts > 10, "{cuts} cuts prove nothing");
    hosts(&lab).iter().for_each(|host| host.lag(Duration::ZERO).unwrap());
    story.assert_ended_well();
    story.assert_containerd_was_started_once();
}

/// Jobs in the middle of which the connections are cut: each on the control plane or a worker, and each with kubeadm at work.
const JOBS: [&str; 6] = ["/certificates/", "/etcd/", "/kubelet/", "/control-plane/", "/kubelet-join/", "/network/"];

/// A whole cluster, with the connections cut a moment after each step of kubeadm has begun: its job goes on, is found again, and is not
/// begun a second time.
pub fn cut_in_jobs() {
    let lab = up(HOSTS);
    let story = Story::new(&lab);
    hosts(&lab).iter().for_each(|host| host.lag(PROXY).unwrap());
    let mut run = story.start(&story.kokctl, &[]);
    let (mut cuts, mut lost, mut streams) = (0, 0, BTreeSet::new());
    while let Some(event) = run.next() {
        let (kind, step) = (event["event"].as_str().unwrap(), event["step"].as_str().unwrap_or_default().to_owned());
        let host = step.split('/').next().unwrap_or_default().to_owned();
        lost += usize::from(kind == "host-lost");
        match kind {
            "step-started" if step.contains("/images/") => drop(streams.insert(step)),
            "step-done" | "step-failed" => drop(streams.remove(&step)),
            // Bulk data are sent three times at the most, and there are more jobs than that beside one image.
            "step-started"
                if JOBS.iter().any(|job| step.contains(job)) && !streams.iter().any(|stream| stream.starts_with(&format!("{host}/"))) =>
            {
                story.host(&host).lag(PROXY).unwrap();
                cuts += 1;
            }
            _ => {}
        }
    }
    let ended = run.end();
    println!("cut {cuts} times, of which {lost} while a script was at work");
    assert_eq!(ended.code, Some(0), "a run outlives cuts: {}", ended.errors);
    assert!(lost >= 2, "{lost} of {cuts} cuts prove nothing");
    hosts(&lab).iter().for_each(|host| host.lag(Duration::ZERO).unwrap());
    story.assert_nothing_was_done_twice();
    cluster::assert_complete(&lab, DEFAULT_KUBERNETES_VERSION);
    story.kokctl.has_nothing_to_do();
}

/// The connections are cut while the hosts are being taken, before the first change: the run goes on as it does later.
pub fn cut_while_taken() {
    let lab = up(HOSTS);
    let story = Story::new(&lab);
    hosts(&lab).iter().for_each(|host| host.lag(PROXY).unwrap());
    // The first one is taken before all others, and so it is the one to wait.
    let cp1 = story.host("cp1");
    ok(&cp1, HOLD_RECORD);
    let mut run = story.apply();
    run.wait_for("plan-made").expect("nothing is in its way yet");
    ok(&cp1, IS_AWAITED);
    cp1.lag(PROXY).unwrap();
    let lost = run.wait_for("host-lost").expect("the link was cut");
    assert_eq!(lost["host"], "cp1", "{lost}");
    ok(&cp1, "systemctl stop hold-record.service");
    let back = run.wait_for("host-back").expect("the link is opened again");
    assert_eq!(back["host"], "cp1", "{back}");
    let ended = run.end();
    assert_eq!(ended.code, Some(0), "a run outlives cuts: {}", ended.errors);
    hosts(&lab).iter().for_each(|host| host.lag(Duration::ZERO).unwrap());
    story.assert_ended_well();
}

//! One run of a history, on hosts.
//!
//! An order of the simulation is a step that is done here, and a second of its hosts is a second; so it is the same that happens, if not at the same instant.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use kok_tests::lab::{Lab, Power};
use serde_json::Value;

use super::document::{Happening, Life, Order};
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::ok;
use crate::lab_support::wait_for;

/// More than a run takes for which the gate waits as long as it does.
const DEADLINE: Duration = Duration::from_secs(1200);

/// What is to be done next, and when: what comes back after it was away stands there too.
struct Due {
    at: Instant,
    what: Doing,
}

enum Doing {
    Happens(Happening),
    ComesBack { hosts: Vec<String>, program: String },
}

/// Begins the run, lets happen what happens until it has ended or is killed, and then brings back whatever is away.
pub fn live(lab: &Lab, kokctl: &Kokctl<'_>, life: &Life) {
    edit(lab, life);
    let mut child = begin(kokctl, life);
    let (heard, events) = channel();
    let output = child.stdout.take().unwrap();
    let reader = thread::spawn(move || hear(output, &heard));
    let begun = Instant::now();
    let due = |(at, what): &(u64, Happening)| Due { at: begun + Duration::from_millis(*at), what: Doing::Happens(what.clone()) };
    let mut due: Vec<Due> = life.happenings.iter().map(due).collect();
    let mut done = 0;
    while child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < DEADLINE, "{:?} does not end", life.order);
        take_turn(lab, &child, &mut due);
        done += count(lab, life, &events, done);
        if life.killed_after.is_some_and(|after| done >= after) {
            println!("killed after {done} steps");
            child.kill().unwrap();
        }
    }
    println!("{:?}: {:?}, {done} steps", life.order, child.wait().unwrap());
    reader.join().unwrap();
    comes_back(lab);
}

fn edit(lab: &Lab, life: &Life) {
    for (host, path) in &life.edited {
        ok(&lab.host(host).unwrap(), &format!("echo '# edited' >>{path}"));
    }
    for (host, path) in &life.removed {
        ok(&lab.host(host).unwrap(), &format!("rm {path}"));
    }
}

fn begin(kokctl: &Kokctl<'_>, life: &Life) -> Child {
    let (manifest, bundle) = (kokctl.manifest(), kokctl.bundle().to_str().unwrap().to_owned());
    let mut arguments = match &life.order {
        Order::Apply => vec!["apply", "--bundle", &bundle],
        Order::Remove(host) => vec!["remove", host, "--yes", "--yes-even"],
    };
    arguments.extend(["-f", manifest.to_str().unwrap(), "--json"]);
    kokctl.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap()
}

/// Tells of the host of each step that is done.
fn hear(output: impl Read, heard: &Sender<String>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        let event: Value = serde_json::from_str(&line).unwrap();
        if event["event"] == "step-done" {
            drop(heard.send(event["host"].as_str().unwrap().to_owned()));
        }
    }
}

/// How many steps were done since; the link to the host of some of them is cut then.
fn count(lab: &Lab, life: &Life, events: &Receiver<String>, before: usize) -> usize {
    let mut count = 0;
    let mut next = events.recv_timeout(Duration::from_millis(100)).ok();
    while let Some(host) = next {
        count += 1;
        if life.cut_after.contains(&(before + count)) {
            println!("the link to {host} is cut after {} steps", before + count);
            // The sessions, and not the server that lets in the next one; its own one goes with them.
            drop(lab.host(&host).unwrap().ssh(&["pkill", "-KILL", "-f", "^sshd(-session)?: "]));
        }
        next = events.try_recv().ok();
    }
    count
}

fn take_turn(lab: &Lab, child: &Child, due: &mut Vec<Due>) {
    let now = Instant::now();
    let (is_now, later): (Vec<Due>, Vec<Due>) = due.drain(..).partition(|due| due.at <= now);
    *due = later;
    for Due { what, .. } in is_now {
        match what {
            Doing::Happens(happening) => due.extend(happens(lab, child, happening)),
            Doing::ComesBack { hosts, program } => signal(lab, &hosts, &program, "CONT"),
        }
    }
}

fn happens(lab: &Lab, child: &Child, happening: Happening) -> Option<Due> {
    println!("{happening:?}");
    match happening {
        Happening::Away { hosts, program, seconds } => {
            signal(lab, &hosts, &program, "STOP");
            Some(Due { at: Instant::now() + Duration::from_secs(seconds), what: Doing::ComesBack { hosts, program } })
        }
        Happening::Lost(host) => {
            let host = lab.host(&host).unwrap();
            if host.power().unwrap() == Power::On {
                host.power_off().unwrap();
            }
            None
        }
        Happening::Stop => {
            // The user's Ctrl-C; a run that has ended already does not hear it.
            if let Err(error) = rustix::process::kill_process(rustix::process::Pid::from_child(child), rustix::process::Signal::INT) {
                println!("{error}");
            }
            None
        }
    }
}

/// What is not there is none, and a host without power has none.
fn signal(lab: &Lab, hosts: &[String], program: &str, signal: &str) {
    let on = |host: &&String| lab.host(host).unwrap().power().unwrap() == Power::On;
    for host in hosts.iter().filter(on) {
        drop(lab.host(host).unwrap().ssh(&["pkill", &format!("-{signal}"), "-x", program]));
    }
}

/// All hosts have power and answer, and nothing is kept from going on.
fn comes_back(lab: &Lab) {
    let all: Vec<String> = lab.hosts().map(|host| host.name().to_owned()).collect();
    for host in lab.hosts().filter(|host| host.power().unwrap() != Power::On) {
        host.power_on().unwrap();
    }
    for program in ["etcd", "kube-apiserver", "kubelet"] {
        signal(lab, &all, program, "CONT");
    }
    for host in lab.hosts() {
        wait_for(&format!("{} answers", host.name()), 60, || host.ssh(&["true"]).is_ok_and(|output| output.success()));
    }
}

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::sync::{Arc, Mutex};

use kok_tasks::holder::Manager;

use super::*;

/// The records of hosts, and what was done with them, in order.
#[derive(Default)]
struct World {
    records: BTreeMap<String, String>,
    happened: Vec<String>,
}

#[derive(Clone, Default)]
struct Hosts(Arc<Mutex<World>>);

impl Hosts {
    fn with(records: &[(&str, &str)]) -> Self {
        let records = records.iter().map(|(host, line)| ((*host).to_owned(), (*line).to_owned())).collect();
        Self(Arc::new(Mutex::new(World { records, happened: Vec::new() })))
    }

    /// What a probe would read.
    fn standing(&self) -> BTreeMap<String, Standing> {
        self.0.lock().unwrap().records.iter().map(|(host, line)| (host.clone(), Standing::parse(line))).collect()
    }

    fn happened(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().happened)
    }

    /// Notes what was done with a host, which leaves this line in its record; or the epoch alone.
    fn note(&self, what: &str, host: &str, line: Option<&str>) -> Output {
        let mut world = self.0.lock().unwrap();
        world.happened.push(format!("{what} {host}"));
        let record = world.records.get_mut(host).unwrap();
        *record = line.map_or_else(|| format!("epoch={}", Standing::parse(record).epoch), str::to_owned);
        let (status, stdout) = (ExitStatus::Exited(0), b"boot".to_vec());
        Output { status, stdout, stdout_truncated: false, stderr: Vec::new(), stderr_truncated: false, noise: Vec::new() }
    }
}

impl Door for Hosts {
    fn leads_to(&self, host: &str) -> bool {
        self.0.lock().unwrap().records.contains_key(host)
    }

    fn take(&self, host: &str, _boot: Option<String>, script: String) -> impl Future<Output = Result<Output, Failure>> + Send + 'static {
        let line = script.split("kokctl_holder='").nth(1).and_then(|rest| rest.split('\'').next()).map(str::to_owned);
        std::future::ready(Ok(self.note("take", host, Some(&line.unwrap()))))
    }

    fn release(&self, host: &str, _script: String) -> impl Future<Output = Result<Output, String>> + Send + 'static {
        std::future::ready(Ok(self.note("let go", host, None)))
    }
}

fn names(hosts: &[&str]) -> Vec<String> {
    hosts.iter().map(|host| (*host).to_owned()).collect()
}

/// A stage that needs these hosts.
async fn stage(hosts: &Hosts, needed: &[&str], held: &mut Held) -> Taken {
    let controller = Controller { id: "c1".to_owned(), name: "ann@here".to_owned(), manages: None };
    let taking = Taking { run: "r1".to_owned(), controller, take_over: false, boots: BTreeMap::new() };
    take(hosts, &names(needed), &hosts.standing(), &taking, held, &Events::new(Vec::new())).await.unwrap()
}

async fn end(hosts: &Hosts, held: &mut Held) {
    release(hosts, held, &Events::new(Vec::new())).await;
}

#[tokio::test]
async fn over_two_stages_each_host_is_taken_once_and_let_go_once() {
    let (hosts, mut held) = (Hosts::with(&[("a", "epoch=3"), ("b", "epoch=5"), ("c", "")]), Held::default());
    assert_eq!(stage(&hosts, &["a"], &mut held).await, Taken::AsProbed);
    let line = held.line.clone();
    assert!(line.starts_with("epoch=6 run=r1 controller=c1 "), "{line}");
    assert_eq!(stage(&hosts, &["a", "b", "c"], &mut held).await, Taken::AsProbed);
    assert_eq!(stage(&hosts, &["c", "a"], &mut held).await, Taken::AsProbed);
    assert_eq!(held.line, line);
    let stands: Vec<String> = hosts.standing().into_values().map(|standing| standing.line).collect();
    assert_eq!(stands, vec![line; 3]);
    assert_eq!(hosts.happened(), ["take a", "take b", "take c"]);
    end(&hosts, &mut held).await;
    assert_eq!(hosts.happened(), ["let go a", "let go b", "let go c"]);
    assert!(held.is_empty() && hosts.standing().values().all(|standing| standing.epoch == 6 && standing.holder.is_none()));
}

#[tokio::test]
async fn a_host_that_had_a_later_run_is_never_set_back() {
    let (hosts, mut held) = (Hosts::with(&[("a", "epoch=3")]), Held::default());
    assert_eq!(stage(&hosts, &["a"], &mut held).await, Taken::AsProbed);
    hosts.0.lock().unwrap().records.insert("b".to_owned(), "epoch=4".to_owned());
    assert_eq!(stage(&hosts, &["a", "b"], &mut held).await, Taken::ChangedHands(["b".to_owned()].into()));
    assert_eq!(hosts.happened(), ["take a", "let go a"]);
    assert_eq!(stage(&hosts, &["a", "b"], &mut held).await, Taken::AsProbed);
    assert_eq!(held.epoch, 5);
    assert_eq!(hosts.happened(), ["take a", "take b"]);
}

#[tokio::test]
async fn a_host_whose_record_has_gone_is_taken_again() {
    let (hosts, mut held) = (Hosts::with(&[("a", ""), ("b", "")]), Held::default());
    assert_eq!(stage(&hosts, &["a", "b"], &mut held).await, Taken::AsProbed);
    hosts.0.lock().unwrap().records.insert("b".to_owned(), String::new());
    assert_eq!(stage(&hosts, &["a", "b"], &mut held).await, Taken::AsProbed);
    assert_eq!(hosts.happened(), ["take a", "take b", "take b"]);
}

#[tokio::test]
async fn who_keeps_hosts_as_they_are_described_leaves_that_and_nobody_elses_is_touched() {
    let manager = Manager { controller: "c1".to_owned(), by: "berlin@kok".to_owned() };
    let keeps = Controller { id: "c1".to_owned(), name: "a@kok".to_owned(), manages: Some(manager) };
    let does_not = Controller { manages: None, ..keeps.clone() };
    let leaves = |line: &str, own: &Controller| leaves_another(&Standing::parse(line), own);
    for (line, of_keeper, of_other) in [
        ("", true, false),
        ("epoch=3", true, false),
        ("epoch=3 manager=c1 by=x", false, true),
        ("epoch=3 manager=c2 by=x", false, false),
        ("epoch=3 run=r controller=c1 since=s by=x", true, true),
        ("epoch=3 run=r controller=c2 since=s by=x", false, false),
    ] {
        assert_eq!((leaves(line, &keeps), leaves(line, &does_not)), (of_keeper, of_other), "{line}");
    }
    let (hosts, mut held) = (Hosts::with(&[("a", "epoch=3")]), Held::default());
    let taking = Taking { run: "r1".to_owned(), controller: keeps, take_over: false, boots: BTreeMap::new() };
    take(&hosts, &names(&["a"]), &hosts.standing(), &taking, &mut held, &Events::new(Vec::new())).await.unwrap();
    assert_eq!((held.left.as_str(), held.line.contains("manager")), ("epoch=4 manager=c1 by=berlin@kok", false));
}

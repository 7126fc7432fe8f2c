//! A writer that counts in the cluster, and a reader that watches it, as clients on a worker would: by the name of the API once the host knows it.

use kok_tests::lab::{Host, Lab};
use serde_json::Value;

use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::ok;
use crate::lab_support::wait_for;

/// What both begin with. Of a name that leads to several addresses the next one is tried where one refuses. Hosts of a lab share two processors: what the shell does itself costs
/// no process.
const CLIENT: &str = r#"cd /root/load
api() {
  path=$1
  shift
  server=
  while read -r _ name _; do
    case $name in lb-apiserver.kubernetes.local) server=$name ;; esac
  done </etc/hosts
  curl -sf --connect-timeout 1 --cacert ca.crt --cert client.crt --key client.key "$@" "https://${server:-$(cat address)}:6443$path"
}
worker=$(uname -n)
"#;

/// So many writes come into one object, and the next ones into another: each write of an object sends all of it through etcd.
const IN_ONE: u64 = 200;

/// Objects that are there for them: enough for half an hour.
const OBJECTS: u64 = 150;

/// Whether a connection that was refused, or cut before TLS was spoken, is tried once more is said by `AGAIN`.
const WRITER: &str = r#"n=0 at=$(date +%s%3N)
put() {
  api "/api/v1/namespaces/default/configmaps/counter-$worker-$((n / IN_ONE))" --max-time 2 -o /dev/null -w '%{exitcode} %{http_code} %{errormsg}' -X PATCH \
    -H 'Content-Type: application/merge-patch+json' -d "{\"data\":{\"k$n\":\"\",\"n\":\"$n\"}}"
}
while :; do
  n=$((n + 1)) from=$at is=acknowledged
  said=$(put) || case $AGAIN$said in 'yes7 '* | 'yes35 '*) said=$(put) ;; *) false ;; esac || is=failed
  at=$(date +%s%3N)
  case $is in
    acknowledged) echo "$at $n" >>acknowledged ;;
    failed) echo "$from $n" >>failed; echo "$(date +%T.%3N) write $n: $said" >>why ;;
  esac
  sleep 0.05
done
"#;

const READER: &str = r#"while :; do
  from=$(tail -n 1 watched 2>/dev/null | cut -d ' ' -f 1)
  api "/api/v1/namespaces/default/configmaps?watch=1&labelSelector=counter%3D$worker&resourceVersion=${from:-0}" -N --max-time 20 |
    sed -un 's/.*"resourceVersion":"\([0-9]*\)".*"n":"\([0-9]*\)".*/\1 \2/p' >>watched
  sleep 0.05
done
"#;

/// So many milliseconds between two writes are no outage: a curl that is started, and a host that has other things to do.
const USUAL: u64 = 500;

/// What an operation may cost, in milliseconds in which the API is away.
const OPERATION: u64 = 5000;

/// So many milliseconds in which it is away are what a control plane costs that loses its power: until a load balancer has asked it twice, and waited.
pub const POWER_CUT: u64 = 20_000;

pub struct Load {
    worker: Host,
}

impl Load {
    /// Begins both on worker1. Each write is tried once.
    pub fn begin(lab: &Lab) -> Self {
        Self::begin_on(lab, "worker1", "no")
    }

    /// The same with a client that tries once more where its connection is refused, as an upgrade may ask of clients.
    pub fn begin_with_a_second_try(lab: &Lab, worker: &str) -> Self {
        Self::begin_on(lab, worker, "yes")
    }

    fn begin_on(lab: &Lab, worker: &str, again: &str) -> Self {
        kubectl(lab, &format!("apply -f - <<'END'\n{}END", objects(worker)));
        let worker = lab.host(worker).unwrap();
        make_client(lab, &worker);
        for (name, script) in [("writer", WRITER), ("reader", READER)] {
            start_script(&worker, name, &format!("--setenv=AGAIN={again} --setenv=IN_ONE={IN_ONE}"), script);
        }
        let load = Self { worker };
        wait_for("something is written and read", 20, || load.numbers("watched").last().is_some_and(|(_, number)| *number > 3));
        load
    }

    fn numbers(&self, file: &str) -> Vec<(u64, u64)> {
        let text = ok(&self.worker, &format!("cat /root/load/{file} 2>/dev/null || :"));
        let pair = |line: &str| line.split_once(' ').and_then(|(first, second)| Some((first.parse().ok()?, second.parse().ok()?)));
        text.lines().filter_map(pair).collect()
    }

    /// What was written since it was asked last is there, the watch has not gone back, and the API was not away for longer than an operation may cost.
    pub fn goes_on(&self, after: &str) {
        self.goes_on_but_for(after, OPERATION);
    }

    /// The same, where the API may have been away for so many milliseconds.
    pub fn goes_on_but_for(&self, after: &str, most: u64) {
        let written = self.numbers("acknowledged");
        ok(&self.worker, "tail -n 1 /root/load/acknowledged >/root/load/last && mv -f /root/load/last /root/load/acknowledged");
        let last = written.last().expect("nothing was written").1;
        let ask = ". /root/load/client.sh; api /api/v1/namespaces/default/configmaps?labelSelector=counter%3D$worker";
        let list: Value = serde_json::from_str(&ok(&self.worker, ask)).unwrap();
        let is: Vec<&Value> = list["items"].as_array().unwrap().iter().map(|object| &object["data"]).collect();
        let number = is.iter().filter_map(|data| data["n"].as_str()?.parse::<u64>().ok()).max().unwrap();
        assert!(number >= last, "{after}: {last} was acknowledged, and {number} is there");
        let is_there = |number: &u64| is.iter().any(|data| data.get(format!("k{number}")).is_some());
        let lost: Vec<u64> = written.iter().map(|(_, number)| *number).filter(|number| !is_there(number)).collect();
        assert!(lost.is_empty(), "{after}: {lost:?} were acknowledged, and are not there");
        let (away, slow) = (self.away(&written), slow(&written));
        print!("{}", ok(&self.worker, "tail -n 40 /root/load/why 2>/dev/null; rm -f /root/load/why"));
        let (worker, writes) = (self.worker.name(), written.len());
        println!(
            "{after}: {writes} writes of {worker}, {away} ms in which they failed, and {slow} ms in which they took longer than usual:{}",
            slow_times(&written)
        );
        assert!(away <= most, "{after}: the API was away for {away} ms");
        // A write may take longer where two stories are told at once; that so many do is an outage, too.
        assert!(slow < 20_000, "{after}: the API was away or slow for {slow} ms");
        let watched = self.numbers("watched");
        let back = watched.windows(2).find(|pair| pair[1].1 < pair[0].1 || pair[1].0 < pair[0].0);
        assert_eq!(back, None, "{after}: the watch went back");
    }

    /// Milliseconds from the first write that failed to the next one that did not, of all such times since it was asked last.
    fn away(&self, written: &[(u64, u64)]) -> u64 {
        let failed = self.numbers("failed");
        ok(&self.worker, "rm -f /root/load/failed");
        let (mut away, mut until) = (0, 0);
        for (from, number) in failed {
            let next = written.iter().find(|(_, later)| *later > number).map_or(from, |(at, _)| *at);
            away += next.saturating_sub(from.max(until));
            until = next;
        }
        away
    }

    /// Ends both. On a busy host of the lab systemd may not hear that nothing is left of one, waits, and says that it has failed.
    pub fn end(self) {
        ok(
            &self.worker,
            "systemctl stop load-writer load-reader; systemctl reset-failed load-writer load-reader 2>/dev/null; rm -rf /root/load",
        );
    }
}

/// The objects that a worker's writer fills, one after the other.
fn objects(worker: &str) -> String {
    let object = |number: u64| {
        let metadata = format!("{{name: counter-{worker}-{number}, labels: {{counter: {worker}}}}}");
        format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\n")
    };
    (0..OBJECTS).map(object).collect()
}

/// Makes a host a client of the API: what is written in `api` asks it.
pub fn make_client(lab: &Lab, host: &Host) {
    ok(host, "mkdir -p -m 700 /root/load");
    let cp1 = lab.host("cp1").unwrap();
    let credentials =
        [("ca.crt", "certificate-authority-data"), ("client.crt", "client-certificate-data"), ("client.key", "client-key-data")];
    for (file, field) in credentials {
        let text = ok(&cp1, &format!("sed -n 's/^ *{field}: *//p' /etc/kubernetes/admin.conf | tr -d '\"'"));
        ok(host, &format!("echo '{}' | base64 -d >/root/load/{file}", text.trim()));
    }
    ok(host, &format!("echo {} >/root/load/address", cp1.address()));
    ok(host, &format!("cat >/root/load/client.sh <<'END'\n{CLIENT}END"));
}

/// Begins a script of such a client, as the unit `load-NAME`.
pub fn start_script(host: &Host, name: &str, options: &str, script: &str) {
    let begin = format!("systemd-run --quiet --unit=load-{name} {options} --property=TimeoutStopSec=5 sh /root/load/{name}.sh");
    ok(host, &format!("cat >/root/load/{name}.sh <<'END'\n. /root/load/client.sh\n{script}END\n{begin}"));
}

/// Milliseconds between writes that are further apart than usual.
fn slow(written: &[(u64, u64)]) -> u64 {
    gaps(written).map(|(_, gap)| gap).sum()
}

/// When writes were further apart than usual, in milliseconds since 1970, and by how many.
fn gaps(written: &[(u64, u64)]) -> impl Iterator<Item = (u64, u64)> {
    written.windows(2).map(|pair| (pair[0].0, pair[1].0 - pair[0].0)).filter(|(_, gap)| *gap > USUAL)
}

/// The same for people, from the first to the last second of each time in which one slow write followed the other.
fn slow_times(written: &[(u64, u64)]) -> String {
    let mut times: Vec<(u64, u64)> = Vec::new();
    for (from, gap) in gaps(written) {
        match times.last_mut().filter(|(_, until)| from < *until + 2 * USUAL) {
            Some(last) => last.1 = from + gap,
            None => times.push((from, from + gap)),
        }
    }
    let of_day = |at: u64| format!("{:02}:{:02}:{:02}", at / 3_600_000 % 24, at / 60_000 % 60, at / 1000 % 60);
    times.iter().map(|(from, until)| format!(" {}-{}", of_day(*from), of_day(*until))).collect()
}

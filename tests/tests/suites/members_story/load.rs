//! A writer that counts in the cluster, and a reader that watches it, as clients on a worker would: by the name of the API once the host knows it.

use kok_tests::lab::{Host, Lab};
use serde_json::Value;

use crate::cluster_support::cluster::kubectl;
use crate::cluster_support::ok;
use crate::lab_support::wait_for;

/// What both begin with. Of a name that leads to several addresses the next one is tried where one refuses.
const CLIENT: &str = r#"cd /root/load
api() {
  path=$1
  shift
  server=$(awk '$2 == "lb-apiserver.kubernetes.local" { print $2; exit }' /etc/hosts)
  curl -sf --connect-timeout 1 --cacert ca.crt --cert client.crt --key client.key "$@" "https://${server:-$(cat address)}:6443/api/v1$path"
}
"#;

/// Whether a connection that was refused, or cut before TLS was spoken, is tried once more is said by `AGAIN`.
const WRITER: &str = r#"n=0
put() {
  api /namespaces/default/configmaps/counter --max-time 2 -o /dev/null -w '%{exitcode} %{http_code} %{errormsg}' -X PATCH \
    -H 'Content-Type: application/merge-patch+json' -d "{\"data\":{\"k$n\":\"\",\"n\":\"$n\"}}"
}
while :; do
  n=$((n + 1)) from=$(date +%s%3N)
  said=$(put) || case $AGAIN$said in 'yes7 '* | 'yes35 '*) said=$(put) ;; *) false ;; esac &&
    echo "$(date +%s%3N) $n" >>acknowledged || { echo "$from $n" >>failed; echo "$(date +%T.%3N) write $n: $said" >>why; }
  sleep 0.05
done
"#;

const READER: &str = r#"while :; do
  from=$(tail -n 1 watched 2>/dev/null | cut -d ' ' -f 1)
  api "/namespaces/default/configmaps?watch=1&fieldSelector=metadata.name%3Dcounter&resourceVersion=${from:-0}" -N --max-time 20 |
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
        Self::begin_with(lab, "no")
    }

    /// The same with a client that tries once more where its connection is refused, as an upgrade may ask of clients.
    pub fn begin_with_a_second_try(lab: &Lab) -> Self {
        Self::begin_with(lab, "yes")
    }

    fn begin_with(lab: &Lab, again: &str) -> Self {
        kubectl(lab, "create configmap counter --from-literal=n=0");
        let (cp1, worker) = (lab.host("cp1").unwrap(), lab.host("worker1").unwrap());
        ok(&worker, "mkdir -p -m 700 /root/load");
        let credentials =
            [("ca.crt", "certificate-authority-data"), ("client.crt", "client-certificate-data"), ("client.key", "client-key-data")];
        for (file, field) in credentials {
            let text = ok(&cp1, &format!("sed -n 's/^ *{field}: *//p' /etc/kubernetes/admin.conf | tr -d '\"'"));
            ok(&worker, &format!("echo '{}' | base64 -d >/root/load/{file}", text.trim()));
        }
        ok(&worker, &format!("echo {} >/root/load/address", cp1.address()));
        ok(&worker, &format!("cat >/root/load/client.sh <<'END'\n{CLIENT}END"));
        for (name, script) in [("writer", WRITER), ("reader", READER)] {
            let begin = format!(
                "systemd-run --quiet --unit=load-{name} --setenv=AGAIN={again} --property=TimeoutStopSec=5 sh /root/load/{name}.sh"
            );
            ok(&worker, &format!("cat >/root/load/{name}.sh <<'END'\n. /root/load/client.sh\n{script}END\n{begin}"));
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
        let ask = ". /root/load/client.sh; api /namespaces/default/configmaps/counter";
        let is: Value = serde_json::from_str(&ok(&self.worker, ask)).unwrap();
        let number: u64 = is["data"]["n"].as_str().unwrap().parse().unwrap();
        assert!(number >= last, "{after}: {last} was acknowledged, and {number} is there");
        let lost: Vec<u64> =
            written.iter().map(|(_, number)| *number).filter(|number| is["data"].get(format!("k{number}")).is_none()).collect();
        assert!(lost.is_empty(), "{after}: {lost:?} were acknowledged, and are not there");
        let (away, slow) = (self.away(&written), slow(&written));
        print!("{}", ok(&self.worker, "tail -n 40 /root/load/why 2>/dev/null; rm -f /root/load/why"));
        println!("{after}: {} writes, {away} ms in which they failed, and {slow} ms in which they took longer than usual", written.len());
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

/// Milliseconds between writes that are further apart than usual.
fn slow(written: &[(u64, u64)]) -> u64 {
    written.windows(2).map(|pair| pair[1].0 - pair[0].0).filter(|gap| *gap > USUAL).sum()
}

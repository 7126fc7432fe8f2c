//! Another controller takes the hosts over: what carries pods and names goes on, and a job of the run before is ended.

use kok_tasks::holder::{Holder, WAIT_SECONDS, begin_script, take_script};
use kok_tasks::script::PRELUDE;
use kok_tests::lab::{Host, Lab};
use std::fs;

use crate::cluster_support::cluster::{items, kubectl, kubectl_json};
use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{each, hosts, ok};
use crate::lab_support::wait_for;

/// Units that have kokctl's name, run for ever, and take a part of the network away when they are stopped.
const NETWORK: &str = "kokctl-node-dns.service kokctl-pod-network.service";

/// The unit of a job that does not end by itself.
const JOB: &str = "kokctl-job-stays.service";

/// Gives `apply` something to do that disturbs nobody.
const DRIFT: &str = "echo '# edited by hand' >>/etc/sysctl.d/99-zz-kokctl.conf";

pub fn leaves_the_network_alone(lab: &Lab, kokctl: &Kokctl<'_>) {
    let other = Kokctl::new(lab);
    other.write_manifest(&fs::read_to_string(kokctl.manifest()).unwrap());
    let before = network(lab);
    let worker = lab.host("worker1").unwrap();

    ok(&worker, DRIFT);
    other.converge_with("apply", &["--take-over"]);
    assert_eq!(network(lab), before, "nobody held the hosts");

    ok(&worker, DRIFT);
    hosts(lab).iter().for_each(is_held_by_a_third_one);
    wait_for("the job is at work", 20, || state_of_job(&worker) == "active");
    let refused = other.verb("apply", &["--bundle", other.bundle().to_str().unwrap()]);
    assert_eq!((refused.code, state_of_job(&worker).as_str()), (3, "active"), "{refused:?}");
    other.converge_with("apply", &["--take-over"]);
    for host in hosts(lab) {
        assert_eq!(state_of_job(&host), "inactive", "{}: what the run before had at work goes on", host.name());
    }
    assert_eq!(network(lab), before, "somebody else held the hosts");
    names_are_found(lab);
    kokctl.has_nothing_to_do();
}

/// A run of a third controller takes the host and begins a job there, by the scripts that every run sends.
fn is_held_by_a_third_one(host: &Host) {
    let present = ok(host, "cat /var/lib/kokctl/holder");
    let holder = Holder { run: "third".into(), controller: "third".into(), since: "2026-01-02T03:04:05Z".into(), by: "eve@third".into() };
    let line = holder.line(1000);
    let take = format!("{PRELUDE}{}", take_script(&present, &line, false));
    ok(host, &format!("sh <<'TAKE'\n{take}\nTAKE"));
    let begin = begin_script(&line, "scripts", WAIT_SECONDS);
    let run = "kokctl_run=third kokctl_step=host/task/step kokctl_attempt=1\necho 'sleep 600' | job stays\n";
    ok(host, &format!("setsid sh >/dev/null 2>&1 <<'RUN' &\n{PRELUDE}{begin}{run}\nRUN"));
}

fn state_of_job(host: &Host) -> String {
    ok(host, &format!("systemctl is-active {JOB} || :"))
}

/// What of each host's network is there since when: a unit that was stopped or started has another invocation, a link that was made anew
/// another number.
fn network(lab: &Lab) -> Vec<[String; 3]> {
    let state = |host: &Host| {
        let asked = [
            &format!("systemctl show -p Id -p ActiveState -p InvocationID {NETWORK}"),
            "ip -o link show nodelocaldns",
            "ip route show table main",
        ];
        each(host, asked)
    };
    let states: Vec<[String; 3]> = hosts(lab).iter().map(state).collect();
    for [units, link, _] in &states {
        assert!(units.matches("ActiveState=active").count() == 2 && link.contains("nodelocaldns"), "{units}\n{link}");
    }
    states
}

/// Each pod asks for a name of the cluster; whoever finds the API server and speaks no TLS is told so.
fn names_are_found(lab: &Lab) {
    for pod in items(&kubectl_json(lab, "get pods -l app=echo")) {
        let name = pod["metadata"]["name"].as_str().unwrap();
        let target = "http://kubernetes.default.svc.cluster.local.:443/";
        let said = kubectl(lab, &format!("get --raw '/api/v1/namespaces/default/pods/{name}:8080/proxy/check?target={target}'"));
        assert!(said.contains("status 400"), "{name}: {said}");
    }
}

//! Five bare hosts, prepared with a container running on each, in one `apply`.

use std::time::Instant;

use crate::cluster_support::kokctl::Kokctl;
use crate::cluster_support::{connection_costs, hosts, ok, up};
use kok_tests::lab::Host;

/// All that a host needs before it is part of a cluster.
const TASKS: &str = "host,packages,names,swap,selinux,firewall,trust,proxy,time-sync,container-runtime,mirrors,images";

#[test]
fn five_bare_hosts_run_containers_after_one_apply() {
    let lab = up(5);
    let kokctl = Kokctl::new(&lab);
    connection_costs::log_every_command(&lab);
    let began = Instant::now();
    let said = kokctl.converge_with("apply", &["--only", TASKS]);
    println!("{:6.1} s  from bare to prepared", began.elapsed().as_secs_f64());
    assert!(said.contains(&format!(" changes on 5 hosts of {}, ", lab.name())), "{said}");
    hosts(&lab).iter().for_each(runs_a_container);
    connection_costs::costs_one_connection_each(&lab, || {
        let said = kokctl.converge_with("apply", &["--only", TASKS]);
        assert!(said.starts_with("nothing to do"), "{said}");
    });
}

/// A container of an image that was pushed, by the runtime that was installed: it has to come up and to answer for itself.
fn runs_a_container(host: &Host) {
    let pause = ok(host, "ctr -n k8s.io images ls -q | grep /pause:");
    let said = ok(
        host,
        &format!(
            "ctr -n k8s.io run -d {pause} prepared
             ctr -n k8s.io tasks ls | awk '$1 == \"prepared\" {{ print $3 }}'
             readlink /proc/$(ctr -n k8s.io tasks ls | awk '$1 == \"prepared\" {{ print $2 }}')/exe
             ctr -n k8s.io tasks rm -f prepared >/dev/null && ctr -n k8s.io containers rm prepared"
        ),
    );
    assert_eq!(said, "RUNNING\n/pause", "{}", host.name());
}

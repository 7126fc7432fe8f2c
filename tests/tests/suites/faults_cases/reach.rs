//! Hosts that do not answer; those that refuse are in `bad_input_cases/login.rs`.

use crate::bad_input_cases::{Expected, HOST, Refusals};
use crate::cluster_support::snapshot::fingerprint;

/// Packets to it are lost, as behind a firewall: nobody says that there is no host.
pub fn black_hole(refusals: &Refusals<'_>) {
    let mut neighbour = refusals.lab.command("ip").unwrap();
    neighbour.args(["neighbour", "replace", "10.20.0.98", "lladdr", "02:00:00:00:00:98", "nud", "permanent", "dev", "lab0"]);
    assert!(neighbour.status().unwrap().success());
    let manifest = refusals.manifest_with("address: 10.20.0.12", "address: 10.20.0.98");
    let expected = Expected {
        what: "cannot connect to worker1: no answer within 4 s while connecting",
        at: "host worker1 (root@10.20.0.98:22)",
        because: "",
        hint: "routes and firewalls on the way",
    };
    refusals.refuses(&manifest, HOST, &[expected]);
}

/// The kernel takes the connection, and nobody is there to greet.
pub fn paused(refusals: &Refusals<'_>) {
    let worker1 = refusals.host("worker1");
    let before = fingerprint(refusals.lab);
    worker1.pause().unwrap();
    refusals.kokctl.write_manifest(&refusals.manifest);
    let (said, took) = refusals.timed("apply", &["--bundle", refusals.kokctl.bundle().to_str().unwrap()]);
    worker1.resume().unwrap();
    assert_eq!(said.code, HOST, "{said:?}");
    assert!(said.stderr.contains("cannot connect to worker1: no answer within"), "{}", said.stderr);
    crate::bad_input_cases::assert_quick(took, &said);
    crate::cluster_support::snapshot::assert_same(&before, &fingerprint(refusals.lab), "nothing must change");
}

//! What the tests with kokctl itself share: running it, looking at hosts and clusters.

pub mod arguments;
pub mod authorities;
pub mod bare;
pub mod clock;
pub mod cluster;
pub mod connection_costs;
pub mod escrow;
pub mod kept;
pub mod kokctl;
pub mod kubelets;
pub mod meanwhile;
pub mod node_dns;
pub mod secrets;
pub mod site;
pub mod snapshot;
pub mod workload;

use kok_tests::lab::{Host, Lab, LabSpec};

/// A lab of this size, or a failure with what the lab says is missing.
pub fn up(hosts: usize) -> Lab {
    Lab::up(LabSpec::unique(hosts)).unwrap_or_else(|error| panic!("{error}"))
}

/// Standard output of a shell line that has to succeed.
pub fn ok(host: &Host, line: &str) -> String {
    let output = host.ssh(&["sh", "-c", line]).unwrap();
    assert!(output.success(), "{}: {line}: {output:?}", host.name());
    output.stdout.trim().to_owned()
}

/// Standard output of each of these shell lines, with one login for all; a line that finds nothing may fail.
pub fn each<const N: usize>(host: &Host, lines: [&str; N]) -> [String; N] {
    const MARK: &str = "-- end of a line --";
    let script: String = lines.iter().map(|line| format!("( {line} ) 2>/dev/null\necho '{MARK}'\n")).collect();
    let output = ok(host, &script);
    let parts: Vec<String> = output.split(MARK).map(|part| part.trim().to_owned()).collect();
    assert_eq!(parts.len(), N + 1, "{output}");
    std::array::from_fn(|index| parts[index].clone())
}

/// Every host of a lab.
pub fn hosts(lab: &Lab) -> Vec<Host> {
    lab.hosts().collect()
}

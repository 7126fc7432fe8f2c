//! What `vagrant ssh-config` prints, and behind a NUL what is noted of its first machine, and a manifest or nothing.
#![no_main]

use kok_crds::{File, Role, read_input};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut parts = text.split('\0');
    let mut file = |name: &str, role: Role| parts.next().map(|text| File { name: name.to_owned(), text: text.to_owned(), role });
    let listed = file("ssh-config", Role::Machines { cluster: Some("fuzzed".to_owned()) });
    let noted = file("kokctl.json", Role::Machine { name: "control-plane-1".to_owned() });
    let main = file("cluster.yaml", Role::Main { cluster: None });
    let input = read_input(&[listed, noted, main].into_iter().flatten().collect::<Vec<_>>());
    assert!(input.cluster.is_some() != !input.problems.is_empty());
    // Whatever Vagrant prints, nobody is logged in to by another way than directly.
    let hosts = input.cluster.iter().flat_map(|cluster| &cluster.hosts);
    hosts.for_each(|host| assert!(host.ssh.via.is_some()));
});

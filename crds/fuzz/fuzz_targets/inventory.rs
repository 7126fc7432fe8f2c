//! Inventories in YAML, with the same text as a file of variables: hosts or problems, never a panic.
#![no_main]

use kok_crds::Source;
use kok_crds::inventory::Inventory;
use kok_crds::resolve::Resolved;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // What comes first makes it YAML, whatever follows.
    let source = Source::file("hosts.yml", format!("---\n{text}"));
    let beside = [Source::file("group_vars/all.yml", text)];
    match Inventory::read(&source, &beside).or_else(|_| Inventory::read(&source, &[])) {
        Ok(inventory) => {
            assert!(!inventory.hosts().is_empty());
            let resolved = Resolved::new(inventory, Vec::new());
            // A few are as good as all of ten thousand.
            for host in resolved.inventory().hosts().into_iter().take(4) {
                assert!(resolved.names(host).into_iter().all(|name| resolved.origin(host, name).is_some()));
            }
        }
        Err(problems) => assert!(!problems.is_empty() && problems.iter().all(|problem| problem.position.is_some())),
    }
});

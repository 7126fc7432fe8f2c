//! Inventories in INI and patterns of hosts: hosts or problems, never a panic.
#![no_main]

use kok_crds::inventory::Inventory;
use kok_crds::{Position, Source};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &str)| {
    let (text, pattern) = input;
    // What comes first makes it INI, whatever follows.
    let source = Source::file("hosts", format!("[all]\nlocal\n{text}"));
    match Inventory::read(&source, &[]) {
        Ok(inventory) => {
            let at = Position { file: "pattern".into(), line: 1, column: 1 };
            match inventory.select(pattern, &at) {
                Ok(hosts) => assert!(!hosts.is_empty() && hosts.iter().all(|host| inventory.position_of(host).is_some())),
                Err(problems) => assert!(!problems.is_empty()),
            }
        }
        Err(problems) => assert!(!problems.is_empty() && problems.iter().all(|problem| problem.position.is_some())),
    }
});

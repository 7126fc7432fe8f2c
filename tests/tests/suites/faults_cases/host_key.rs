//! Host keys that must not be believed; the others are in `bad_input_cases/login.rs`.

use crate::bad_input_cases::{Expected, HOST, Refusals};

/// A key that was stolen: it is right, and must not be used.
pub fn revoked(refusals: &Refusals<'_>) {
    let right = refusals.lab.known_hosts_path();
    let text = std::fs::read_to_string(&right).unwrap();
    let key = text.lines().find(|line| line.starts_with("10.20.0.12,worker1 ssh-ed25519")).unwrap();
    let file = refusals.kokctl.folder().join("revoked");
    std::fs::write(&file, format!("{text}@revoked {key}\n")).unwrap();
    let manifest = refusals.manifest_with(&right.display().to_string(), &file.display().to_string());
    let expected = Expected {
        what: "cannot connect to worker1: its host key is revoked",
        at: "host worker1 (root@10.20.0.12:22)",
        because: "@revoked",
        hint: "new host key",
    };
    refusals.refuses(&manifest, HOST, &[expected]);
}

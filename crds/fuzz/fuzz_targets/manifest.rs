//! Manifests of addons: objects with names that the API could have, or problems, never a panic.
#![no_main]

use kok_crds::model::{Addon, Manifest};
use kok_crds::{Position, Source, read_manifest};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let origin = Position { file: "c".into(), line: 1, column: 1 };
    let manifest = Manifest::Files(vec!["m".into()]);
    let addon = Addon { name: "a".into(), namespace: None, manifest, sha256: None, prune: Default::default(), origin, objects: Vec::new() };
    match read_manifest(&addon, &Source::file("m", text)) {
        Ok(objects) => {
            let is_name = |name: &str| !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"');
            assert!(objects.iter().all(|object| is_name(&object.name.name) && is_name(&object.name.kind)));
        }
        Err(problems) => assert!(!problems.is_empty() && problems.iter().all(|problem| problem.position.is_some())),
    }
});

//! What users see when their inventory is wrong: `bad/*`, each with its whole output in `snapshots`.

use std::fs;
use std::path::Path;

use crate::support::{rendered, try_read};

#[test]
fn every_wrong_inventory_is_explained() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inventory/bad");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 10, "the files of this test are missing");
    let mut idle = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        // Files beside the inventory stand behind a line of their own.
        let mut parts = text.split("\n=== ");
        let inventory = parts.next().unwrap();
        let beside: Vec<_> = parts.map(|part| part.split_once('\n').unwrap()).collect();
        let Err(problems) = try_read(inventory, &beside) else { panic!("{name}: accepted") };
        assert!(problems.iter().all(|problem| problem.position.is_some()), "{name}: a problem has no place");
        idle.extend(problems.iter().filter(|problem| problem.hint.is_none()).map(ToString::to_string));
        assert!(!rendered(&problems).contains("secret"), "{name}: a secret is shown");
        insta::with_settings!({snapshot_path => "../snapshots", omit_expression => true, prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!(format!("inventory_{name}"), rendered(&problems));
        });
    }
    assert!(idle.is_empty(), "nobody says what to do:\n{}", idle.join("\n"));
}

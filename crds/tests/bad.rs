//! What users see when their file is wrong: `bad/*.yaml`, each with its whole output in `snapshots`.
//!
//! A new or changed output is taken over with `INSTA_UPDATE=always cargo test -p kok-crds --test bad`, and then read.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;

use kok_crds::{Problem, read_cluster};

fn rendered(problems: &[Problem]) -> String {
    let texts: Vec<_> = problems.iter().map(ToString::to_string).collect();
    texts.join("\n\n")
}

#[test]
fn every_wrong_file_is_explained() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 20, "the files of this test are missing");
    let mut idle = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let Err(problems) = read_cluster("cluster.yaml", &text) else { panic!("{name}: accepted") };
        assert!(problems.iter().all(|problem| problem.position.is_some()), "{name}: a problem has no place");
        idle.extend(problems.iter().filter(|problem| problem.hint.is_none()).map(ToString::to_string));
        insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!(name, rendered(&problems));
        });
    }
    assert!(idle.is_empty(), "nobody says what to do:\n{}", idle.join("\n"));
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let text = "#".repeat((1 << 20) + 1);
    let problems = read_cluster("cluster.yaml", &text).unwrap_err();
    assert_eq!(
        rendered(&problems),
        "error: the file is 1048577 bytes long\n   at: cluster.yaml:1:1\nbecause: more than 1048576 bytes are not read\n hint: give each cluster a file of its own"
    );
}

#[test]
fn nothing_of_a_value_can_break_the_lines() {
    let text = "apiVersion: \"a\\nb\\e[31m`\"\nkind: \"".to_owned() + &"x".repeat(500) + "\"\n";
    let problems = read_cluster("cluster.yaml", &text).unwrap_err();
    assert!(rendered(&problems).starts_with("error: `apiVersion` is `a\\nb\\u{1b}[31m``\n   at: cluster.yaml:1:13\n"));
    assert!(problems.iter().all(|problem| problem.message.len() < 200));
}

//! Everything from a user's files to a cluster: an inventory or a manifest, and behind a NUL a file of variables and one of `-e`.
#![no_main]

use kok_crds::{File, Role, read_input};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut parts = text.split('\0');
    let mut file = |name: &str, role: Role| parts.next().map(|text| File { name: name.to_owned(), text: text.to_owned(), role });
    let main = file("hosts.yml", Role::Main { cluster: Some("fuzzed".to_owned()) });
    let beside = file("group_vars/all.yml", Role::Beside);
    let extra = file("vars.yml", Role::ExtraFile);
    let files: Vec<File> = [main, beside, extra].into_iter().flatten().collect();
    let input = read_input(&files);
    // A file that says what was read says the same again.
    if let (Some(cluster), Some(text)) = (&input.cluster, input.inline_file()) {
        let again = read_input(&[File { name: "again.yaml".to_owned(), text, role: Role::Main { cluster: None } }]);
        assert_eq!(again.problems, Vec::new());
        assert_eq!(again.cluster.map(|again| again.name), Some(cluster.name.clone()));
    }
});

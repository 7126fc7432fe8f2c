//! Objects out of any text: values or problems, never a panic.
#![no_main]

use kok_crds::read_objects;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match read_objects(&[("f", text)]) {
        Ok(objects) => {
            let names: Vec<_> = objects.clusters.iter().map(|cluster| &cluster.name).collect();
            assert!(names.iter().enumerate().all(|(index, name)| !names.iter().skip(index + 1).any(|other| other == name)));
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            assert!(problems.iter().all(|problem| problem.to_string().lines().count() <= 4));
        }
    }
});

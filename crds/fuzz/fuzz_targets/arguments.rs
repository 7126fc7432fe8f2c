//! Arguments out of any command line: values or problems, each within the text, never a panic.
#![no_main]

use kok_crds::Source;
use kok_crds::operation::Arguments;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // Of a value in YAML the places are those that YAML counts, and to it a carriage return ends a line too.
    let lines = u64::try_from(text.split(['\n', '\r']).count()).unwrap_or(u64::MAX);
    match Arguments::parse(&Source::file("extraArgs", text)) {
        Ok((arguments, _)) => {
            let _ = arguments.tasks(&["etcd", "images"]);
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            for position in problems.iter().filter_map(|problem| problem.position.as_ref()) {
                assert!(position.line <= lines && position.column >= 1);
            }
        }
    }
});

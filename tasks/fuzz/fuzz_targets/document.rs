//! A document of a plan from any text: read or refused, and what is read is written as what is read again.
#![no_main]

use kok_tasks::plan::{DocumentError, PlanDocument};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // Nobody finds a digest by trying, so it is put right.
    let read = match PlanDocument::parse(text) {
        Err(DocumentError::Changed { says, has }) if !says.is_empty() => PlanDocument::parse(&text.replace(&says, &has)),
        read => read,
    };
    let Ok(document) = read else { return };
    let Ok(again) = serde_json::to_string(&document) else { panic!("it can't be written") };
    assert_eq!(PlanDocument::parse(&again), Ok(document));
});

//! Facts out of any answer: a value or an error, never a panic.
#![no_main]

use kok_tasks::facts::{self, Extent};
use kok_tasks::observe::{Nonce, sections};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|answer: &[u8]| {
    // The nonce of the recorded answers, which are the corpus.
    let nonce = Nonce::new([0x5a; 16]);
    let cut = sections(&nonce, answer);
    assert!(cut.iter().map(|section| section.body.len()).sum::<usize>() <= answer.len(), "a section was made of nothing");
    if let Err(error) = facts::parse(&nonce, Extent::Node, answer) {
        assert!(!error.section.is_empty() && error.excerpt.chars().count() <= 80);
    }
});

//! What fuzzing begins with is kept here: small files for each target, so that the first seconds of a run reach deep.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

/// Larger ones are slow to change at random.
const MAX_BYTES: u64 = 1024;

#[test]
fn every_fuzz_target_has_small_seeds() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let script = fs::read_to_string(fuzz.join("../../tests/make/fuzz.sh")).unwrap();
    assert!(script.contains("\"crds/fuzz/seeds/$target\""), "the run does not begin with them");
    for target in fs::read_dir(fuzz.join("fuzz_targets")).unwrap() {
        let name = target.unwrap().path().file_stem().unwrap().to_owned();
        let seeds: Vec<_> = fs::read_dir(fuzz.join("seeds").join(&name)).unwrap().map(Result::unwrap).collect();
        assert!(!seeds.is_empty(), "{}", name.display());
        assert!(seeds.iter().all(|seed| (1..=MAX_BYTES).contains(&seed.metadata().unwrap().len())), "{}", name.display());
    }
}

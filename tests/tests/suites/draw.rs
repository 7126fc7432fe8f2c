//! What of the long stories a run takes: drawn by a seed, which is printed and can be set.
//!
//! `KOK_TEST_SEED` is a number, or `all` for everything. `tests/make/test.sh` sets it and draws whole stories by the same seed; here are parts of
//! stories, which share a cluster.

use std::collections::hash_map::RandomState;
use std::env;
use std::hash::{BuildHasher as _, Hasher as _};

const SEED: &str = "KOK_TEST_SEED";

/// So many of the parts with these names, in their order; `what` is printed with those that are taken, and a line that is counted
/// (tests/make/count.sh) for each of the others.
pub fn draw(what: &str, names: &[&'static str], count: usize) -> Vec<&'static str> {
    let seed = seed();
    let taken = taken(seed.parse().ok(), what, names, count);
    println!("{SEED}={seed}: {what}: {}", taken.join(", "));
    names.iter().filter(|name| !taken.contains(name)).for_each(|name| println!("skip - {what}: {name}"));
    taken
}

fn seed() -> String {
    let seed = env::var(SEED).unwrap_or_else(|_| (RandomState::new().build_hasher().finish() % 10_000).to_string());
    assert!(seed == "all" || seed.parse::<u64>().is_ok(), "{SEED} is a number or `all`, and not {seed:?}");
    seed
}

/// Everything without a seed. With one, each name has a place that only the seed, `what` and itself decide, and the first are taken.
fn taken(seed: Option<u64>, what: &str, names: &[&'static str], count: usize) -> Vec<&'static str> {
    let Some(seed) = seed else { return names.to_vec() };
    let mut places: Vec<(u64, &str)> = names.iter().map(|name| (place(&format!("{seed} {what} {name}")), *name)).collect();
    places.sort_unstable();
    let first = &places[..count.min(places.len())];
    names.iter().copied().filter(|name| first.iter().any(|(_, taken)| taken == name)).collect()
}

/// FNV-1a, with the last step of SplitMix64 behind it: the same on every machine and with every compiler, as that of std need not be.
fn place(text: &str) -> u64 {
    let sum = text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mixed = (sum ^ (sum >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::taken;

    const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

    #[test]
    fn a_seed_takes_the_same_each_time_and_seeds_take_all_in_the_end() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..50 {
            let drawn = taken(Some(seed), "parts", &NAMES, 2);
            assert_eq!(drawn, taken(Some(seed), "parts", &NAMES, 2));
            assert!(drawn.len() == 2 && drawn.is_sorted(), "{drawn:?}");
            seen.extend(drawn);
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), NAMES);
        assert_eq!(taken(None, "parts", &NAMES, 2), NAMES);
        assert_eq!(taken(Some(1), "parts", &NAMES, 9), NAMES);
    }
}

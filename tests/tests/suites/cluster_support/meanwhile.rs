//! Requests that go on while something is done.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Says when it goes that nothing is to be asked any more, also where the work fails.
struct Last<'a>(&'a AtomicBool);

impl Drop for Last<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Asks over and over until the work has ended: `round` fails where an answer is not as it has to be.
pub fn asked<T>(round: impl Fn() + Sync, work: impl FnOnce() -> T) -> T {
    let (ends, rounds) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::SeqCst) {
                round();
                rounds.fetch_add(1, Ordering::SeqCst);
            }
        });
        let last = Last(&ends);
        let result = work();
        drop(last);
        println!("{} rounds of requests meanwhile", rounds.load(Ordering::SeqCst));
        result
    })
}

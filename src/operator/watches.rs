//! The watches that the loop hears of everything by.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use kube::Api;
use kube::api::DynamicObject;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch_all};

use super::group::Group;
use super::stores::What;

/// The first pause before a watch that was interrupted begins anew, and the longest.
const AGAIN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(4));

/// What one of them tells.
pub(super) type WatchEvent = ((Group, What), Result<Event<DynamicObject>, watcher::Error>);

/// One of them.
pub(super) fn watched(watch: (Group, What), api: Api<DynamicObject>) -> BoxStream<'static, WatchEvent> {
    let events = watch_all(api, watcher::Config::default()).backoff(Pauses(AGAIN.0));
    events.map(move |event| (watch, event)).boxed()
}

/// The next pause. What somebody asks for is to be heard of soon after the API server is back, however long it was away: after a minute kube's own
/// pauses are of up to another one.
struct Pauses(Duration);

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let pause = self.0;
        self.0 = AGAIN.1.min(pause * 2);
        Some(pause)
    }
}

impl Backoff for Pauses {
    fn reset(&mut self) {
        self.0 = AGAIN.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_stay_short_however_long_nobody_answers() {
        let mut pauses = Pauses(AGAIN.0);
        let milliseconds: Vec<u128> = pauses.by_ref().take(6).map(|pause| pause.as_millis()).collect();
        assert_eq!(milliseconds, [500, 1000, 2000, 4000, 4000, 4000]);
        pauses.reset();
        assert_eq!(pauses.next(), Some(AGAIN.0));
    }
}

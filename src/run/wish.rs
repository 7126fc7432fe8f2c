//! What whoever began a run wishes of it meanwhile: once to finish what is in flight, twice to leave at once.

use tokio::sync::watch;

/// What the user wishes of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Stop {
    /// To go on.
    #[default]
    No,
    /// To begin nothing new, and to end when what is in flight has ended.
    Finish,
    /// To leave at once.
    Now,
}

impl Stop {
    /// Why a run ends that its user wished to stop.
    pub const BECAUSE: &'static str = "it was interrupted";
}

/// Until the user wishes `wish` or more; at once if that is so already. Never if nobody is left to wish anything.
pub async fn wished(stop: &mut watch::Receiver<Stop>, wish: Stop) {
    if stop.wait_for(|now| *now >= wish).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// What comes of `work`, or nothing if the user wishes `wish` or more before: then `work` is dropped, and not even begun if it was so already.
pub async fn unless_wished<T>(stop: &mut watch::Receiver<Stop>, wish: Stop, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = wished(stop, wish) => None,
        result = work => Some(result),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_ends_at_a_wish_and_is_not_begun_after_it() {
        let (sender, mut stop) = watch::channel(Stop::No);
        let long = || tokio::time::sleep(Duration::from_secs(200));
        let wish = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            sender.send_replace(Stop::Finish);
        };
        let began = tokio::time::Instant::now();
        assert_eq!(tokio::join!(unless_wished(&mut stop, Stop::Finish, long()), wish).0, None);
        assert_eq!(began.elapsed().as_secs(), 1);
        assert_eq!(unless_wished(&mut stop, Stop::Finish, async { unreachable!("the wish was there before") }).await, None::<()>);
        // Only the second signal ends what the first one began.
        assert_eq!(unless_wished(&mut stop, Stop::Now, async { 7 }).await, Some(7));
        drop(sender);
        assert_eq!(unless_wished(&mut stop, Stop::Now, long()).await, Some(()));
    }
}

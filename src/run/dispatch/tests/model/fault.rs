//! What a test wants to break.

/// What happens to an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Fault {
    /// The link breaks before the order reached the host; the controller can't know.
    LostBefore,
    /// The link breaks before it was sent.
    NotStarted,
    /// The link breaks after everything was done.
    LostAfter,
    /// The link breaks after half of the steps were done.
    LostBetween,
    /// The link breaks, and what was begun goes on for a while.
    StillAtWork,
    /// Everything is done, and then the cluster does not answer the second look.
    Unanswered,
    /// The same, and the user wishes to stop before that is heard.
    UnansweredInterrupt,
    /// The same, and the user wishes to stop while the cluster is asked again.
    UnansweredLookInterrupt,
    /// The host is restarted before anything was done.
    Restarted,
    /// The worker ends without a message.
    Panics,
    /// It takes so many minutes, as images do over a thin line.
    Slow(u64),
    /// The order never ends.
    NeverEnds,
    /// From now on nobody reaches this host.
    Gone(&'static str),
    /// Another run holds the host.
    Held,
    /// The user wishes to stop while the order is at work.
    Interrupt,
    /// The user wishes to stop, and again.
    InterruptTwice,
}

impl Fault {
    /// Those after which a run goes on.
    pub(in super::super) const PASSING: [Self; 7] =
        [Self::LostBefore, Self::NotStarted, Self::LostAfter, Self::LostBetween, Self::StillAtWork, Self::Unanswered, Self::Restarted];
}

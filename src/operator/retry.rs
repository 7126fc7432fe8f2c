//! What is done about a run that did not come to its end.

use std::time::Duration;

use crate::engine::Error;

/// How a run that did not come to its end is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Somebody has to change something first.
    Final(&'static str),
    /// Hosts can't be reached, and nothing was changed.
    Unreachable,
    /// A part is done: to run again is to go on.
    Incomplete,
    /// Another run holds the hosts.
    Held,
    /// The run was stopped.
    Stopped,
}

/// Retries where hosts can't be reached, unless the operation says how many.
pub(super) const RETRIES: u32 = 5;
/// Runs of which a part was done, in all.
const INCOMPLETE: u32 = 3;
/// The first pause where hosts can't be reached.
const FIRST: Duration = Duration::from_secs(10);
/// The longest one.
const LONGEST: Duration = Duration::from_secs(300);
/// How often it is looked whether another run has let go of the hosts.
const HELD: Duration = Duration::from_secs(60);
/// The first pause before a run is gone on with.
const GO_ON: Duration = Duration::from_secs(5);

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// It is run again after this pause.
    After(Duration),
    /// It has failed, for this reason.
    Fail(&'static str),
    /// It was stopped.
    Stopped,
}

/// What has failed so far, of one operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tries {
    unreachable: u32,
    incomplete: u32,
}

impl Class {
    /// Of an error of the engine.
    pub(super) fn from_error(error: &Error) -> Self {
        match error {
            Error::Input(_) => Self::Final("InputRefused"),
            Error::Refused(_) => Self::Final("HostsRefused"),
            Error::Internal(_) => Self::Final("Internal"),
            Error::NotApproved | Error::PlanChanged(_) => Self::Final("NotApproved"),
            Error::TakenOver(_) => Self::Final("TakenOver"),
            Error::Unreachable(_) => Self::Unreachable,
            Error::Held { .. } => Self::Held,
            // Each verb goes on where it stopped when it is run again, also between its stages.
            Error::HalfWay(_) | Error::StepFailed(_) | Error::InDoubt(_) => Self::Incomplete,
            Error::Stopped(_) => Self::Stopped,
        }
    }
}

impl Tries {
    /// What is done after another one has ended like this; so many retries are allowed where hosts can't be reached.
    pub(super) fn next(&mut self, class: Class, retries: u32) -> Next {
        match class {
            Class::Final(reason) => Next::Fail(reason),
            Class::Stopped => Next::Stopped,
            Class::Held => Next::After(HELD),
            Class::Unreachable if self.unreachable >= retries => Next::Fail("HostsUnreachable"),
            Class::Unreachable => {
                self.unreachable += 1;
                Next::After(LONGEST.min(FIRST * 2_u32.saturating_pow(self.unreachable - 1)))
            }
            Class::Incomplete if self.incomplete + 1 >= INCOMPLETE => Next::Fail("StepsFailed"),
            Class::Incomplete => {
                self.incomplete += 1;
                Next::After(GO_ON * self.incomplete)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_until_the_tries_are_used_up() {
        let mut tries = Tries::default();
        let pauses: Vec<Next> = (0..8).map(|_| tries.next(Class::Unreachable, 7)).collect();
        let seconds = |next: &Next| if let Next::After(pause) = next { pause.as_secs() } else { 0 };
        assert_eq!(pauses.iter().map(seconds).collect::<Vec<_>>(), [10, 20, 40, 80, 160, 300, 300, 0]);
        assert_eq!(pauses.last(), Some(&Next::Fail("HostsUnreachable")));
        assert_eq!(Tries::default().next(Class::Unreachable, 0), Next::Fail("HostsUnreachable"));
    }

    #[test]
    fn what_is_half_done_is_gone_on_with_twice() {
        let mut tries = Tries::default();
        let all: Vec<Next> = (0..3).map(|_| tries.next(Class::Incomplete, 5)).collect();
        let after = |seconds| Next::After(Duration::from_secs(seconds));
        assert_eq!(all, [after(5), after(10), Next::Fail("StepsFailed")]);
    }

    #[test]
    fn what_stopped_between_two_stages_is_gone_on_with() {
        let failure = || vec![crate::failure::Failure::new(crate::failure::Kind::Incomplete, "a host does not answer")];
        assert_eq!(Class::from_error(&Error::HalfWay(failure())), Class::Incomplete);
        assert_eq!(Class::from_error(&Error::Refused(failure())), Class::Final("HostsRefused"));
    }

    #[test]
    fn whoever_holds_the_hosts_is_waited_for_and_a_mistake_is_not() {
        let mut tries = Tries::default();
        assert!((0..100).all(|_| tries.next(Class::Held, 0) == Next::After(HELD)));
        assert_eq!(tries.next(Class::Final("InputRefused"), 5), Next::Fail("InputRefused"));
        assert_eq!(tries.next(Class::Stopped, 5), Next::Stopped);
    }
}

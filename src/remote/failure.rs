//! This room's errors in the form that all rooms above have.
use super::error::{ConnectError, ConnectFault, Prospect, RunError};
use crate::failure::{Cause, Failure, Kind};

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        let server =
            error.bastion.as_ref().map_or_else(|| format!("host {}", error.host), |name| format!("bastion {name} of {}", error.host));
        let at = format!("{server} ({}@{})", error.user, error.address);
        let (because, origin, hint) = (error.because(), error.origin().map(str::to_owned), error.hint());
        let cause = match (&*error.fault, error.prospect()) {
            (ConnectFault::HostKey(_), _) => Cause::Doubt,
            (_, Prospect::Away) => Cause::Unreachable,
            (_, Prospect::Closed { .. } | Prospect::Final) => Cause::Condition,
        };
        let failure = Self::new(Kind::Host, error.to_string()).of_host(error.host).found_by(origin).due(cause).at(at);
        Self { because, hint, ..failure }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let host = error.host();
        let cause = match &error {
            RunError::NotStarted { .. } | RunError::Unknown { .. } | RunError::Deadline { .. } => Cause::Unreachable,
            _ => Cause::Condition,
        };
        let failure = Self::new(Kind::Host, error.to_string()).of_host(host).due(cause).at(format!("host {host}"));
        Self { because: error.because(), hint: error.hint(), ..failure }
    }
}

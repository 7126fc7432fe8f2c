//! This room's errors in the form that all rooms above have.
use super::error::{ConnectError, ConnectFault, RunError};
use crate::failure::{Failure, Kind};

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Self {
        let server =
            error.bastion.as_ref().map_or_else(|| format!("host {}", error.host), |name| format!("bastion {name} of {}", error.host));
        let at = format!("{server} ({}@{})", error.user, error.address);
        let (because, origin, hint) = (error.because(), error.origin().map(str::to_owned), error.hint());
        let doubted = matches!(&*error.fault, ConnectFault::HostKey(_));
        let mut failure = Self { because, hint, ..Self::new(Kind::Host, error.to_string()).of(error.host).found_by(origin).at(at) };
        failure.whose.get_or_insert_default().doubted = doubted;
        failure
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let host = error.host();
        let failure = Self::new(Kind::Host, error.to_string()).of(host).at(format!("host {host}"));
        Self { because: error.because(), hint: error.hint(), ..failure }
    }
}

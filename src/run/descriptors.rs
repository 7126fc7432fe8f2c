//! Room for a connection to each host among the files that a process may have open.

use kok_crds::count;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::failure::{Failure, Kind};

/// Two connections, each with a descriptor for its bytes and one to hang up, and one to the SSH agent while logging in.
const PER_HOST: u64 = 5;

/// The program's own: journal, lock, the runtime's, artifacts that are read.
const OWN: u64 = 64;

/// Raises the limit of this process to what the system lets it have, if these hosts need that.
///
/// # Errors
/// [`Failure`] if that is too little; nobody was contacted then.
pub(super) fn make_room(hosts: usize) -> Result<(), Failure> {
    let (limit, needed) = (getrlimit(Resource::Nofile), needed(hosts));
    if suffices(limit.current, needed) {
        return Ok(());
    }
    if !suffices(limit.maximum, needed) {
        return Err(too_few(hosts, needed, limit.maximum));
    }
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
        .map_err(|error| too_few(hosts, needed, limit.current).because(format!("the limit can't be raised: {error}")))
}

fn needed(hosts: usize) -> u64 {
    OWN + PER_HOST * hosts as u64
}

/// No limit is enough.
fn suffices(limit: Option<u64>, needed: u64) -> bool {
    limit.is_none_or(|limit| limit >= needed)
}

fn too_few(hosts: usize, needed: u64, limit: Option<u64>) -> Failure {
    Failure::new(Kind::Internal, format!("kokctl may not open enough files on this machine for {}", count(hosts, "host")))
        .because(format!("they need {needed} at the same time, and the limit is {}", limit.unwrap_or_default()))
        .hint(
            "raise the hard limit (`ulimit -Hn`, or LimitNOFILE= of the unit that runs kokctl), or take fewer hosts at a time with --limit",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_made_up_to_the_hard_limit_and_what_is_above_says_so() {
        let before = getrlimit(Resource::Nofile);
        assert!(make_room(1).is_ok());
        if let Some(maximum) = before.maximum.filter(|maximum| *maximum < u64::from(u32::MAX)) {
            let too_many = usize::try_from(maximum).unwrap_or(usize::MAX);
            let failure = make_room(too_many).err().map(|failure| failure.to_string()).unwrap_or_default();
            assert!(failure.contains(&format!("for {too_many} hosts")) && failure.contains(&format!("limit is {maximum}")), "{failure}");
            let most = too_many.saturating_sub(64) / 5;
            assert_eq!(make_room(most), Ok(()));
            assert!(suffices(getrlimit(Resource::Nofile).current, needed(most)));
        }
        assert!(suffices(None, u64::MAX));
    }
}

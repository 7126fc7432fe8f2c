//! Hosts that can't be reached: whether a run goes on without them, and what is said of them.

use std::collections::BTreeMap;

use kok_crds::{count, listed};

use crate::failure::{Cause, Failure, Kind};

/// A host that is gone for good can't be reset, and the cluster has to forget it all the same.
pub(super) fn perhaps_gone(failures: Vec<Failure>) -> Vec<Failure> {
    let gone = "if the host is gone for good: `kokctl remove --dead` with its name, then take it out of the file";
    let with_hint = |failure: Failure| match (failure.is_of_host() && !failure.is_doubt(), failure.hint.clone()) {
        (false, _) => failure,
        (true, None) => failure.hint(gone),
        (true, Some(hint)) => failure.hint(format!("{hint}; or, {gone}")),
    };
    failures.into_iter().map(with_hint).collect()
}

/// A host that is said to be dead, and answers.
pub(super) fn answers(host: &str) -> Failure {
    let failure = Failure::new(Kind::Host, format!("{host} is not dead")).at(format!("host {host}")).because("it answers by SSH");
    failure.hint(format!("leave --dead out, so that {host} is drained and cleaned"))
}

/// Hosts that are away where another one will do, and why. One that may be somebody else's, or a defect, is not passed over.
pub(super) fn passed_over(failures: BTreeMap<String, Failure>) -> Result<BTreeMap<String, String>, Vec<Failure>> {
    let (away, wrong): (BTreeMap<_, _>, BTreeMap<_, _>) =
        failures.into_iter().partition(|(_, failure)| failure.kind == Kind::Host && !failure.is_doubt());
    if !wrong.is_empty() {
        return Err(wrong.into_values().collect());
    }
    Ok(away.into_iter().map(|(host, failure)| (host, failure.one_line())).collect())
}

/// Why hosts that can't be reached end the run of somebody who let some of them be away.
pub(super) fn not_tolerated(away: usize, control_planes: &[&str], most: usize) -> Option<Failure> {
    let because = match control_planes {
        _ if most == 0 => return None,
        [] => format!("{} can't be reached, and --max-fail allows {most}", count(away, "host")),
        [name] => format!("{name} is a control plane, and --max-fail leaves out none"),
        names => format!("{} are control planes, and --max-fail leaves out none", listed(names.iter().copied())),
    };
    let hint = match control_planes {
        [] => "mend them, or choose hosts with --limit".to_owned(),
        // What looks at all nodes would ask for this one too.
        names => {
            let others: Vec<String> = names.iter().map(|name| format!("!{name}")).collect();
            format!("mend it; or do what needs no other host: --limit '{}' --skip network,network-check,load-balancer", others.join(","))
        }
    };
    let failure = Failure::new(Kind::Host, "nothing was begun without these hosts").due(Cause::Unreachable);
    Some(failure.because(because).hint(hint))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::{not_tolerated, passed_over, perhaps_gone};
    use crate::failure::{Failure, Kind};
    use crate::remote::{ConnectError, ConnectFault, HostKeyFault};

    fn failure(fault: ConnectFault) -> Failure {
        let (address, user) = ("10.0.0.11:22".to_owned(), "root".to_owned());
        ConnectError { host: "cp2".to_owned(), bastion: None, address, user, origin: None, fault: Arc::new(fault) }.into()
    }

    #[test]
    fn whoever_is_away_is_said_and_whoever_may_be_another_ends_the_run() {
        let passed = |fault| passed_over(BTreeMap::from([("cp2".to_owned(), failure(fault))]));
        let said = passed(ConnectFault::Refused).ok().and_then(|mut passed| passed.remove("cp2"));
        assert_eq!(said.as_deref(), Some("cannot connect to cp2: connection refused: nothing listens on 10.0.0.11:22"));
        let doubt = ConnectFault::HostKey(HostKeyFault::BadPin { pinned: "x".to_owned() });
        assert!(passed(doubt).is_err());
    }

    #[test]
    fn of_a_worker_that_is_gone_it_is_said_how_the_cluster_forgets_it() {
        let hint = |failure| perhaps_gone(vec![failure]).remove(0).hint.unwrap_or_default();
        let said = hint(failure(ConnectFault::Refused));
        assert!(said.starts_with("check address and port") && said.contains("kokctl remove --dead"), "{said}");
        let doubt = ConnectFault::HostKey(HostKeyFault::BadPin { pinned: "x".to_owned() });
        assert!(!hint(failure(doubt)).contains("remove --dead"));
        assert_eq!(hint(Failure::new(Kind::Host, "x")), "");
    }

    #[test]
    fn whoever_tolerates_some_hosts_hears_why_these_are_too_many() {
        let because = |away, control_planes: &[&str], most| not_tolerated(away, control_planes, most).and_then(|failure| failure.because);
        assert_eq!(because(3, &[], 0), None);
        assert_eq!(because(3, &[], 2).as_deref(), Some("3 hosts can't be reached, and --max-fail allows 2"));
        assert_eq!(because(1, &["cp1"], 2).as_deref(), Some("cp1 is a control plane, and --max-fail leaves out none"));
    }
}

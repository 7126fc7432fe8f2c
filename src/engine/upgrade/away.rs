//! Workers that can't be reached while a cluster is upgraded: which of them may be left out.

use std::collections::BTreeMap;

use kok_crds::model::Cluster;

use super::super::context::Context;
use super::super::converge::{Base, Tolerance, base};
use crate::failure::Failure;

/// Whom an upgrade means, and how many of them may be away.
#[derive(Clone, Copy)]
pub struct Meant<'a> {
    /// The cluster as its file says.
    pub cluster: &'a Cluster,
    /// The hosts; none for all of them.
    pub limit: &'a [String],
    /// So many workers; none, if nobody said.
    pub most_away: Option<usize>,
}

impl Meant<'_> {
    pub(super) fn has(&self, host: &str) -> bool {
        self.limit.is_empty() || self.limit.iter().any(|name| name == host)
    }

    pub(super) fn tolerance(&self, holder: bool) -> Tolerance {
        Tolerance { holder, unreachable: self.most_away.unwrap_or_default(), any_worker: true, ..Tolerance::default() }
    }

    /// What is seen of those who answer.
    pub(super) async fn base(&self, tolerance: Tolerance, context: &Context) -> Result<Base, Vec<Failure>> {
        base(self.cluster, tolerance, context, |failures| self.judge(failures)).await
    }

    /// Of the workers that are meant so many may be away as the user has said, and one host has to be left; others may be away, too. That control planes may
    /// not is said by whoever has asked them.
    fn judge(&self, failures: &BTreeMap<String, Failure>) -> Result<(), Vec<Failure>> {
        let is_worker = |name: &String| self.cluster.host(name).is_some_and(|host| !host.roles.control_plane && !host.roles.etcd);
        let missing: Vec<&Failure> = failures.iter().filter(|(host, _)| self.has(host)).map(|(_, failure)| failure).collect();
        let meant = self.cluster.hosts.iter().filter(|host| self.has(&host.name)).count();
        if !failures.keys().all(is_worker) || missing.len() <= self.most_away.unwrap_or_default().min(meant.saturating_sub(1)) {
            return Ok(());
        }
        let is_all = missing.len() == meant;
        let way_out = format!("or leave workers out that are away: --limit with the others, or --max-fail {}", missing.len());
        let with_way_out = |failure: &Failure| match &failure.hint {
            _ if is_all => failure.clone(),
            Some(hint) => failure.clone().hint(format!("{hint}; {way_out}")),
            None => failure.clone().hint(format!("mend it; {way_out}")),
        };
        Err(missing.into_iter().map(with_way_out).collect())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "these are tests")]

    use super::super::tests::two_workers;
    use super::*;
    use crate::failure::Kind;

    #[test]
    fn workers_may_be_away_as_far_as_somebody_said() {
        let cluster = two_workers();
        let judged = |limit: &[&str], most_away, away: &[&str]| {
            let limit: Vec<String> = limit.iter().map(ToString::to_string).collect();
            let failure = |host: &&str| (host.to_string(), Failure::new(Kind::Host, "it is away").of_host(*host).hint("look at it"));
            let meant = Meant { cluster: &cluster, limit: &limit, most_away };
            let hint = |failure: Failure| failure.hint.unwrap_or_default();
            meant.judge(&away.iter().map(failure).collect()).map_err(|failures| failures.into_iter().map(hint).collect::<Vec<_>>())
        };
        assert_eq!(judged(&[], Some(1), &["w2"]), Ok(()));
        assert_eq!(judged(&["cp1", "w1"], None, &["w2"]), Ok(()));
        assert_eq!(judged(&["w1"], Some(1), &["w2"]), Ok(()));
        let refused = |way_out: &str, times: usize| Err(vec![format!("look at it{way_out}"); times]);
        let others = "; or leave workers out that are away: --limit with the others, or --max-fail";
        assert_eq!(judged(&[], None, &["w2"]), refused(&format!("{others} 1"), 1));
        assert_eq!(judged(&[], Some(1), &["w1", "w2"]), refused(&format!("{others} 2"), 2));
        assert_eq!(judged(&["cp1", "w1"], None, &["w1", "w2"]), refused(&format!("{others} 1"), 1));
        // Of these nobody would be left.
        assert_eq!(judged(&["w2"], Some(1), &["w2"]), refused("", 1));
        // Whoever has asked control planes says more of them.
        assert_eq!(judged(&[], None, &["cp1", "w2"]), Ok(()));
    }
}

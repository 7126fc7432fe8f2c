//! Hosts that leave the cluster by a command, and not by `removed` in a file.

use super::Input;
use crate::Problem;
use crate::message::Kind;
use crate::model::Cluster;
use crate::words::quote;

impl Input {
    /// The same where these hosts are to be gone, as with `removed` in the file: they count for nothing else in it, also not as members of etcd. Names that the
    /// file does not have are no problem.
    #[must_use]
    pub fn without(mut self, names: &[String]) -> Self {
        if names.is_empty() {
            return self;
        }
        let Some(mut cluster) = self.cluster.take().or_else(|| self.uneven.take()) else { return self };
        let (leaving, hosts): (Vec<_>, Vec<_>) = cluster.hosts.into_iter().partition(|host| names.contains(&host.name));
        cluster.hosts = hosts;
        cluster.leaving.extend(leaving);
        cluster.removed.extend(names.iter().filter(|name| !cluster.removed.contains(name)).cloned().collect::<Vec<_>>());
        let members = cluster.etcd_hosts().count();
        if !members.is_multiple_of(2) {
            self.problems.retain(|problem| problem.kind != Kind::Uneven);
        }
        self.problems.extend(missing(&cluster, names));
        self.cluster = Some(cluster).filter(|_| self.problems.is_empty());
        self
    }

    /// The same where nothing is wrong but that etcd has an even number of members with these hosts: whoever wants them gone mends that. Otherwise as it is.
    #[must_use]
    pub fn even_without(self, names: &[String]) -> Self {
        let Some(uneven) = &self.uneven else { return self };
        let names: Vec<String> = names.iter().filter(|name| uneven.host(name).is_some()).cloned().collect();
        self.without(&names)
    }
}

/// What the cluster can't be without.
fn missing(cluster: &Cluster, names: &[String]) -> Vec<Problem> {
    let mut problems = Vec::new();
    if cluster.control_planes().next().is_none() {
        let problem = Problem::new("no control plane would be left").because("the file has no other one");
        problems.push(problem.hint("give another host the role `control-plane`"));
    }
    for name in names.iter().filter(|name| cluster.time.sources.contains(name)) {
        let problem = Problem::new(format!("{} is to be gone, and the others take their time from it", quote(name)));
        let problem = problem.because("spec.time.sources names it").hint("name another host there");
        problems.push(match cluster.position_of("spec.time.sources") {
            Some(position) => problem.at(position),
            None => problem,
        });
    }
    problems
}

//! What is to be done: by the files, by their operation, and by the command line, which wins over it.

use clap::Args;
use kok_crds::model::Cluster;
use kok_crds::operation::Verb;
use kok_crds::{Asked, Input, Intent, Position, Problem, listed};
use kok_tasks::list::TASKS;
use kok_tasks::plan::{Choice, Selection};

use super::files::{ClusterFiles, ExtraVars, Noted};
use super::limit::LimitArgument;
use crate::failure::{Failure, Kind};
use crate::ui::status_line;

/// Which part of the plan is meant.
#[derive(Debug, Args)]
pub(super) struct PartArguments {
    /// Only these tasks, with commas between them; refused if they need others that are still to be done
    #[arg(long, value_name = "TASK", value_delimiter = ',')]
    only: Vec<String>,
    /// All tasks but these
    #[arg(long, value_name = "TASK", value_delimiter = ',')]
    skip: Vec<String>,
    #[command(flatten)]
    limit: LimitArgument,
}

/// A cluster, and which part of it is meant.
pub(super) struct Wanted {
    pub(super) cluster: Cluster,
    pub(super) selection: Selection,
    /// The part in the words of the command line; `None` for the whole.
    pub(super) part: Option<String>,
    /// What there is to know of the files, which has been said.
    pub(super) noted: Noted,
}

/// The names of all tasks.
pub(super) fn tasks() -> Vec<&'static str> {
    TASKS.iter().map(|task| task.name).collect()
}

/// What is wrong with files.
pub(super) fn problems(problems: Vec<Problem>) -> Vec<Failure> {
    problems.into_iter().map(Failure::problem).collect()
}

impl PartArguments {
    /// Reads the files for a verb that takes a part.
    pub(super) fn read(&self, files: &ClusterFiles, extra: &ExtraVars, dry: bool) -> Result<Wanted, Vec<Failure>> {
        let (input, cluster) = files.whole(extra)?;
        let asked = input.asked(Intent { verb: Verb::Apply, dry }, &tasks()).map_err(problems)?;
        let limit = self.limit.hosts(&input)?;
        self.say(&asked);
        let (only, skip) = if self.chooses_tasks() { (&self.only, &self.skip) } else { (&asked.tasks.only, &asked.tasks.skip) };
        let (hosts, written) = match &asked.limit {
            Some(limit) if !self.limit.is_given() => (&asked.hosts, limit.text.clone()),
            _ => (&limit, self.limit.written()),
        };
        let choice = Choice { only, skip, limit: hosts };
        let selection = Selection::new(choice, &cluster)
            .map_err(|refusals| refusals.into_iter().map(|refusal| Failure::refusal(Kind::Input, refusal)).collect::<Vec<_>>())?;
        let options = [("--only", only.join(",")), ("--skip", skip.join(",")), ("--limit", written)];
        let given: Vec<String> =
            options.iter().filter(|(_, words)| !words.is_empty()).map(|(name, words)| format!("{name} {words}")).collect();
        Ok(Wanted { cluster, selection, part: (!given.is_empty()).then(|| given.join(" ")), noted: Noted::from_input(&input) })
    }

    fn chooses_tasks(&self) -> bool {
        !self.only.is_empty() || !self.skip.is_empty()
    }

    /// Says what the operation chooses, and where the command line wins over it.
    fn say(&self, asked: &Asked) {
        asked.others.iter().for_each(|notice| status_line(&notice.to_string()));
        say_limit(asked, &self.limit);
        if let Some(at) = &asked.tags {
            note(if self.chooses_tasks() { "the choice of tasks" } else { "the tags" }, self.chooses_tasks(), at);
        }
    }
}

fn note(option: &str, overruled: bool, at: &Position) {
    status_line(&match overruled {
        true => format!("note: {option} of the command line counts, and not that of the operation at {at}"),
        false => format!("note: only a part is meant, by {option} of the operation at {at}"),
    });
}

fn say_limit(asked: &Asked, given: &LimitArgument) {
    if let Some(limit) = &asked.limit {
        note("--limit", given.is_given(), &limit.position);
    }
}

/// The cluster, and as another one those hosts of it that `apply` would begin with: all, or those that the command line or the files'
/// operation chooses.
pub(super) fn hosts_of_apply(files: &ClusterFiles, extra: &ExtraVars, limit: &LimitArgument) -> Result<(Cluster, Cluster), Vec<Failure>> {
    let (input, cluster) = files.whole(extra)?;
    let asked = input.asked(Intent { verb: Verb::Apply, dry: true }, &tasks()).map_err(problems)?;
    let named = limit.hosts(&input)?;
    say_limit(&asked, limit);
    let hosts = if limit.is_given() { named } else { asked.hosts };
    let mut chosen = cluster.clone();
    chosen.hosts.retain(|host| hosts.is_empty() || hosts.contains(&host.name));
    Ok((cluster, chosen))
}

/// What is to be taken down.
pub(super) struct WantedReset {
    /// Some of the cluster's hosts, and how they were written; `None` for all of them.
    pub(super) part: Option<(Vec<String>, String)>,
    /// Where an operation stands in the files that asks for it, of all these hosts: whoever has written it need not be asked.
    pub(super) agreed: Option<Position>,
}

impl LimitArgument {
    /// Reads which hosts are to be taken out of the cluster.
    pub(super) fn reset(&self, input: &Input, cluster: &Cluster) -> Result<WantedReset, Vec<Failure>> {
        let asked = input.asked(Intent { verb: Verb::Reset, dry: false }, &tasks()).map_err(problems)?;
        say_limit(&asked, self);
        let (hosts, written, at) = match &asked.limit {
            Some(limit) if !self.is_given() => (asked.hosts.clone(), limit.text.clone(), limit.position.to_string()),
            _ => (self.hosts(input)?, self.written(), "--limit".to_owned()),
        };
        // Hosts can be all of them by chance; whoever means the cluster says so.
        let is_whole = hosts.is_empty() || matches!(written.trim(), "all" | "*");
        if !is_whole {
            goes_on_without(cluster, &hosts, &at)?;
        }
        let may_go = |host: &String| asked.limit.is_none() || asked.hosts.contains(host);
        let is_agreed = !self.is_given() || hosts.iter().all(may_go);
        Ok(WantedReset { part: (!is_whole).then_some((hosts, written)), agreed: asked.agreed_at.filter(|_| is_agreed) })
    }
}

/// etcd counts its members, and every host knows the control planes: a cluster goes on without workers only.
pub(super) fn goes_on_without(cluster: &Cluster, hosts: &[String], at: &str) -> Result<(), Vec<Failure>> {
    let chosen = cluster.hosts.iter().filter(|host| hosts.contains(&host.name));
    let members: Vec<&str> = chosen.filter(|host| host.roles.control_plane || host.roles.etcd).map(|host| host.name.as_str()).collect();
    if members.is_empty() {
        return Ok(());
    }
    let what = format!("{} can't be taken out of the cluster alone", listed(members.iter().copied()));
    let failure = Failure::new(Kind::Input, what).at(at);
    let failure = failure.because("etcd counts its members, and every host knows the control planes: these leave by `kokctl remove`");
    Err(vec![failure.hint("leave the limit out (or write `all`) to take down the whole cluster, or name workers only; or `kokctl remove`")])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use std::fs;

    use clap::Parser;

    use super::{ClusterFiles, ExtraVars, Failure, LimitArgument, PartArguments, Wanted, hosts_of_apply};

    const FILES: &str = "
apiVersion: kubean.io/v1alpha1
kind: Cluster
metadata: {name: c}
spec:
  kubernetesVersion: 1.37.1
  hosts:
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}
  - {name: w1, address: 10.0.0.12, roles: [worker]}
  - {name: w2, address: 10.0.0.13, roles: [worker]}
---
apiVersion: kubean.io/v1alpha1
kind: ClusterOperation
metadata: {name: o}
spec: {cluster: c, actionType: playbook, action: ACTION, extraArgs: ARGUMENTS}
";

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        files: ClusterFiles,
        #[command(flatten)]
        extra: ExtraVars,
        #[command(flatten)]
        part: PartArguments,
    }

    fn read(action: &str, arguments: &str, line: &[&str]) -> Result<Wanted, Vec<Failure>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.yaml");
        fs::write(&path, FILES.replace("ACTION", action).replace("ARGUMENTS", arguments)).unwrap();
        let line = ["kokctl", "-f", path.to_str().unwrap()].iter().chain(line).copied().collect::<Vec<_>>();
        let Line { files, extra, part } = Line::try_parse_from(line).unwrap();
        part.read(&files, &extra, false)
    }

    fn part(arguments: &str, line: &[&str]) -> Option<String> {
        read("cluster.yml", arguments, line).unwrap_or_else(|failures| panic!("{failures:?}")).part
    }

    #[test]
    fn the_operation_chooses_a_part_and_the_command_line_wins() {
        let wanted = read("cluster.yml", "'--limit=kube_node:!w1 --tags=etcd'", &[]).unwrap();
        assert_eq!(wanted.part.as_deref(), Some("--only etcd --limit kube_node:!w1"));
        assert_eq!(wanted.selection.tasks().unwrap(), ["etcd"]);
        assert!(wanted.selection.has_host("w2") && !wanted.selection.has_host("w1") && !wanted.selection.has_host("cp1"));
        assert_eq!(part("'--limit=w1 --tags=etcd'", &["--limit", "cp1,w2"]).as_deref(), Some("--only etcd --limit cp1,w2"));
        assert_eq!(part("'--limit=w1 --tags=etcd'", &["--skip", "mirrors"]).as_deref(), Some("--skip mirrors --limit w1"));
        assert_eq!(part("-v", &[]), None);
        let wanted = read("cluster.yml", "-v", &["-l", "kube_node,!w2"]).unwrap();
        assert_eq!(wanted.selection.hosts().unwrap().iter().collect::<Vec<_>>(), ["w1"]);
    }

    #[derive(Parser)]
    struct CheckLine {
        #[command(flatten)]
        files: ClusterFiles,
        #[command(flatten)]
        extra: ExtraVars,
        #[command(flatten)]
        limit: LimitArgument,
    }

    fn checked(action: &str, arguments: &str, line: &[&str]) -> Result<Vec<String>, Vec<Failure>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.yaml");
        fs::write(&path, FILES.replace("ACTION", action).replace("ARGUMENTS", arguments)).unwrap();
        let line = ["kokctl", "-f", path.to_str().unwrap()].iter().chain(line).copied().collect::<Vec<_>>();
        let CheckLine { files, extra, limit } = CheckLine::try_parse_from(line).unwrap();
        let (cluster, chosen) = hosts_of_apply(&files, &extra, &limit)?;
        assert_eq!(cluster.hosts.len(), 3);
        Ok(chosen.hosts.into_iter().map(|host| host.name).collect())
    }

    #[test]
    fn checked_are_the_hosts_that_apply_would_change() {
        assert_eq!(checked("cluster.yml", "-v", &[]).unwrap(), ["cp1", "w1", "w2"]);
        assert_eq!(checked("scale.yml", "--limit=w1", &[]).unwrap(), ["w1"]);
        assert_eq!(checked("scale.yml", "--limit=w1", &["-l", "kube_node,!w1"]).unwrap(), ["w2"]);
        assert!(checked("cluster.yml", "-v", &["-l", "w9"]).is_err());
        assert!(checked("reset.yml", "-v", &[]).is_err(), "apply would not begin");
    }

    fn reset(action: &str, arguments: &str, line: &[&str]) -> Result<super::WantedReset, Vec<Failure>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.yaml");
        fs::write(&path, FILES.replace("ACTION", action).replace("ARGUMENTS", arguments)).unwrap();
        let line = ["kokctl", "-f", path.to_str().unwrap()].iter().chain(line).copied().collect::<Vec<_>>();
        let CheckLine { files, extra, limit } = CheckLine::try_parse_from(line).unwrap();
        let (input, cluster) = files.without_manifests(&extra)?;
        limit.reset(&input, &cluster)
    }

    #[test]
    fn workers_are_reset_alone_and_an_operation_has_agreed() {
        let part = |action: &str, arguments: &str, line: &[&str]| reset(action, arguments, line).unwrap().part;
        assert_eq!(part("cluster.yml", "-v", &[]), None);
        assert_eq!(part("cluster.yml", "-v", &["-l", "kube_node,!w1"]), Some((vec!["w2".to_owned()], "kube_node,!w1".to_owned())));
        assert_eq!(part("cluster.yml", "-v", &["-l", "all"]), None);
        assert_eq!(part("reset.yml", "'--limit=*'", &[]), None);
        assert_eq!(part("reset.yml", "--limit=w1", &[]), Some((vec!["w1".to_owned()], "w1".to_owned())));
        assert_eq!(part("reset.yml", "--limit=w1", &["-l", "w2"]).unwrap().0, ["w2"]);
        for hosts in ["cp1", "cp1,w1", "cp1,w1,w2", "kube_*", "?*"] {
            let refused = reset("cluster.yml", "-v", &["-l", hosts]).err().unwrap().remove(0);
            assert_eq!(refused.what, "cp1 can't be taken out of the cluster alone");
        }
        assert!(reset("reset.yml", "-v", &[]).unwrap().agreed.unwrap().to_string().contains("c.yaml:"));
        assert_eq!(reset("cluster.yml", "-v", &[]).unwrap().agreed, None);
    }

    #[test]
    fn an_operation_has_agreed_to_its_own_hosts_and_no_others() {
        let agreed = |arguments: &str, line: &[&str]| reset("reset.yml", arguments, line).unwrap().agreed.is_some();
        assert!(agreed("--limit=w1", &[]) && agreed("--limit=w1", &["-l", "w1"]) && agreed("--limit=all", &["-l", "all"]));
        assert!(agreed("-v", &["-l", "w2"]) && agreed("'--limit=w1,w2'", &["-l", "w2"]));
        assert!(!agreed("--limit=w1", &["-l", "all"]) && !agreed("--limit=w1", &["-l", "w2"]) && !agreed("--limit=w1", &["-l", "w1,w2"]));
        let refused = reset("reset.yml", "--limit=kube_control_plane", &[]).err().unwrap().remove(0);
        assert!(refused.at.unwrap().contains("c.yaml:15:"));
    }

    #[test]
    fn what_cannot_be_done_is_refused_before_anything() {
        let refused = |action: &str, arguments: &str, line: &[&str]| read(action, arguments, line).err().unwrap().remove(0);
        assert!(refused("reset.yml", "-v", &[]).hint.unwrap().contains("kokctl reset"));
        assert!(refused("cluster.yml", "--check", &[]).hint.unwrap().contains("kokctl plan"));
        assert!(refused("cluster.yml", "--limit=w9", &[]).at.unwrap().contains("c.yaml:15:"));
        assert_eq!(refused("cluster.yml", "-v", &["-l", "w9"]).at.as_deref(), Some("--limit"));
    }
}

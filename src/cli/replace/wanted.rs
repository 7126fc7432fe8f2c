//! Who is replaced, by whom, and how, by the command line and by the files' operation.

use kok_crds::model::{Cluster, Host};
use kok_crds::operation::Verb;
use kok_crds::{Asked, Input, Intent, Position};

use super::super::drain::Nodes;
use super::super::wanted::{problems, tasks};
use super::Arguments;
use crate::engine::Silent;
use crate::failure::{Failure, Kind};

/// Who is replaced.
pub(super) struct WantedReplacement {
    /// The cluster of the file; where another host takes the place of one, without the latter.
    pub(super) cluster: Cluster,
    pub(super) hosts: Vec<String>,
    pub(super) with: Option<With>,
    pub(super) silent: Silent,
    /// Where an operation stands that asks for it, of all of these hosts.
    pub(super) agreed: Option<Position>,
}

/// A host that takes the place of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct With {
    pub(super) old: String,
    pub(super) new: String,
    /// Whether the old one still stands in the file.
    pub(super) has_line: bool,
}

impl With {
    /// The cluster with both.
    pub(super) fn both(&self, cluster: &Cluster) -> Cluster {
        let (old, leaving): (Vec<Host>, Vec<Host>) = cluster.leaving.iter().cloned().partition(|host| host.name == self.old);
        let removed = cluster.removed.iter().filter(|name| **name != self.old).cloned().collect();
        Cluster { hosts: cluster.hosts.iter().cloned().chain(old).collect(), leaving, removed, ..cluster.clone() }
    }
}

pub(super) fn wanted(arguments: &Arguments) -> Result<WantedReplacement, Vec<Failure>> {
    let Nodes { hosts: given, files, extra, .. } = &arguments.nodes;
    let leaves = |input: &Input| match (&arguments.with, given.as_slice()) {
        (Some(_), given) => given.to_vec(),
        (None, []) => input.replaced_by_another(),
        (None, _) => Vec::new(),
    };
    let (input, mut cluster) = files.all().whole_without(extra, leaves)?;
    arguments.serial.tell(&mut cluster);
    let asked = input.asked(Intent { verb: Verb::Replace, dry: false }, &tasks()).map_err(problems)?;
    let new = arguments.with.clone().or_else(|| asked.with.clone().filter(|_| given.is_empty()));
    let (hosts, with) = match new {
        None => (arguments.nodes.named(Verb::Replace, &input, &cluster, &asked)?, None),
        Some(new) => {
            let with = with(&cluster, given, &asked, &new).map_err(|failure| vec![failure])?;
            (vec![with.old.clone()], Some(with))
        }
    };
    let agreed = asked
        .agreed_at
        .clone()
        .filter(|_| hosts.iter().all(|host| asked.hosts.contains(host)) && asked.with == with.as_ref().map(|it| it.new.clone()));
    let silent = match (arguments.dead, asked.may_be_dead && agreed.is_some()) {
        (true, _) => Silent::AllDead,
        (false, true) => Silent::Dead,
        (false, false) => Silent::Refused,
    };
    if let Some(With { old, has_line: false, .. }) = with.as_ref().filter(|_| silent == Silent::Refused) {
        let failure = Failure::new(Kind::Input, format!("{old} is no host of the file")).at("HOST");
        let failure = failure.because("it is reached, drained and cleaned by what stands there");
        return Err(vec![failure.hint(format!("put the line of {old} back; or, if it is gone for good, add --dead"))]);
    }
    Ok(WantedReplacement { cluster, hosts, with, silent, agreed })
}

/// One host in the place of one.
fn with(cluster: &Cluster, given: &[String], asked: &Asked, new: &str) -> Result<With, Failure> {
    let named = if given.is_empty() { &asked.hosts } else { given };
    let input = |what: String| Failure::new(Kind::Input, what).at("--with");
    let [old] = named else {
        let failure = input(format!("{new} can't take the place of {} hosts", named.len())).because("it takes the place of one");
        return Err(failure.hint("kokctl replace -f FILE HOST --with HOST, with the name of one host each"));
    };
    let Some(host) = cluster.host(new).filter(|_| new != old) else {
        let failure = input(format!("{new} can't take the place of {old}"));
        let because = if new == old { "it is the same host" } else { "the file has no such host" };
        return Err(failure
            .because(because)
            .hint("write the new host into the file, beside the old one, and name it; without --with the same host joins anew"));
    };
    let old_host = cluster.leaving.iter().find(|host| host.name == *old);
    let role = |host: &Host| (host.roles.control_plane, host.roles.etcd);
    if let Some(other) = old_host.filter(|old| role(old) != role(host)) {
        let called = |host: &Host| if host.roles.control_plane { "a control plane" } else { "a worker" };
        let failure = input(format!("{old} is {}, and {new} {}", called(other), called(host)));
        return Err(failure.because("in the place of a host comes one of its kind").hint("give both the same roles in the file"));
    }
    Ok(With { old: old.clone(), new: new.to_owned(), has_line: old_host.is_some() })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

    use super::super::super::test_files::read_line;
    use super::{Failure, Silent, WantedReplacement, With, wanted};

    const FILES: &str = "apiVersion: kubean.io/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec:\n  kubernetesVersion: 1.37.1\n  hosts:\n
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}\n  - {name: cp2, address: 10.0.0.12, roles: [control-plane]}\n
  - {name: cp3, address: 10.0.0.13, roles: [control-plane]}\n  - {name: w1, address: 10.0.0.21, roles: [worker]}\n
  - {name: w2, address: 10.0.0.22, roles: [worker]}\n";

    const CP6: &str = "  - {name: cp6, address: 10.0.0.16, roles: [control-plane]}\n";

    fn read(more: &str, operation: &str, line: &[&str]) -> Result<WantedReplacement, Failure> {
        read_line(&format!("{FILES}{more}"), ("replace", operation), line, wanted)
    }

    fn names(wanted: &WantedReplacement) -> Vec<&str> {
        wanted.cluster.hosts.iter().map(|host| host.name.as_str()).collect()
    }

    #[test]
    fn a_host_of_the_file_takes_the_place_of_one_that_counts_no_more() {
        let is = read(CP6, "", &["cp2", "--with", "cp6"]).unwrap_or_else(|failure| panic!("{failure:?}"));
        assert_eq!(names(&is), ["cp1", "cp3", "w1", "w2", "cp6"], "four control planes are refused otherwise");
        let with = With { old: "cp2".into(), new: "cp6".into(), has_line: true };
        assert_eq!((is.with.as_ref(), is.silent), (Some(&with), Silent::Refused));
        let both = with.both(&is.cluster);
        assert_eq!((both.hosts.len(), both.host("cp2").is_some(), both.removed.is_empty()), (6, true, true));
        let slowly = read("", "", &["w1", "--serial", "50%"]).unwrap_or_else(|failure| panic!("{failure:?}"));
        assert_eq!(slowly.cluster.settings.serial.to_string(), "50%");
        assert!(read(CP6, "", &["cp2"]).err().unwrap().what.contains("4 hosts have the role"), "nobody leaves for good");
        assert_eq!(read("", "", &["w1", "--with", "w2"]).unwrap().cluster.removed, ["w1"]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let what = |more: &str, line: &[&str]| read(more, "", line).err().unwrap();
        assert!(what("", &["cp2", "--with", "cp9"]).because.unwrap().contains("no such host"));
        assert!(what("", &["w1", "--with", "w1"]).because.unwrap().contains("the same host"));
        assert!(what("", &["w1", "w2", "--with", "cp1"]).what.contains("2 hosts"));
        assert!(what(CP6, &["cp1", "--with", "w1"]).what.contains("cp1 is a control plane, and w1 a worker"));
        assert!(what("", &["w9", "--with", "w2"]).hint.unwrap().contains("--dead"));
        assert_eq!(read("", "", &["w9", "--with", "w2", "--dead"]).unwrap().silent, Silent::AllDead);
    }

    #[test]
    fn an_operation_says_the_same() {
        let is = read(CP6, "-e node=cp2 -e with=cp6", &[]).unwrap_or_else(|failure| panic!("{failure:?}"));
        assert_eq!((is.with.map(|with| with.new), is.agreed.is_some(), is.silent), (Some("cp6".to_owned()), true, Silent::Refused));
        let is = read("", "-e node=w1 -e with=w2 -e allow_ungraceful_removal=true", &[]).unwrap();
        assert_eq!((is.silent, is.hosts), (Silent::Dead, vec!["w1".to_owned()]));
        let is = read("", "-e node=w1 -e with=w2", &["w1"]).unwrap();
        assert_eq!((is.with, is.agreed.is_some()), (None, false), "the command line wins, and nobody has agreed to it");
        let is = read("", "-e node=w1", &[]).unwrap();
        assert_eq!((is.with, is.agreed.is_some()), (None, true));
    }
}

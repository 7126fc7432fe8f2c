//! Kubespray's tags, and the tasks that do the same here.

use super::{Arguments, Placed};
use crate::Problem;
use crate::words::{quote, with_nearest};

/// A tag.
#[derive(Debug, PartialEq, Eq)]
pub struct OperationTag {
    /// Its name.
    pub name: &'static str,
    /// Names of the tasks that do here what carries the tag there. None: nothing does yet.
    pub tasks: &'static [&'static str],
}

const fn tag(name: &'static str, tasks: &'static [&'static str]) -> OperationTag {
    OperationTag { name, tasks }
}

const CONTROL_PLANE: &[&str] = &["certificates", "kubeadm-configuration", "control-plane"];
const NODE: &[&str] = &["kubelet", "kubelet-join"];

/// The tags that people use, in the order of their names. The name of a task of kokctl is a tag too.
pub static TAGS: &[OperationTag] = &[
    tag("apps", &[]),
    tag("bootstrap-os", &["packages", "names"]),
    tag("bootstrap_os", &["packages", "names"]),
    tag("calico", &[]),
    tag("cilium", &[]),
    tag("client", &["certificates"]),
    tag("cluster-roles", &[]),
    tag("container-engine", &["container-runtime", "mirrors"]),
    tag("container_engine", &["container-runtime", "mirrors"]),
    tag("containerd", &["container-runtime", "mirrors"]),
    tag("control-plane", CONTROL_PLANE),
    tag("coredns", &["control-plane"]),
    tag("dns", &[]),
    tag("download", &["images"]),
    tag("etcd", &["etcd"]),
    tag("etcd-secrets", &["certificates"]),
    tag("etchosts", &["names"]),
    tag("facts", &[]),
    tag("flannel", &["network"]),
    tag("helm", &[]),
    tag("k8s-secrets", &["certificates"]),
    tag("kube-apiserver", &["control-plane"]),
    tag("kube-controller-manager", &["control-plane"]),
    tag("kube-proxy", &["control-plane"]),
    tag("kube-scheduler", &["control-plane"]),
    tag("kubeadm", &["kubeadm-configuration", "control-plane", "kubelet-join"]),
    tag("kubelet", &["kubelet"]),
    tag("master", CONTROL_PLANE),
    tag("metrics_server", &[]),
    tag("multus", &[]),
    tag("network", &["network", "network-check"]),
    tag("node", NODE),
    tag("node-label", &["kubelet-join"]),
    tag("node-taint", &["kubelet-join"]),
    tag("nodelocaldns", &["node-dns"]),
    tag("ntp", &["time-sync"]),
    tag("preinstall", &["host", "packages", "names", "swap", "selinux", "firewall", "proxy", "time-sync"]),
    tag("resolvconf", &[]),
    tag("swap", &["swap"]),
    tag("system-packages", &["packages"]),
    tag("upgrade", &[]),
];

/// What every task has by itself, in Ansible.
const ALL: &str = "all";

/// Tags with a meaning of Ansible's own that nothing here has.
const SPECIAL: [&str; 4] = ["always", "never", "tagged", "untagged"];

/// A choice of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskChoice {
    /// The only tasks that are wanted; all if there is none.
    pub only: Vec<String>,
    /// Tasks that are not wanted.
    pub skip: Vec<String>,
}

impl Arguments {
    /// The tasks that the tags stand for, out of those that there are.
    ///
    /// # Errors
    /// A [`Problem`] for each tag that stands for no task.
    pub fn tasks(&self, known: &[&str]) -> Result<TaskChoice, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut tasks = |tags: &[Placed]| {
            let mut names: Vec<String> = Vec::new();
            for tag in tags {
                match tasks_of(tag, known) {
                    Ok(found) => names.extend(found),
                    Err(problem) => problems.push(problem),
                }
            }
            let wanted = known.iter().filter(|task| names.iter().any(|name| name == *task));
            wanted.map(|task| (*task).to_owned()).collect::<Vec<_>>()
        };
        let everything = self.tags.iter().any(|tag| tag.text == ALL);
        let only = tasks(&self.tags);
        let skip = tasks(&self.skip_tags);
        let only = if everything { Vec::new() } else { only };
        if problems.is_empty() { Ok(TaskChoice { only, skip }) } else { Err(problems) }
    }
}

fn tasks_of(tag: &Placed, known: &[&str]) -> Result<Vec<String>, Problem> {
    let text = tag.text.as_str();
    if text == ALL {
        return Ok(known.iter().map(|task| (*task).to_owned()).collect());
    }
    let problem = Problem::new(format!("the tag {} stands for no task", quote(text))).at(&tag.position);
    let row = TAGS.iter().find(|tag| tag.name == text);
    let of_row = row.map(|row| row.tasks).unwrap_or_default();
    let tasks: Vec<String> = known.iter().filter(|task| **task == text || of_row.contains(*task)).map(|task| (*task).to_owned()).collect();
    if !tasks.is_empty() {
        return Ok(tasks);
    }
    Err(if row.is_some() {
        problem.because("this version does nothing that carries the tag in Kubespray").hint("leave it out")
    } else if SPECIAL.contains(&text) {
        problem.because("tasks of kokctl have no tags but their names").hint("leave it out")
    } else {
        let names: Vec<&str> = known.iter().copied().chain(TAGS.iter().map(|tag| tag.name)).collect();
        with_nearest(problem.because(format!("tasks are {}", known.join(", "))), text, &names, "name one of these, or leave it out")
    })
}

#[cfg(test)]
mod tests {
    use super::{Placed, TAGS};
    use crate::Position;
    use crate::operation::Arguments;

    const KNOWN: [&str; 3] = ["container-runtime", "etcd", "mirrors"];

    fn choice(tags: &[&str], skip: &[&str]) -> Result<(Vec<String>, Vec<String>), Vec<String>> {
        let placed = |tags: &[&str]| {
            let position = Position { file: "f".into(), line: 1, column: 1 };
            tags.iter().map(|tag| Placed { text: (*tag).to_owned(), position: position.clone() }).collect()
        };
        let arguments = Arguments { tags: placed(tags), skip_tags: placed(skip), ..Arguments::default() };
        match arguments.tasks(&KNOWN) {
            Ok(choice) => Ok((choice.only, choice.skip)),
            Err(problems) => Err(problems.into_iter().map(|problem| problem.hint.unwrap_or_default()).collect()),
        }
    }

    #[test]
    fn tags_stand_for_tasks_that_there_are() {
        let tasks = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(choice(&[], &[]), Ok((vec![], vec![])));
        assert_eq!(choice(&["mirrors", "container-engine"], &["etcd"]), Ok((tasks(&["container-runtime", "mirrors"]), tasks(&["etcd"]))));
        assert_eq!(choice(&["etcd", "all"], &[]), Ok((vec![], vec![])), "everything");
        assert_eq!(choice(&[], &["all"]), Ok((vec![], tasks(&KNOWN))), "nothing");
    }

    #[test]
    fn tags_that_stand_for_nothing_are_all_refused() {
        let hints = ["leave it out", "leave it out", "did you mean `etcd`?", "leave it out"].map(str::to_owned);
        assert_eq!(choice(&["calico", "swap", "etcdd"], &["never"]), Err(hints.to_vec()));
        assert!(TAGS.is_sorted_by_key(|tag| tag.name));
    }
}

//! What the operation in a user's files asks of a verb: for which it is, and of which part of the cluster it speaks.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use kok_crds::model::AuthorityName;
use kok_crds::operation::Verb;
use kok_crds::{Asked, File, Input, Intent, Outcome, Position, Problem, Role, read_input};

const TASKS: [&str; 4] = ["container-runtime", "etcd", "mirrors", "names"];

const CLUSTER: &str = "
apiVersion: kubean.io/v1alpha1
kind: Cluster
metadata: {name: c}
spec: {hostsConfRef: {name: h, namespace: a}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: h, namespace: a}
data:
  hosts.yml: |
    all:
      vars: {kube_version: 1.37.1, kube_network_plugin: flannel}
      hosts: {cp1: {ip: 10.0.0.11}, w1: {ip: 10.0.0.12, ansible_ssh_user: own}, w2: {ip: 10.0.0.13}, jump: {ansible_host: 10.0.0.9}}
      children:
        kube_control_plane: {hosts: {cp1: }}
        kube_node: {hosts: {w1: , w2: }}
        rack1: {hosts: {cp1: , w1: , jump: }}
";

const INLINE: &str = "
apiVersion: kubean.io/v1alpha1
kind: Cluster
metadata: {name: c}
spec:
  kubernetesVersion: 1.37.1
  hosts:
  - {name: cp1, address: 10.0.0.11, roles: [control-plane]}
  - {name: w1, address: 10.0.0.12, roles: [worker], ssh: {user: own}}
  - {name: w2, address: 10.0.0.13, roles: [worker]}
";

fn operation(name: &str, action: &str, rest: &str) -> String {
    format!(
        "---\napiVersion: kubean.io/v1alpha1\nkind: ClusterOperation\nmetadata: {{name: {name}}}\nspec:\n  cluster: c\n  actionType: playbook\n  \
         action: {action}\n  {rest}\n"
    )
}

fn input(cluster: &str, operations: &[String]) -> Input {
    let text = cluster.to_owned() + &operations.concat();
    read_input(&[File { name: "all.yaml".to_owned(), text, role: Role::Main { cluster: None } }])
}

fn asked(cluster: &str, operations: &[String], verb: Verb, dry: bool) -> Result<Asked, Vec<Problem>> {
    let input = input(cluster, operations);
    assert!(input.cluster.is_some(), "{:?}", input.problems);
    input.asked(Intent { verb, dry }, &TASKS)
}

fn applied(cluster: &str, arguments: &str) -> Result<Asked, Vec<Problem>> {
    asked(cluster, &[operation("o", "cluster.yml", &format!("extraArgs: \"{arguments}\""))], Verb::Apply, false)
}

fn only(result: Result<Asked, Vec<Problem>>) -> Problem {
    let problems = result.unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems.into_iter().next().unwrap()
}

#[test]
fn a_limit_names_hosts_and_groups_of_either_form() {
    for cluster in [CLUSTER, INLINE] {
        let hosts = |pattern: &str| applied(cluster, &format!("--limit='{pattern}'")).map(|asked| asked.hosts);
        assert_eq!(hosts("w2").unwrap(), ["w2"]);
        assert_eq!(hosts("kube_node:!w1").unwrap(), ["w2"]);
        assert_eq!(hosts("all,&kube_node").unwrap(), ["w1", "w2"]);
        assert_eq!(hosts("kube-master:w?").unwrap(), ["cp1", "w1", "w2"], "also by old names of groups");
        let problem = only(applied(cluster, "-v --limit=kube_nod"));
        let line = cluster.lines().count() as u64 + 9;
        let at = problem.position.unwrap();
        assert_eq!((at.line, problem.hint.unwrap().as_str()), (line, "did you mean `kube_node`?"));
    }
    assert_eq!(applied(CLUSTER, "--limit=rack1").unwrap().hosts, ["cp1", "w1"], "and no host that is only on the way");
    assert!(only(applied(CLUSTER, "--limit=jump")).message.contains("names no host of the cluster"));
}

#[test]
fn a_limit_of_the_command_line_is_the_same() {
    let at = Position { file: "--limit".into(), line: 1, column: 1 };
    for cluster in [CLUSTER, INLINE] {
        let input = input(cluster, &[]);
        assert_eq!(input.hosts("kube_node,!w2", &at).unwrap(), ["w1"]);
        assert_eq!(input.hosts("w9", &at).unwrap_err().first().unwrap().position.as_ref(), Some(&at));
    }
}

#[test]
fn tags_choose_tasks() {
    let asked = applied(CLUSTER, "--tags=containerd,etcd --skip-tags mirrors").unwrap();
    assert_eq!(asked.tasks.only, ["container-runtime", "etcd", "mirrors"]);
    assert_eq!(asked.tasks.skip, ["mirrors"]);
    assert!(asked.tags.is_some());
    let problems = applied(CLUSTER, "--tags=nosuch --limit=w9").unwrap_err();
    assert_eq!(problems.len(), 2, "all at once: {problems:?}");
}

#[test]
fn a_check_changes_nothing() {
    let operations = [operation("o", "cluster.yml", "extraArgs: --check")];
    assert!(only(asked(CLUSTER, &operations, Verb::Apply, false)).hint.unwrap().contains("kokctl plan"));
    assert!(asked(CLUSTER, &operations, Verb::Apply, true).unwrap().check);
}

#[test]
fn the_wrong_verb_is_refused_with_the_right_one() {
    let reset = [operation("o", "reset.yml", "")];
    for dry in [true, false] {
        let problem = only(asked(CLUSTER, &reset, Verb::Apply, dry));
        assert_eq!(problem.message, "the operation `o` is not for `kokctl apply`");
        assert!(problem.hint.unwrap().contains("`kokctl reset -f …`"));
    }
    assert!(asked(CLUSTER, &reset, Verb::Reset, false).unwrap().agreed_at.is_some(), "it was asked for");
    assert_eq!(asked(CLUSTER, &[], Verb::Reset, false).unwrap().agreed_at, None);
    let facts = only(asked(CLUSTER, &[operation("o", "facts.yml", "")], Verb::Apply, false));
    assert!(facts.because.unwrap().contains("no step of its own"));
    let ended = [operation("o", "reset.yml", "").replace("spec:", "status: {status: Succeeded}\nspec:")];
    assert_eq!(asked(CLUSTER, &ended, Verb::Apply, false), Ok(Asked::default()));
}

#[test]
fn a_reset_is_of_the_hosts_that_its_operation_names() {
    for arguments in ["--tags=etcd", "--skip-tags=etcd", "--check"] {
        let operations = [operation("o", "reset.yml", &format!("extraArgs: {arguments}"))];
        let problem = only(asked(CLUSTER, &operations, Verb::Reset, false));
        assert_eq!(problem.message, "the operation `o` cannot be done by `kokctl reset`", "{arguments}");
    }
    let of = |name: &str, limit: &str| operation(name, "reset.yml", &format!("extraArgs: --limit={limit}"));
    let found = asked(CLUSTER, &[of("o", "kube_node:!w1")], Verb::Reset, false).unwrap();
    assert_eq!((found.hosts, found.limit.unwrap().text), (vec!["w2".to_owned()], "kube_node:!w1".to_owned()));
    assert!(only(asked(CLUSTER, &[of("o", "w9")], Verb::Reset, false)).message.contains("w9"));
    let several = [of("o", "w1"), operation("p", "reset.yml", "")];
    assert_eq!(only(asked(CLUSTER, &several, Verb::Reset, false)).message, "it is not said which operation counts");
}

#[test]
fn a_renewal_is_of_all_hosts_or_of_those_that_its_operation_names() {
    for action in ["renew-certs.yml", "certs-renew"] {
        let of = |arguments: &str| operation("o", action, &format!("extraArgs: {arguments}"));
        assert_eq!(asked(CLUSTER, &[operation("o", action, "")], Verb::Renew, false).unwrap().hosts, [""; 0]);
        assert_eq!(asked(CLUSTER, &[of("--limit=kube_node:!w1")], Verb::Renew, false).unwrap().hosts, ["w2"]);
        let problem = only(asked(CLUSTER, &[of("--tags=etcd")], Verb::Renew, false));
        assert_eq!(problem.message, "the operation `o` cannot be done by `kokctl certs renew`");
        let problem = only(asked(CLUSTER, &[of("-v")], Verb::Apply, false));
        assert!(problem.hint.unwrap().contains("`kokctl certs renew -f …`"));
    }
}

#[test]
fn members_of_etcd_are_defragmented_by_name_and_an_alarm_is_of_all() {
    let of = |action: &str, arguments: &str| operation("o", action, &format!("extraArgs: {arguments}"));
    assert_eq!(asked(CLUSTER, &[operation("o", "etcd-defrag", "")], Verb::Defragment, false).unwrap().hosts, [""; 0]);
    assert_eq!(asked(CLUSTER, &[of("etcd_defrag.yml", "--limit=w2")], Verb::Defragment, false).unwrap().hosts, ["w2"]);
    let problem = only(asked(CLUSTER, &[of("etcd-defrag", "--tags=etcd")], Verb::Defragment, false));
    assert_eq!(problem.message, "the operation `o` cannot be done by `kokctl etcd defrag`");
    assert!(asked(CLUSTER, &[operation("o", "rotate-encryption-key", "")], Verb::RotateKey, false).unwrap().agreed_at.is_some());
    let problem = only(asked(CLUSTER, &[of("rotate_encryption_key.yml", "--limit=w2")], Verb::RotateKey, false));
    assert!(problem.to_string().contains("all control planes encrypt with the same key"), "{problem}");
    for (action, verb) in
        [("rotate-service-account-key", Verb::RotateTokenKey), ("rotate_service_account_key_finish.yml", Verb::EndTokenKey)]
    {
        assert!(asked(CLUSTER, &[operation("o", action, "")], verb, false).unwrap().agreed_at.is_some());
        let problem = only(asked(CLUSTER, &[of(action, "--limit=w2")], verb, false)).to_string();
        assert!(
            problem.contains("sign tokens of service accounts with the same key") && problem.contains("all control planes take part"),
            "{problem}"
        );
    }
    let authorities = [
        ("rotate-ca-kubernetes", Verb::RotateAuthority(AuthorityName::Kubernetes)),
        ("rotate_ca_etcd.yml", Verb::RotateAuthority(AuthorityName::Etcd)),
        ("rotate-ca-front-proxy-finish", Verb::EndAuthority(AuthorityName::FrontProxy)),
    ];
    for (action, verb) in authorities {
        assert!(asked(CLUSTER, &[operation("o", action, "")], verb, false).unwrap().agreed_at.is_some());
        let problem = only(asked(CLUSTER, &[of(action, "--limit=w2")], verb, false)).to_string();
        assert!(problem.contains("all hosts trust the same authority") && problem.contains("all hosts take part"), "{problem}");
    }
    assert!(asked(CLUSTER, &[operation("o", "etcd-alarm-disarm", "")], Verb::Disarm, false).unwrap().agreed_at.is_some());
    let problem = only(asked(CLUSTER, &[of("etcd-alarm-disarm", "--limit=w2")], Verb::Disarm, false));
    assert_eq!(
        (problem.message.as_str(), problem.hint.as_deref()),
        ("the operation `o` names hosts", Some("leave them out: all members take part"))
    );
}

#[test]
fn of_several_operations_it_is_said_which_counts() {
    let reset = operation("r", "reset.yml", "");
    let apply = operation("a", "cluster.yml", "extraArgs: -e kube_proxy_mode=iptables -l w1");
    let input = input(CLUSTER, &[reset, apply.clone()]);
    let notice = input.notices.iter().find(|notice| notice.message == "the operation `r` does not count").unwrap();
    assert!(notice.hint.as_deref().unwrap().contains("kokctl reset"));
    let asked_for = input.asked(Intent { verb: Verb::Apply, dry: false }, &TASKS).unwrap();
    assert_eq!((asked_for.hosts, asked_for.others.len()), (vec!["w1".to_owned()], 1));
    assert_eq!(input.cluster.unwrap().settings.kube_proxy_mode.as_str(), "iptables");
    let plain = operation("b", "scale.yml", "");
    assert_eq!(only(asked(CLUSTER, &[apply, plain.clone()], Verb::Apply, false)).message, "it is not said which operation counts");
    assert_eq!(asked(CLUSTER, &[plain.clone(), plain.replace("name: b", "name: d")], Verb::Apply, false), Ok(Asked::default()));
}

#[test]
fn a_login_of_the_operation_counts_for_hosts_that_name_none() {
    let operations = [operation("o", "cluster.yml", "extraArgs: -u admin --private-key=/keys/id")];
    for cluster in [CLUSTER, INLINE] {
        let input = input(cluster, &operations);
        let cluster = input.cluster.unwrap();
        let user = |host: &str| cluster.host(host).unwrap().ssh.user.as_deref();
        assert_eq!((user("cp1"), user("w1")), (Some("admin"), Some("own")));
        assert!(cluster.hosts.iter().all(|host| host.ssh.private_key_file.as_deref() == Some("/keys/id")));
        let outcome = |name: &str| input.variables.iter().find(|given| given.name == name).unwrap().outcome;
        assert_eq!((outcome("--user"), outcome("--private-key")), (Outcome::Honoured, Outcome::Honoured));
    }
}

#[test]
fn variables_of_hooks_are_said_or_refused() {
    let hook = |arguments: &str| {
        let hooks = format!("preHook: [{{actionType: playbook, action: ping.yml, extraArgs: {arguments}}}]");
        input(CLUSTER, &[operation("o", "cluster.yml", &format!("extraArgs: -e kube_proxy_mode=iptables\n  {hooks}"))])
    };
    let of =
        |input: &Input, name: &str| input.variables.iter().find(|given| given.name == name && given.position.line > 20).unwrap().outcome;
    assert_eq!(of(&hook("-e undo=true"), "undo"), Outcome::NoMeaning);
    let other = hook("-e override_system_hostname=false");
    assert!(other.problems.iter().any(|problem| problem.message.contains("`override_system_hostname` is set for the hook `ping` only")));
    assert!(hook("-e kube_proxy_mode=nftables").cluster.is_none());
    assert_eq!(hook("-e kube_proxy_mode=iptables").cluster.unwrap().settings.kube_proxy_mode.as_str(), "iptables");
    assert!(hook("--limit=w1").notices.iter().any(|notice| notice.message == "`--limit` of the hook `ping` is not used"));
}

#[test]
fn what_an_action_sets_counts_unless_somebody_says_otherwise() {
    let hooks = "preHook: [{actionType: playbook, action: disable-firewalld.yml}]";
    let firewall = |cluster: &str| {
        let cluster = input(cluster, &[operation("o", "cluster.yml", hooks)]).cluster.unwrap();
        format!("{:?}", cluster.settings.host.firewall)
    };
    assert_eq!(firewall(CLUSTER), "Open");
    assert_eq!(firewall(&CLUSTER.replace("vars: {", "vars: {firewall: refuse, ")), "Refuse");
    let inline = input(INLINE, &[operation("o", "cluster.yml", hooks)]);
    let problem = inline.problems.first().unwrap();
    assert!(problem.hint.as_deref().unwrap().contains("`firewall: open`"), "{problem}");
}

#[test]
fn an_inline_cluster_takes_no_variables_of_operations() {
    let with = |arguments: &str| input(INLINE, &[operation("o", "cluster.yml", &format!("extraArgs: {arguments}"))]);
    assert!(with("-e kube_proxy_mode=iptables").cluster.is_none());
    let idle = with("-e reset_confirmation=yes");
    assert!(idle.cluster.is_some() && idle.variables.iter().any(|given| given.name == "reset_confirmation"));
}

#[test]
fn hosts_of_a_cluster_in_its_own_fields_may_be_called_as_groups() {
    let cluster = INLINE.replace("w1", "etcd").replace("w2", "all");
    assert_eq!(applied(&cluster, "--limit cp1").unwrap().hosts, ["cp1"]);
    assert_eq!(applied(&cluster, "--limit kube_node").unwrap().hosts, ["etcd", "all"]);
}

#[test]
fn of_several_clusters_the_operation_names_the_one_that_is_meant() {
    let clusters = INLINE.to_owned() + "---" + &INLINE.replace("name: c}", "name: d}").replace("cp1", "cp2");
    let first_host = |operations: &[String]| {
        let input = input(&clusters, operations);
        input.cluster.map(|cluster| cluster.hosts[0].name.clone()).ok_or(input.problems)
    };
    let of_d = operation("o", "cluster.yml", "").replace("cluster: c", "cluster: d");
    assert_eq!(first_host(std::slice::from_ref(&of_d)).unwrap(), "cp2");
    assert_eq!(first_host(&[operation("p", "cluster.yml", "")]).unwrap(), "cp1");
    let ended = operation("p", "cluster.yml", "") + "status: {status: Succeeded}\n";
    assert_eq!(first_host(&[ended, of_d.clone()]).unwrap(), "cp2");
    for operations in [vec![], vec![of_d, operation("p", "cluster.yml", "")]] {
        let problems = first_host(&operations).unwrap_err();
        assert!(problems.iter().any(|problem| problem.message == "the files hold more than one Cluster"), "{problems:?}");
    }
}

#[test]
fn of_two_names_of_a_login_the_one_that_loses_is_overruled() {
    let cluster = CLUSTER.replace("ansible_ssh_user: own", "ansible_ssh_user: own, ansible_user: other");
    let input = input(&cluster, &[]);
    let outcome = |name: &str| input.variables.iter().find(|given| given.name == name).unwrap().outcome;
    assert_eq!((outcome("ansible_ssh_user"), outcome("ansible_user")), (Outcome::Honoured, Outcome::Overruled));
    assert_eq!(input.cluster.unwrap().host("w1").unwrap().ssh.user.as_deref(), Some("own"));
}

#[test]
fn whoever_is_removed_is_named() {
    let of = |arguments: &str| operation("o", "remove-node.yml", &format!("extraArgs: '{arguments}'"));
    let found = asked(CLUSTER, &[of("-e node=w1,w2")], Verb::Remove, false).unwrap();
    assert_eq!((found.hosts.join(","), found.may_be_dead, found.agreed_at.is_some()), ("w1,w2".to_owned(), false, true));
    assert!(asked(CLUSTER, &[of("-e node=w1 -e allow_ungraceful_removal=yes")], Verb::Remove, false).unwrap().may_be_dead);
    assert_eq!(asked(CLUSTER, &[of("--limit=kube_node:!w1")], Verb::Remove, false).unwrap().hosts, ["w2"]);
    assert_eq!(only(asked(CLUSTER, &[of("-v")], Verb::Remove, false)).message, "the operation `o` names no host");
    assert!(only(asked(CLUSTER, &[of("-e node=w9")], Verb::Remove, false)).message.contains("w9"));
    let gone = asked(CLUSTER, &[of("-e node=w9 -e allow_ungraceful_removal=true")], Verb::Remove, false).unwrap();
    assert_eq!(gone.hosts, ["w9"], "one that is dead may be in no file any more");
    assert_eq!(
        only(asked(CLUSTER, &[of("-e node=w1 --check")], Verb::Remove, false)).message,
        "the operation `o` cannot be done by `kokctl remove`"
    );
    let several = [of("-e node=w1"), operation("p", "remove.yml", "extraArgs: -e node=w2")];
    assert_eq!(only(asked(CLUSTER, &several, Verb::Remove, false)).message, "it is not said which operation counts");
    let drain = [operation("o", "drain", "extraArgs: --limit=w1")];
    assert_eq!(asked(CLUSTER, &drain, Verb::Drain, false).unwrap().hosts, ["w1"]);
    assert_eq!(asked(CLUSTER, &drain, Verb::Remove, false), Ok(Asked::default()), "that of another verb asks for nothing");
}

#[test]
fn a_recovery_names_whom_it_gives_up_and_what_it_begins_with() {
    let of = |arguments: &str| operation("o", "recover-control-plane.yml", &format!("extraArgs: '{arguments}'"));
    let found = asked(CLUSTER, &[of("--limit etcd,kube_control_plane -e etcd_retries=10")], Verb::Recover, false).unwrap();
    assert!(found.hosts.is_empty() && found.snapshot.is_none() && found.agreed_at.is_some(), "{found:?}");
    let found = asked(CLUSTER, &[of("-e node=cp1 -e etcd_snapshot=/srv/a.db")], Verb::Recover, false).unwrap();
    assert_eq!((found.hosts.join(","), found.snapshot.unwrap().text), ("cp1".to_owned(), "/srv/a.db".to_owned()));
    assert!(only(asked(CLUSTER, &[of("-e node=w9")], Verb::Recover, false)).message.contains("w9"));
    assert_eq!(
        only(asked(CLUSTER, &[of("--check")], Verb::Recover, false)).message,
        "the operation `o` cannot be done by `kokctl recover`"
    );
    let several = [of("-v"), operation("p", "recover", "")];
    assert_eq!(only(asked(CLUSTER, &several, Verb::Recover, false)).message, "it is not said which operation counts");
    assert_eq!(asked(CLUSTER, &[of("-v")], Verb::Remove, false), Ok(Asked::default()), "that of another verb asks for nothing");
}

#[test]
fn a_restore_names_its_backup_and_what_opens_it() {
    let of = |arguments: &str| operation("o", "restore.yml", &format!("extraArgs: '{arguments}'"));
    let found = asked(CLUSTER, &[of("-e backup=s3://b/demo-1.kok -e identity=age.key -e node=cp1")], Verb::Restore, false).unwrap();
    let restore = found.restore.unwrap();
    assert_eq!((restore.backup.text.as_str(), restore.identity.unwrap().text.as_str()), ("s3://b/demo-1.kok", "age.key"));
    assert_eq!((restore.new_hosts, found.hosts.join(","), found.agreed_at.is_some()), (false, "cp1".to_owned(), true));
    assert!(asked(CLUSTER, &[of("-e backup=a -e new_hosts=yes")], Verb::Restore, false).unwrap().restore.unwrap().new_hosts);
    let wrong = |arguments: &str| only(asked(CLUSTER, &[of(arguments)], Verb::Restore, false)).message;
    assert_eq!(wrong("-e identity=age.key"), "the operation `o` names no backup");
    assert_eq!(wrong("-e backup=a --limit cp1"), "the operation `o` names hosts");
    assert_eq!(wrong("-e backup=a --check"), "the operation `o` cannot be done by `kokctl restore`");
    assert!(wrong("-e backup=a -e new_hosts=yes -e node=cp1").contains("all of them are new"));
}

/// What an action takes as its argument is no variable of the cluster; to another action it is one that means nothing.
#[test]
fn arguments_of_an_action_are_no_variables() {
    let names = |cluster: &str, action: &str, arguments: &str| {
        let input = input(cluster, &[operation("o", action, &format!("extraArgs: '{arguments}'"))]);
        assert_eq!(input.problems, []);
        let of_arguments = ["node", "with", "backup", "identity", "etcd_snapshot"];
        input.variables.iter().map(|given| given.name.clone()).filter(|name| of_arguments.contains(&name.as_str())).collect::<Vec<_>>()
    };
    for cluster in [CLUSTER, INLINE] {
        assert_eq!(names(cluster, "restore", "-e backup=a -e identity=b"), [""; 0]);
        assert_eq!(names(cluster, "remove-node.yml", "-e node=w1"), [""; 0]);
        assert_eq!(names(cluster, "recover", "-e etcd_snapshot=a"), [""; 0]);
        assert_eq!(names(cluster, "cluster.yml", "-e backup=a"), ["backup"]);
    }
}

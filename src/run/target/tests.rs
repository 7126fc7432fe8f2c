#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
use super::*;
use kok_crds::Secret;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

struct Home(tempfile::TempDir);

impl Home {
    fn with(config: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join(".ssh")).unwrap();
        fs::write(home.path().join(".ssh/config"), config).unwrap();
        fs::set_permissions(home.path().join(".ssh/config"), fs::Permissions::from_mode(0o600)).unwrap();
        Self(home)
    }

    fn resolve(&self, ssh: &Ssh) -> Result<Target, Failure> {
        let config = SshConfig::load(Some(self.0.path()), None, "me");
        let config = config.map_err(|fault| failure(&fault, None))?;
        Resolver { config: &config, home: Some(self.0.path()) }.host("cp1", "192.0.2.11", ssh)
    }
}

/// The logins on the way, the nearest to us last.
fn way(target: &Target) -> Vec<String> {
    std::iter::successors(Some(target), |target| target.bastion.as_deref()).map(|hop| format!("{}@{}", hop.user, hop.endpoint())).collect()
}

#[test]
fn without_a_word_a_host_is_root_at_its_address() {
    let target = Home::with("").resolve(&Ssh::default()).unwrap();
    assert_eq!(way(&target), ["root@192.0.2.11:22"]);
    assert_eq!(target.host_key_checking, HostKeyChecking::Strict);
}

#[test]
fn the_cluster_wins_over_ssh_config() {
    let home = Home::with(
        "Host 192.0.2.*\n User ops\n Port 2222\n HostName 198.51.100.7\n ProxyJump j@gate:2200\n StrictHostKeyChecking accept-new\n",
    );
    let target = home.resolve(&Ssh::default()).unwrap();
    assert_eq!(way(&target), ["ops@198.51.100.7:2222", "j@gate:2200"]);
    assert_eq!(target.host_key_checking, HostKeyChecking::AcceptNew);
    let ssh = Ssh {
        user: Some("root".into()),
        port: Some(22),
        via: Some(Via::Direct),
        host_key_checking: Some(HostKeyChecking::Strict),
        ..Ssh::default()
    };
    let target = home.resolve(&ssh).unwrap();
    assert_eq!(way(&target), ["root@198.51.100.7:22"]);
    assert_eq!(target.host_key_checking, HostKeyChecking::Strict);
}

#[test]
fn bastions_chain_by_either_file() {
    let home = Home::with("Host gate\n HostName gate.example.org\n ProxyJump outer\nHost outer\n Port 2022\nHost *\n User all\n");
    let gate = Bastion { address: "gate".into(), ssh: Ssh { password: Some(Secret::new("x")), ..Ssh::default() } };
    let target = home.resolve(&Ssh { via: Some(Via::Bastion(Box::new(gate))), ..Ssh::default() }).unwrap();
    assert_eq!(way(&target), ["all@192.0.2.11:22", "all@gate.example.org:22", "all@outer:2022"]);
    assert!(target.bastion.unwrap().password.is_some());
    // A list says the whole way: the nearest one's own ProxyJump does not count.
    let home = Home::with("Host 192.0.2.11\n ProxyJump a,b\nHost b\n ProxyJump c\nHost a\n ProxyJump d\n");
    assert_eq!(way(&home.resolve(&Ssh::default()).unwrap()), ["root@192.0.2.11:22", "me@b:22", "me@a:22", "me@d:22"]);
}

#[test]
fn lines_that_the_cluster_overrules_are_not_where_a_login_comes_from() {
    let home = Home::with("Host 192.0.2.*\n User ops\n Port 2222\n HostName 198.51.100.7\n");
    let origin = |ssh: &Ssh| home.resolve(ssh).unwrap().configured.origin.description().unwrap();
    assert!(origin(&Ssh::default()).contains("HostName at ") && origin(&Ssh::default()).contains("config:3, the user is"));
    let own = origin(&Ssh { user: Some("root".into()), port: Some(22), ..Ssh::default() });
    assert!(own.ends_with("config:4") && !own.contains("Port") && !own.contains("User"), "{own}");
}

#[test]
fn a_misspelled_option_is_said_once_for_all_hosts() {
    let home = Home::with("Hostnmae 192.0.2.7\nPrt 22\n");
    let config = SshConfig::load(Some(home.0.path()), None, "me").unwrap();
    let failures = misspelled(&config, &two_hosts(""));
    assert_eq!(failures.iter().map(|failure| failure.at.as_deref().unwrap().rsplit(':').next().unwrap()).collect::<Vec<_>>(), ["1", "2"]);
    assert!(failures[0].kind == Kind::Input && failures[0].hint.as_deref().unwrap().contains("Hostname"), "{failures:?}");
}

fn two_hosts(ssh: &str) -> Cluster {
    let file = format!(
        "apiVersion: kubeonkube.clay.io/v1alpha1
kind: Cluster
metadata: {{name: demo}}
spec:
  kubernetesVersion: 1.37.1
  hosts:
  - {{name: cp1, address: 10.0.0.11, roles: [control-plane], {ssh}}}
  - {{name: w1, address: 10.0.0.12, roles: [worker], {ssh}}}
"
    );
    kok_crds::read_cluster("f", &file).unwrap_or_else(|problems| panic!("{problems:?}"))
}

#[test]
fn ways_in_a_circle_are_refused() {
    let failure = Home::with("Host *\n ProxyJump gate\n").resolve(&Ssh::default()).err().unwrap();
    assert!(failure.because.unwrap().contains("gate") && failure.hint.unwrap().contains("Host * !BASTION"));
}

#[test]
fn what_is_not_supported_names_its_line_unless_the_cluster_decides() {
    let home = Home::with("# mine\nHost 192.0.2.11\n ProxyCommand nc %h %p\n");
    let failure = home.resolve(&Ssh::default()).err().unwrap();
    assert!(failure.what.contains("proxycommand") && failure.at.unwrap().ends_with(".ssh/config:3"), "{}", failure.what);
    assert!(home.resolve(&Ssh { via: Some(Via::Direct), ..Ssh::default() }).is_ok());
}

#[test]
fn ssh_goes_to_its_own_address_where_there_is_one() {
    let file = "apiVersion: kubeonkube.clay.io/v1alpha1
kind: Cluster
metadata: {name: demo}
spec:
  kubernetesVersion: 1.37.1
  hosts:
  - {name: cp1, address: 10.0.0.11, roles: [control-plane], ssh: {address: cp1.example.org}}
  - {name: w1, address: 10.0.0.12, roles: [worker]}
";
    let cluster = kok_crds::read_cluster("f", file).unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(cluster.hosts.iter().map(ssh_address).collect::<Vec<_>>(), ["cp1.example.org", "10.0.0.12"]);
}

/// `validate` says it as `check` does, with the line.
#[test]
fn what_is_wrong_with_a_way_is_told_before_anybody_is_contacted() {
    let home = Home::with("Host *\n  StrictHostKeyChecking no\n");
    let text = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: a}\nspec: {kubernetesVersion: 1.37.1, hosts: \
                [{name: cp1, address: 10.0.0.11, roles: [control-plane]}, {name: w1, address: 10.0.0.12, roles: [worker]}]}\n";
    let cluster = kok_crds::read_cluster("f", text).unwrap();
    let surroundings = Surroundings { home: Some(home.0.path().to_owned()), local_user: Some("me".to_owned()), ..Surroundings::default() };
    let ways = || targets(&cluster, |_| true, &surroundings);
    let problems: Vec<Problem> = ways().err().unwrap().into_iter().map(problem).collect();
    let [problem] = <[Problem; 1]>::try_from(problems).unwrap();
    let position = problem.position.as_ref().unwrap();
    assert!(position.file.ends_with("/.ssh/config") && position.line == 2, "{problem}");
    assert!(problem.message.contains("StrictHostKeyChecking no") && problem.because.is_some() && problem.hint.is_some(), "{problem}");
}

//! What comes out of whole inputs as people have them: each folder of `tests/corpus` is one, with what is expected of it in `expected.txt`.
//!
//! `KOK_WRITE_CORPUS=1 cargo test -p kok-crds --test corpus` writes these files; then read what changed.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use kok_crds::model::{Cluster, HostSettings, Settings, Via};
use kok_crds::{File, Input, Outcome, Position, Role, read_cluster, read_input};

/// Names of what is given with -f.
const MAIN: [&str; 4] = ["cluster.yaml", "hosts.yaml", "hosts.yml", "inventory.ini"];

/// Tasks that tags can stand for.
const TASKS: [&str; 4] = ["certificates", "container-runtime", "etcd", "mirrors"];

fn folders(kind: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus").join(kind);
    let mut folders: Vec<_> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    assert!(folders.len() >= 20, "the inputs of this test are missing");
    folders
}

fn file(folder: &Path, name: &str, role: Role) -> File {
    File { name: name.to_owned(), text: fs::read_to_string(folder.join(name)).unwrap(), role }
}

fn beside(folder: &Path, below: &str, files: &mut Vec<File>) {
    let Ok(entries) = fs::read_dir(folder.join(below)) else { return };
    let mut names: Vec<String> = entries.map(|entry| format!("{below}/{}", entry.unwrap().file_name().to_str().unwrap())).collect();
    names.sort();
    for name in names {
        if folder.join(&name).is_dir() {
            beside(folder, &name, files);
        } else {
            files.push(file(folder, &name, Role::Beside));
        }
    }
}

fn read(folder: &Path) -> Input {
    let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
    let mut files: Vec<File> = MAIN
        .iter()
        .filter(|main| folder.join(main).is_file())
        .map(|main| file(folder, main, Role::Main { cluster: Some(name.clone()) }))
        .collect();
    beside(folder, "group_vars", &mut files);
    beside(folder, "host_vars", &mut files);
    let extra = fs::read_to_string(folder.join("extra-vars")).unwrap_or_default();
    let name = |number| if extra.lines().count() == 1 { "-e".to_owned() } else { format!("-e no. {number}") };
    files.extend(extra.lines().zip(1..).map(|(line, number)| File { name: name(number), text: line.to_owned(), role: Role::Extra }));
    let mut input = read_input(&files);
    input.check_operations(&TASKS);
    input
}

/// The model in words, without what was left to its default.
fn shown(cluster: &Cluster) -> String {
    let network = &cluster.network;
    let mut text = format!(
        "cluster {} with Kubernetes {}\nnetwork {} pods {} services {} /{} {}\n",
        cluster.name,
        cluster.kubernetes_version,
        network.plugin.as_str(),
        network.pod_cidr,
        network.service_cidr,
        network.node_prefix,
        network.cluster_domain
    );
    if let Some(ipv6) = &network.ipv6 {
        let (pods, services, prefix, masquerade) = (ipv6.pod_cidr, ipv6.service_cidr, ipv6.node_prefix, ipv6.masquerade);
        writeln!(text, "dual stack pods {pods} services {services} /{prefix} masquerade {masquerade}").unwrap();
    }
    writeln!(text, "time {:?} {:?}", cluster.time.servers, cluster.time.sources).unwrap();
    for addon in &cluster.addons {
        let (namespace, sum) = (addon.namespace.as_deref().unwrap_or("-"), addon.sha256.as_deref().unwrap_or("-"));
        writeln!(text, "addon {} {namespace} {:?} {sum} at {}", addon.name, addon.manifest, addon.origin).unwrap();
    }
    for host in &cluster.hosts {
        let ssh = &host.ssh;
        let roles = [("control-plane", host.roles.control_plane), ("worker", host.roles.worker)];
        let roles: Vec<_> = roles.iter().filter(|(_, has)| *has).map(|(role, _)| *role).collect();
        let way = match &ssh.via {
            Some(Via::Bastion(bastion)) => {
                let key = bastion.ssh.private_key_file.as_ref().map(|file| format!(" with {file}")).unwrap_or_default();
                format!("{}@{}:{}{key}", bastion.ssh.user.as_deref().unwrap_or("-"), bastion.address, bastion.ssh.port.unwrap_or(22))
            }
            _ => "-".to_owned(),
        };
        writeln!(
            text,
            "host {} {} {} ssh {}@{}:{} key {} {} passwords {} {} by {way} labels {:?} taints {:?}",
            host.name,
            host.address_ipv6.map_or(host.address.to_string(), |ipv6| format!("{}+{ipv6}", host.address)),
            roles.join("+"),
            ssh.user.as_deref().unwrap_or("-"),
            ssh.address.as_deref().unwrap_or("-"),
            ssh.port.unwrap_or(0),
            ssh.private_key_file.as_deref().unwrap_or("-"),
            ssh.private_key.is_some(),
            ssh.password.is_some(),
            ssh.sudo_password.is_some(),
            host.labels,
            host.taints.iter().map(|taint| format!("{}={}:{}", taint.key, taint.value, taint.effect.as_str())).collect::<Vec<_>>()
        )
        .unwrap();
    }
    text + &differences(&cluster.settings)
}

fn differences(settings: &Settings) -> String {
    let (shown, default) = (format!("{settings:#?}"), format!("{:#?}", Settings::default()));
    let hosts = format!("{:#?}", HostSettings::default());
    let known: Vec<&str> = default.lines().chain(hosts.lines()).map(str::trim).collect();
    let lines = shown.lines().map(str::trim).filter(|line| !known.contains(line) && !matches!(*line, "}," | "]," | "}" | "]" | "),"));
    lines.fold(String::new(), |text, line| text + "setting " + line + "\n")
}

fn report(input: &Input) -> String {
    let mut text = input.cluster.as_ref().map(shown).unwrap_or_default();
    for operation in &input.operations {
        let verbs: Vec<_> = operation.invocations().map(|invocation| invocation.action.name).collect();
        writeln!(text, "operation {}: {}", operation.name.as_deref().unwrap_or("-"), verbs.join(", ")).unwrap();
    }
    for given in &input.variables {
        let hosts = given.hosts.map(|hosts| format!(" ({hosts} hosts)")).unwrap_or_default();
        let outcome = given.outcome.as_str();
        writeln!(text, "{} = {}{hosts} at {}: {outcome}: {}", given.name, given.value, given.position, given.because).unwrap();
    }
    let notices = input.notices.iter().map(ToString::to_string);
    let problems = input.problems.iter().map(ToString::to_string);
    notices.chain(problems).fold(text, |text, item| text + "\n" + &item + "\n")
}

fn compare(folder: &Path, found: &str) -> Option<String> {
    let expected = folder.join("expected.txt");
    if env::var_os("KOK_WRITE_CORPUS").is_some() {
        fs::write(&expected, found).unwrap();
    }
    let expected = fs::read_to_string(expected).unwrap_or_default();
    (expected != found).then(|| format!("--- {}\nexpected:\n{expected}\nfound:\n{found}", folder.display()))
}

#[test]
fn good_inputs_become_clusters() {
    let mut wrong = Vec::new();
    for folder in folders("good") {
        let input = read(&folder);
        let found = report(&input);
        assert!(input.cluster.is_some(), "{}\n{found}", folder.display());
        assert!(!found.contains("dangerous"), "{found}");
        wrong.extend(compare(&folder, &found));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn broken_inputs_are_explained() {
    let mut wrong = Vec::new();
    for folder in folders("broken") {
        let input = read(&folder);
        let found = report(&input);
        assert!(input.cluster.is_none() && !input.problems.is_empty(), "{}: accepted", folder.display());
        assert!(input.problems.iter().all(|problem| problem.position.is_some()), "{}: a problem has no place\n{found}", folder.display());
        let idle = input.problems.iter().filter(|problem| problem.hint.as_deref().is_none_or(str::is_empty));
        wrong.extend(idle.map(|problem| format!("{}: nobody says what to do:\n{problem}", folder.display())));
        assert!(!["dangerous", "DANGEROUS", "p4ssword", "MTIzNDU2"].iter().any(|secret| found.contains(secret)), "{found}");
        wrong.extend(compare(&folder, &found));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What of a cluster has to survive: all but places, and secrets, which no copy holds.
fn without_places(mut cluster: Cluster) -> Cluster {
    cluster.positions = Default::default();
    for host in &mut cluster.hosts {
        host.origin = Position { file: "f".into(), line: 1, column: 1 };
        let ssh = &mut host.ssh;
        (ssh.password, ssh.sudo_password, ssh.private_key) = (None, None, None);
        let mut via = &mut ssh.via;
        while let Some(Via::Bastion(bastion)) = via {
            bastion.ssh.password = None;
            via = &mut bastion.ssh.via;
        }
    }
    cluster
}

#[test]
fn what_convert_writes_is_the_same_cluster() {
    let mut converted = 0;
    for folder in folders("good") {
        let input = read(&folder);
        let Some(text) = input.inline_file() else { continue };
        converted += 1;
        assert!(!text.contains("dangerous") && !text.contains("12345678"), "{text}");
        let again = read_cluster("cluster.yaml", &text).unwrap_or_else(|problems| {
            let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
            panic!("{}\n{text}\n{}", folder.display(), problems.join("\n"))
        });
        assert_eq!(without_places(again), without_places(input.cluster.unwrap()), "{}\n{text}", folder.display());
    }
    assert!(converted >= 15, "{converted}");
}

#[test]
fn nothing_that_is_set_goes_unsaid() {
    for folder in folders("good") {
        let input = read(&folder);
        assert!(input.variables.iter().all(|given| given.outcome == Outcome::Anyway || !given.because.is_empty()), "{}", folder.display());
        let mut files = Vec::new();
        beside(&folder, "group_vars", &mut files);
        beside(&folder, "host_vars", &mut files);
        let names = files.iter().flat_map(|file| file.text.lines()).filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
        for name in names.filter_map(|line| line.split_once(':')).map(|(name, _)| name) {
            assert!(input.variables.iter().any(|given| given.name == name), "{}: nothing is said of {name}", folder.display());
        }
    }
}

#[test]
fn files_that_are_too_large_are_refused() {
    let text = format!("all:\n  vars:\n{}", "    a: b\n".repeat(50 * 1024 * 1024 / 9));
    let input = read_input(&[File { name: "hosts.yaml".to_owned(), text, role: Role::Main { cluster: None } }]);
    let problem = input.problems.first().unwrap().to_string();
    assert!(problem.contains("more than") && problem.contains("bytes are not read"), "{problem}");
}

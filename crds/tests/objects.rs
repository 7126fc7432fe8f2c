//! Files of objects: what comes out of those that are right, and what users see when they are wrong.
//!
//! A new or changed output is taken over with `INSTA_UPDATE=always cargo test -p kok-crds --test objects`, and then read.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::{Path, PathBuf};

use kok_crds::objects::{ClusterForm, Inputs, Objects};
use kok_crds::operation::{Arguments, Effect, ExtraVars, Operation, Verb};
use kok_crds::{Notice, Problem, Source, read_objects};

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/objects").join(folder);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn rendered(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n\n")
}

fn read(text: &str) -> Result<Objects, Vec<Problem>> {
    read_objects(&[("all.yaml", text)])
}

fn good(name: &str) -> (Objects, String) {
    let file = files("good").into_iter().find(|file| file.file_stem().unwrap() == name).unwrap();
    let text = fs::read_to_string(file).unwrap();
    (read(&text).unwrap_or_else(|problems| panic!("{}", rendered(&problems))), text)
}

fn referenced(objects: &Objects) -> &Inputs {
    match &objects.clusters[0].form {
        ClusterForm::Referenced(inputs) => inputs,
        ClusterForm::Inline { .. } => panic!("inline"),
    }
}

#[test]
fn every_wrong_file_is_explained() {
    let files = files("bad");
    assert!(files.len() >= 6, "the files of this test are missing");
    let mut idle = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let Err(problems) = read(&fs::read_to_string(&file).unwrap()) else { panic!("{name}: accepted") };
        let output = rendered(&problems);
        assert!(problems.iter().all(|problem| problem.position.is_some()), "{name}: a problem has no place\n{output}");
        idle.extend(problems.iter().filter(|problem| problem.hint.is_none()).map(ToString::to_string));
        assert!(!output.contains("hush"), "{name}: a secret is shown");
        insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false, snapshot_path => "snapshots/objects"}, {
            insta::assert_snapshot!(name, output);
        });
    }
    assert!(idle.is_empty(), "nobody says what to do:\n{}", idle.join("\n"));
}

#[test]
fn what_has_no_use_is_said() {
    for name in ["kube_on_kube", "exported", "inline"] {
        let notices: Vec<Notice> = good(name).0.notices;
        insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false, snapshot_path => "snapshots/objects"}, {
            insta::assert_snapshot!(format!("notices_of_{name}"), rendered(&notices));
        });
    }
}

#[test]
fn texts_of_config_maps_know_their_lines() {
    let (objects, text) = good("kube_on_kube");
    let inputs = referenced(&objects);
    let hosts = inputs.hosts.as_ref().unwrap();
    let line = |wanted: &str| u64::try_from(text.lines().position(|line| line.trim() == wanted).unwrap() + 1).unwrap();
    assert!(hosts.text.starts_with("all:\n  hosts:\n    cp1:\n") && &*hosts.name == "hosts.yml");
    for (number, inner) in hosts.text.lines().enumerate() {
        let place = hosts.position(u64::try_from(number + 1).unwrap(), 1);
        let outer = text.lines().nth(usize::try_from(place.line).unwrap() - 1).unwrap();
        assert_eq!(&outer[usize::try_from(place.column).unwrap() - 1..], inner);
    }
    let vars = inputs.vars.as_ref().unwrap();
    assert_eq!(vars.position(2, 3).to_string(), format!("all.yaml:{}:7", line("kube_network_plugin: flannel")));
    let key = inputs.ssh_key.as_ref().unwrap();
    assert!(key.key.expose().starts_with(b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA"));
    assert_eq!(
        key.position.line,
        line(
            "ssh-privatekey: LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVEUgS0VZLS0tLS0KYjNCbGJuTnphQzFyWlhrdGRqRUFibTkwSUdFZ2EyVjVMQ0J2Ym14NUlIUm9aU0J6YUdGd1pTQnZaaUJ2Ym1VPQotLS0tLUVORCBPUEVOU1NIIFBSSVZBVEUgS0VZLS0tLS0K"
        )
    );
}

/// Who is to be gone has to be reached once more.
#[test]
fn a_key_of_a_secret_is_given_to_hosts_that_leave_too() {
    let (_, text) = good("kube_on_kube");
    let secret = text.split("---\n").find(|document| document.contains("kind: Secret")).unwrap();
    let cluster = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec:\n  kubernetesVersion: 1.37.1\n  \
        sshAuthRef: {namespace: kubeonkube, name: berlin-key}\n  removed: [w1]\n  hosts:\n    - {name: cp1, address: 10.0.0.1, roles: \
        [control-plane]}\n    - {name: w1, address: 10.0.0.2, roles: [worker]}\n";
    let objects = read(&format!("{cluster}---\n{secret}")).unwrap_or_else(|problems| panic!("{}", rendered(&problems)));
    let ClusterForm::Inline { cluster, .. } = &objects.clusters[0].form else { panic!("referenced") };
    let has_key =
        |hosts: &[kok_crds::model::Host]| hosts.iter().map(|host| (host.name.clone(), host.ssh.private_key.is_some())).collect::<Vec<_>>();
    assert_eq!((has_key(&cluster.hosts), has_key(&cluster.leaving)), (vec![("cp1".to_owned(), true)], vec![("w1".to_owned(), true)]));
}

#[test]
fn objects_may_stand_in_several_files_in_any_order() {
    let (whole, text) = good("kube_on_kube");
    let documents: Vec<String> = text.split("---\n").map(str::to_owned).collect();
    let names: Vec<String> = (0..documents.len()).map(|index| format!("{index}.yaml")).collect();
    for start in 0..documents.len() {
        let turned: Vec<_> = names.iter().zip(&documents).cycle().skip(start).take(documents.len()).collect();
        let files: Vec<(&str, &str)> = turned.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let objects = read_objects(&files).unwrap();
        assert_eq!(objects.clusters[0].name, whole.clusters[0].name);
        assert_eq!(referenced(&objects).hosts.as_ref().unwrap().text, referenced(&whole).hosts.as_ref().unwrap().text);
        assert_eq!(objects.operations[0].name, whole.operations[0].name);
        assert_eq!(objects.clusters[0].position.file.as_ref(), "1.yaml");
    }
}

fn verbs(operation: &Operation) -> Vec<Option<Verb>> {
    let verb = |effect| if let Effect::Runs(verb) = effect { Some(verb) } else { None };
    operation.invocations().map(|invocation| verb(invocation.action.effect)).collect()
}

#[test]
fn exported_objects_are_read() {
    let (objects, _) = good("exported");
    let inputs = referenced(&objects);
    // The value is base64, so that no line of it stands in the file.
    assert_eq!(inputs.hosts.as_ref().unwrap().text, "all:\n  hosts: {cp1: }\n");
    let place = inputs.hosts.as_ref().unwrap().position(2, 5).to_string();
    assert!(place.ends_with(", in hosts.yml:2:5"), "{place}");
    assert!(inputs.ssh_key.is_none());
    let operation = &objects.operations[0];
    assert!(operation.ended);
    assert_eq!(operation.active_deadline_seconds, Some(7200));
    assert_eq!(operation.implied_variables().collect::<Vec<_>>(), [("firewall", "open")]);
    assert_eq!(verbs(operation), [Some(Verb::Check), None, Some(Verb::Apply), Some(Verb::Kubeconfig), Some(Verb::Status)]);
    assert!(operation.inputs.hosts.is_none(), "the copy is not in the file");
    assert_eq!(operation.inputs.vars.as_ref().unwrap().text, "kube_version: 1.37.1\n");
    let arguments = &operation.main.arguments;
    assert_eq!((arguments.verbosity, arguments.forks), (2, Some(20)));
    let variable = arguments.variable("download_run_once").unwrap();
    assert_eq!((variable.text(), variable.untyped), (Some("true"), true));
}

#[test]
fn arguments_are_read_as_a_shell_and_ansible_read_them() {
    let (objects, _) = good("inline");
    let ClusterForm::Inline { cluster, .. } = &objects.clusters[0].form else { panic!("{objects:?}") };
    assert_eq!((cluster.name.as_str(), cluster.hosts.len()), ("bern", 1));
    let operation = &objects.operations[0];
    assert_eq!((operation.name.as_deref(), verbs(operation)), (None, vec![Some(Verb::Reset)]));
    let arguments = &operation.main.arguments;
    assert_eq!(arguments.limit.as_ref().unwrap().text, "cp1:!worker*");
    assert_eq!(arguments.private_key_file.as_ref().unwrap().text, "/auth/ssh-privatekey");
    assert_eq!(arguments.user.as_ref().unwrap().text, "ops");
    assert!(arguments.check && arguments.diff && arguments.forks.is_none());
    let choice = arguments.tasks(&["container-runtime", "etcd", "images"]).unwrap();
    assert_eq!(
        (choice.only.as_slice(), choice.skip.as_slice()),
        (["container-runtime".into(), "etcd".into()].as_slice(), ["images".into()].as_slice())
    );
    assert!(!arguments.variable("n").unwrap().untyped && arguments.variable("repo_list").is_some());
    assert!(matches!(arguments.extra_vars.last(), Some(ExtraVars::File(file)) if file.text == "more.yml"));
}

#[test]
fn places_of_arguments_are_exact() {
    let text = "apiVersion: kubeonkube.clay.io/v1alpha1
kind: ClusterOperation
metadata: {name: one}
spec:
  cluster: demo
  actionType: playbook
  action: cluster.yml
  extraArgs: -e \"a=b c='d e'\" -l node1 -e '{\"f\":{\"g\":1}}'
";
    let place = |name: &str, text: &str| read(text).unwrap().operations[0].main.arguments.variable(name).unwrap().position.to_string();
    assert_eq!(place("a", text), "all.yaml:8:20");
    assert_eq!(place("c", text), "all.yaml:8:25");
    assert_eq!(place("f", text), "all.yaml:8:49");
    let block = text.replace("extraArgs: ", "extraArgs: |\n    ");
    assert_eq!(place("f", &block), "all.yaml:9:40");
    let quoted = text.replace("-e \"a=b c='d e'\" -l node1 -e '{\"f\":{\"g\":1}}'", "\"-e a=\\u0062 -e '{f: {g: h}}'\"");
    assert_eq!(place("f", &quoted), "all.yaml:8:14, in extraArgs:1:16", "an escape has no columns of its own");
    let limit = read(text).unwrap().operations[0].main.arguments.limit.clone().unwrap();
    assert_eq!(limit.position.to_string(), "all.yaml:8:34");
}

#[test]
fn a_command_line_may_stand_alone() {
    let parse = |text: &str| Arguments::parse(&Source::file("extraArgs", text));
    let (arguments, notices) = parse("-e node=node2,node3 -e reset_nodes=false -T 30 --flush-cache").unwrap();
    let node = arguments.node().unwrap();
    assert_eq!((node.text.as_str(), node.position.to_string().as_str()), ("node2,node3", "extraArgs:1:9"));
    let messages: Vec<_> = notices.iter().map(|notice| notice.message.as_str()).collect();
    assert_eq!(messages, ["`-T` is not used", "`--flush-cache` is not used"]);
    assert_eq!(parse("-x 'y").unwrap_err().len(), 1);
    let broken = parse("-e '{a: 1,\r b: 1, a: 2}'").unwrap_err().remove(0).position.unwrap();
    assert_eq!(broken.to_string(), "extraArgs:1:5, in the value of `-e`:2:8", "a carriage return ends a line of YAML alone");
    assert_eq!(parse("").unwrap().0, Arguments::default());
}

#[test]
fn clusters_are_found_by_name() {
    let (objects, _) = good("kube_on_kube");
    assert_eq!(objects.cluster(None).unwrap().name, "berlin");
    let problem = objects.cluster(Some("berln")).unwrap_err();
    assert_eq!(problem.to_string(), "error: there is no Cluster `berln`\nbecause: the files hold berlin\n hint: did you mean `berlin`?");
    let problems = read("").unwrap_err();
    assert!(problems[0].message.contains("no object"), "{problems:?}");
}

#[test]
fn variables_of_the_command_line_are_checked_as_those_of_files() {
    let messages = |text: &str| -> Vec<String> {
        let problems = Arguments::parse(&Source::file("extraArgs", text)).err().unwrap_or_default();
        problems.into_iter().map(|problem| problem.message).collect()
    };
    for (text, expected) in [
        ("-e 'a=1 a=2'", "the variable `a` stands twice"),
        ("-e '{\"a\": 1, \"a\": 2}'", "the variable `a` stands twice"),
        ("-e '{\"a\": {\"b\": 1, \"b\": 2}}'", "`b` stands twice"),
        ("-e '{\"a\": [\"VAULT;1234\"]}'", "the value of `a` is encrypted"),
        ("-e 'ansible_password=\"VAULT;1234\"'", "the value of `ansible_password` is encrypted"),
    ] {
        assert_eq!(messages(text), [expected], "{text}");
    }
    assert_eq!(messages("-e a=1 -e a=2"), Vec::<String>::new(), "of two arguments the later one counts");
}

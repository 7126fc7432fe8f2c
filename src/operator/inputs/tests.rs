//! kube-on-kube's own objects, as the operator reads them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "these are tests")]

use super::*;

const HOSTS: &str = "all:\n  hosts:\n    node1: {ansible_host: 10.0.0.11, ip: 10.0.0.11, access_ip: 10.0.0.11, ansible_user: root}\n    node2: {ansible_host: 10.0.0.12, ip: 10.0.0.12, access_ip: 10.0.0.12, ansible_user: root}\n  children:\n    kube_control_plane: {hosts: {node1: }}\n    kube_node: {hosts: {node1: , node2: }}\n";

const KEY: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5v\nbmU=\n-----END OPENSSH PRIVATE KEY-----\n";

fn held(name: &str, key: &str, text: &str) -> HeldText {
    HeldText { namespace: "kok".to_owned(), name: name.to_owned(), key: key.to_owned(), text: text.to_owned() }
}

fn snapshot(hosts: &str, vars: &str) -> Snapshot {
    let reference = |name: &str| json!({"namespace": "kok", "name": name});
    let spec =
        json!({"hostsConfRef": reference("sample-hosts"), "varsConfRef": reference("sample-vars"), "sshAuthRef": reference("sample-key")});
    Snapshot {
        cluster: document("kubeonkube.clay.io/v1alpha1", "Cluster", "sample", &spec),
        generation: 1,
        texts: vec![held("sample-hosts", "hosts.yml", hosts), held("sample-vars", "group_vars.yml", vars)],
        files: String::new(),
        versions: String::new(),
        new_cluster_id: "0".repeat(32),
        token_id: "kokabc".to_owned(),
    }
}

fn operation(spec: Value) -> Value {
    let mut all = json!({"cluster": "sample", "image": "example/kubeonkube:v0.1", "actionType": "playbook"});
    all.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    document("kubeonkube.clay.io/v1alpha1", "ClusterOperation", "make", &all)
}

fn read_with(snapshot: &Snapshot, operation: &Value, files: &ObjectFiles) -> Result<Vec<OperationTask>, Vec<Failure>> {
    let reference = Reference { namespace: "kok".to_owned(), name: "sample-key".to_owned() };
    let key = Key { reference, bytes: KEY.as_bytes().to_vec(), resource_version: "7".to_owned() };
    tasks(Sources { snapshot, operation, key: Some(&key), files, known_hosts: Path::new("/state/known_hosts") })
}

fn read(hosts: &str, spec: Value) -> Result<Vec<OperationTask>, Vec<Failure>> {
    read_with(&snapshot(hosts, "kube_version: 1.37.1\n"), &operation(spec), &ObjectFiles::default())
}

fn wrong(hosts: &str, spec: Value) -> Failure {
    read(hosts, spec).err().unwrap().remove(0)
}

#[test]
fn the_objects_of_kube_on_kube_are_a_cluster() {
    let tasks = read(HOSTS, json!({"action": "cluster.yml"})).unwrap_or_else(|failures| panic!("{failures:?}"));
    let [OperationTask { verb, cluster, .. }] = tasks.as_slice() else { panic!("{}", tasks.len()) };
    assert_eq!((*verb, cluster.name.as_str(), cluster.hosts.len()), (Verb::Apply, "sample", 2));
    let ssh = &cluster.hosts[0].ssh;
    assert!(ssh.private_key.is_some() && ssh.host_key_checking.is_none());
    assert_eq!(ssh.known_hosts_file.as_deref(), Some("/state/known_hosts"));
}

/// A replacement that died stands beside the host whose place it was to take, and an operation takes it out; no other one may run meanwhile.
#[test]
fn one_of_too_many_control_planes_is_taken_out() {
    let host = |number: u8| format!("    node{number}: {{ansible_host: 10.0.0.1{number}, ip: 10.0.0.1{number}, ansible_user: root}}\n");
    let group = "kube_control_plane: {hosts: {node1: , node2: , node3: , node4: }}";
    let hosts = format!(
        "all:\n  hosts:\n{}  children:\n    {group}\n    kube_node: {{hosts: {{node1: }}}}\n",
        (1..=4).map(host).collect::<String>()
    );
    let removed = |node: &str| json!({"action": "remove-node.yml", "extraArgs": format!("-e node={node}")});
    let tasks = read(&hosts, removed("node4")).unwrap_or_else(|failures| panic!("{failures:?}"));
    let asked = tasks[0].input.asked(Intent { verb: Verb::Remove, dry: false }, &[]).unwrap();
    assert_eq!((asked.hosts, tasks[0].cluster.before_removal().control_planes().count()), (vec!["node4".to_owned()], 4));
    // What looks at the hosts before and after may do so.
    let hook = |action: &str| json!([{"actionType": "playbook", "action": action}]);
    let with = |place: &str, action: &str| {
        let mut spec = removed("node4");
        spec.as_object_mut().unwrap().insert(place.to_owned(), hook(action));
        spec
    };
    assert_eq!(read(&hosts, with("preHook", "ping.yml")).map(|tasks| tasks.len()).map_err(|failures| format!("{failures:?}")), Ok(2));
    assert_eq!(
        read(&hosts, with("postHook", "cluster-info.yml")).map(|tasks| tasks.len()).map_err(|failures| format!("{failures:?}")),
        Ok(2)
    );
    let patterns = [removed("node4,kube_node"), removed("node4,node?")];
    for spec in [removed("node3,node4"), removed("node9"), with("postHook", "cluster.yml"), json!({"action": "cluster.yml"})]
        .into_iter()
        .chain(patterns)
    {
        assert_eq!(wrong(&hosts, spec).what, "etcd has an even number of members: node1, node2, node3, node4");
    }
}

/// Without an inventory the key is that of the Secret, too, but for a host that says another one.
#[test]
fn a_cluster_in_the_inline_form_has_its_key_in_a_secret() {
    let host = |name: &str, last: u8| json!({"name": name, "address": format!("10.0.0.{last}"), "roles": ["control-plane", "worker"]});
    let spec = json!({
        "kubernetesVersion": "1.37.1", "hosts": [host("cp1", 11)], "sshAuthRef": {"namespace": "kok", "name": "sample-key"},
    });
    let cluster = document("kubeonkube.clay.io/v1alpha1", "Cluster", "sample", &spec);
    let inline = Snapshot { cluster, texts: Vec::new(), ..snapshot("", "") };
    let tasks = read_with(&inline, &operation(json!({"action": "cluster.yml"})), &ObjectFiles::default());
    let tasks = tasks.unwrap_or_else(|failures| panic!("{failures:?}"));
    assert_eq!(tasks[0].cluster.hosts[0].ssh.private_key.as_ref().unwrap().expose(), KEY.as_bytes());
}

#[test]
fn hooks_are_tasks_of_their_own_and_variables_of_others_count_for_all() {
    let hook = |action: &str| json!({"actionType": "playbook", "action": action});
    let spec = json!({
        "action": "cluster.yml", "extraArgs": "--limit=node2",
        "preHook": [hook("ping.yml"), hook("disable-firewalld.yml")], "postHook": [hook("cluster-info.yml")],
    });
    let tasks = read(HOSTS, spec).unwrap_or_else(|failures| panic!("{failures:?}"));
    assert_eq!(tasks.iter().map(|task| task.verb).collect::<Vec<_>>(), [Verb::Check, Verb::Apply, Verb::Status]);
    assert_eq!(tasks.iter().map(|task| (task.place, task.is_main)).collect::<Vec<_>>(), [(0, false), (2, true), (3, false)]);
    let limits = tasks.iter().map(|task| task.input.operations[0].main.arguments.limit.is_some()).collect::<Vec<_>>();
    assert_eq!(limits, [false, true, false]);
    assert!(tasks.iter().all(|task| task.input.operations[0].pre_hooks.len() == 1), "the one that sets a variable");
}

#[test]
fn what_is_wrong_is_said_at_its_place_in_the_object() {
    let broken = wrong(&HOSTS.replace("10.0.0.12, ip", "10.0.0.12, ansible_port: none, ip"), json!({"action": "cluster.yml"}));
    let at = broken.at.clone().unwrap_or_default();
    assert!(at.starts_with("ConfigMap kok/sample-hosts (hosts.yml):4:"), "{at} {broken:?}");
    let unknown = wrong(HOSTS, json!({"action": "clutser.yml"}));
    assert_eq!(unknown.at.as_deref(), Some("ClusterOperation make: spec.action"));
    let shell = json!({"action": "cluster.yml", "preHook": [{"actionType": "shell", "action": "true"}]});
    assert_eq!(wrong(HOSTS, shell).at.as_deref(), Some("ClusterOperation make: spec.preHook[0].action"));
}

#[test]
fn no_file_of_the_operators_machine_is_read() {
    let with = |path: &str| HOSTS.replace("ansible_user: root", &format!("ansible_user: root, ansible_ssh_private_key_file: {path}"));
    let refused = wrong(&with("/root/.ssh/id_rsa"), json!({"action": "cluster.yml"}));
    assert_eq!(refused.what, "the private key for node1 is in no object");
    assert!(read(&with("/auth/ssh-privatekey"), json!({"action": "cluster.yml"})).is_ok(), "that is the key of sshAuthRef");
    let files = ObjectFiles([("id".to_owned(), b"other".to_vec())].into());
    let tasks = read_with(&snapshot(&with("id"), ""), &operation(json!({"action": "cluster.yml"})), &files).unwrap();
    assert_eq!(tasks[0].cluster.hosts[0].ssh.private_key.as_ref().unwrap().expose(), b"other");
}

/// As resources and addons have theirs.
#[test]
fn the_script_of_a_hook_is_a_key() {
    let host = json!({"name": "cp1", "address": "10.0.0.11", "roles": ["control-plane", "worker"]});
    let hook = json!({"name": "register", "at": "afterJoin", "source": "hooks/register.sh"});
    let spec =
        json!({"kubernetesVersion": "1.37.1", "hosts": [host], "hooks": [hook], "sshAuthRef": {"namespace": "kok", "name": "sample-key"}});
    let cluster = document("kubeonkube.clay.io/v1alpha1", "Cluster", "sample", &spec);
    let inline = Snapshot { cluster, texts: Vec::new(), ..snapshot("", "") };
    let read = |files: &[(&str, &str)]| {
        let files = files.iter().map(|(key, text)| ((*key).to_owned(), text.as_bytes().to_vec())).collect();
        read_with(&inline, &operation(json!({"action": "cluster.yml"})), &ObjectFiles(files))
    };
    let tasks = read(&[("hooks__register.sh", "echo here\n")]).unwrap_or_else(|failures| panic!("{failures:?}"));
    let [hook] = tasks[0].cluster.hooks.as_slice() else { panic!("{:?}", tasks[0].cluster.hooks) };
    let kok_crds::model::Content::Source(file) = &hook.script else { panic!("{hook:?}") };
    assert_eq!(file.text.as_ref().map(kok_crds::model::Text::expose), Some("echo here\n"));
    let refused = read(&[]).err().unwrap().remove(0);
    assert!(refused.because.as_ref().unwrap().contains("has a key `hooks__register.sh`"), "{refused:?}");
}

#[test]
fn a_snapshot_comes_back_as_it_was_and_has_no_key() {
    let before = snapshot(HOSTS, "a: b\n");
    let bytes = before.packed().unwrap();
    assert!(Snapshot::unpacked(&bytes).unwrap() == before);
    assert!(Snapshot::unpacked(b"none").is_err());
    let files = |text: &str| ObjectFiles([("a.yaml".to_owned(), text.as_bytes().to_vec())].into());
    let begun = Snapshot::unpacked(&before.with_files(&files("a: 1")).packed().unwrap()).unwrap();
    assert!(begun.is_of(&files("a: 1")) && !begun.is_of(&files("a: 2")) && !begun.is_of(&ObjectFiles::default()));
    let long: String = (0..400_000_u64).map(|number| format!("{:x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    assert!(snapshot(HOSTS, &long).packed().is_err());
}

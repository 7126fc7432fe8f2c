//! `-f vagrant`: machines of Vagrant as hosts, by Debian's own Vagrant. A provider in `tests/lab/vagrant` hands out hosts of the lab; keys, provisioners,
//! triggers and `vagrant ssh-config` are Vagrant's. No virtual machine is started.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::cluster_support::clock::Clock;
use crate::cluster_support::kokctl::{Kokctl, KokctlOutput, bundle, program, program_of};
use crate::cluster_support::{hosts, ok};
use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, HostSpec, Lab, LabSpec};

/// The machines that the Vagrantfile makes with WORKERS=1.
const MACHINES: [&str; 2] = ["control-plane-1", "worker-1"];
/// The words for its boxes.
const BOXES: [&str; 6] = ["debian-12", "debian-13", "ubuntu-24.04", "ubuntu-26.04", "rocky-9", "rocky-10"];

/// What makes a host of the lab like a machine out of a box: the user, with the key that everybody knows until Vagrant replaces it.
const LIKE_A_BOX: &str = "set -e
useradd --create-home --shell /bin/bash vagrant
echo 'vagrant ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/vagrant
chmod 0440 /etc/sudoers.d/vagrant
mkdir -m 0700 /home/vagrant/.ssh
cat >/home/vagrant/.ssh/authorized_keys
chown -R vagrant: /home/vagrant/.ssh";

/// Gives a host another key than the one that was noted.
const ANOTHER_KEY: &str =
    "sudo rm /etc/ssh/ssh_host_*; sudo ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key; sudo systemctl restart ssh";

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn output_of(command: &mut Command) -> KokctlOutput {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    KokctlOutput { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Vagrant's own folders are the test's.
fn of_test<'c>(command: &'c mut Command, folder: &Path) -> &'c mut Command {
    command.env("VAGRANT_HOME", folder.join("home")).env("VAGRANT_DOTFILE_PATH", folder.join("dot"));
    command.env("VAGRANT_CHECKPOINT_DISABLE", "1").current_dir(folder);
    for variable in ["CONTROL_PLANES", "WORKERS", "BOX", "MEMORY", "CPUS", "NETWORK", "VAGRANT_CWD", "VAGRANT_VAGRANTFILE"] {
        command.env_remove(variable);
    }
    command
}

/// A lab whose hosts are machines of Vagrant.
struct Machines<'a> {
    lab: &'a Lab,
    kokctl: Kokctl<'a>,
}

impl<'a> Machines<'a> {
    fn new(lab: &'a Lab) -> Self {
        let machines = Self { lab, kokctl: Kokctl::new(lab) };
        let (folder, vagrant) = (machines.folder(), machines.folder().join("vagrant"));
        fs::create_dir(&vagrant).unwrap();
        fs::create_dir(folder.join("home")).unwrap();
        fs::copy(project().join("vagrant/Vagrantfile"), vagrant.join("Vagrantfile")).unwrap();
        let provider = project().join("tests/lab/vagrant/provider.rb");
        fs::write(folder.join("home/Vagrantfile"), format!("require {}\n", json!(provider))).unwrap();
        let listed: serde_json::Map<String, Value> =
            hosts(lab).iter().map(|host| (host.name().to_owned(), json!({"host": host.address(), "port": 22}))).collect();
        fs::write(folder.join("machines.json"), Value::Object(listed).to_string()).unwrap();
        // As VirtualBox gives itself an address in the network of its machines.
        let added = lab.command("ip").unwrap().args(["address", "add", "192.168.56.1/24", "dev", "lab0"]).status().unwrap();
        assert!(added.success());
        machines
    }

    fn folder(&self) -> &Path {
        self.kokctl.folder()
    }

    fn env<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let command = of_test(command, self.folder()).env("VAGRANT_DEFAULT_PROVIDER", "lab").env("WORKERS", "1");
        command.env("LAB_MACHINES", self.folder().join("machines.json"))
    }

    /// Vagrant in the lab's network.
    fn vagrant(&self, arguments: &[&str]) -> KokctlOutput {
        let mut command = self.lab.command("vagrant").unwrap();
        let said = output_of(self.env(command.args(arguments)).current_dir(self.folder().join("vagrant")));
        self.kokctl.note(&said.stdout);
        self.kokctl.note(&said.stderr);
        said
    }

    fn kokctl_with(&self, variable: (&str, &str), arguments: &[&str]) -> KokctlOutput {
        let mut command = self.kokctl.command(arguments);
        output_of(self.env(&mut command).env(variable.0, variable.1))
    }

    fn kokctl(&self, arguments: &[&str]) -> KokctlOutput {
        self.kokctl_with(("KOKCTL_BUNDLE", bundle().to_str().unwrap()), arguments)
    }

    /// A run that succeeds.
    fn does(&self, arguments: &[&str]) -> String {
        let said = self.kokctl(arguments);
        assert_eq!(said.code, 0, "{arguments:?}: {}\n{}", said.stdout, said.stderr);
        said.stdout
    }

    /// The cluster as the lab has it, but for its hosts.
    fn write_cluster(&self) {
        let text = self.lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
        let (head, rest) = text.split_once("  ssh:\n").unwrap();
        let (_, tail) = rest.split_once("  network:\n").unwrap();
        let labels = "  hosts:\n    - {name: worker-1, labels: {from: cluster.yaml}}\n";
        fs::write(self.folder().join("vagrant/cluster.yaml"), format!("{head}{labels}  network:\n{tail}")).unwrap();
    }

    fn noted(&self, name: &str) -> PathBuf {
        self.folder().join(format!("dot/machines/{name}/lab/kokctl.json"))
    }
}

#[test]
fn the_machines_of_a_vagrantfile_become_a_cluster() {
    let spec = LabSpec { hosts: MACHINES.map(HostSpec::new).to_vec(), ..LabSpec::unique(1) };
    let lab = Lab::up(spec).unwrap_or_else(|error| panic!("{error}"));
    let machines = Machines::new(&lab);
    machines.write_cluster();
    let mut clock = Clock::start();
    what_is_not_up_is_named(&machines);
    clock.lap("before `vagrant up`");
    come_up(&machines);
    clock.lap("vagrant up");
    machines.does(&["apply", "-f", "vagrant"]);
    clock.lap("apply");
    is_a_cluster(&machines);
    assert_eq!(machines.does(&["apply", "-f", "vagrant/Vagrantfile"]), "nothing to do\n");
    machines.does(&["status", "-f", "vagrant"]);
    clock.lap("apply again");
    variables_do_for_a_cluster_file(&machines);
    a_machine_is_missed(&machines);
    clock.lap("other lists");
    another_key_is_refused(&machines);
    clock.lap("another key");
    machines.does(&["reset", "-f", "vagrant", "--yes"]);
    assert_eq!(machines.vagrant(&["destroy", "-f"]).code, 0);
    assert!(MACHINES.iter().all(|name| !machines.noted(name).exists()), "it goes with the machine");
    clock.lap("reset, and `vagrant destroy`");
}

fn what_is_not_up_is_named(machines: &Machines<'_>) {
    let resting = machines.kokctl(&["apply", "-f", "vagrant"]);
    assert_eq!(resting.code, 2, "{}", resting.stderr);
    for part in ["control-plane-1 (not_created), worker-1 (not_created)", "vagrant up", "vagrant\n"] {
        assert!(resting.stderr.contains(part), "{part}: {}", resting.stderr);
    }
    let mut without = machines.lab.command("env").unwrap();
    let missing = output_of(machines.env(without.arg("PATH=/nonexistent").arg(program()).args(["validate", "-f", "vagrant"])));
    assert!(missing.code == 2 && missing.stderr.contains("install Vagrant"), "{}", missing.stderr);
}

/// `vagrant up` as after a download of boxes: with its own keys in place of those that everybody knows, on both ends.
fn come_up(machines: &Machines<'_>) {
    let before: Vec<String> = hosts(machines.lab)
        .iter()
        .map(|host| {
            let mut command = host.ssh_command("root", LIKE_A_BOX).unwrap();
            let key = fs::File::open(insecure_key()).unwrap();
            assert!(command.stdin(key).status().unwrap().success());
            ok(host, "cat /etc/ssh/ssh_host_ed25519_key.pub")
        })
        .collect();
    let up = machines.vagrant(&["up"]);
    assert_eq!(up.code, 0, "{}\n{}", up.stdout, up.stderr);
    for (name, before) in MACHINES.iter().zip(before) {
        let noted: Value = serde_json::from_str(&fs::read_to_string(machines.noted(name)).unwrap()).unwrap();
        let shown = machines.vagrant(&[
            "ssh",
            name,
            "-c",
            "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub; cat /etc/ssh/ssh_host_ed25519_key.pub",
        ]);
        assert!(shown.stdout.contains(noted["hostKey"].as_str().unwrap()), "{noted}: {}", shown.stdout);
        assert!(!shown.stdout.contains(before.split_whitespace().nth(1).unwrap()), "the box's key is not the machine's");
    }
    let again = machines.vagrant(&["provision"]);
    assert_eq!(again.code, 0, "the keys stay: {}\n{}", again.stdout, again.stderr);
}

/// The public half of the key that boxes let in.
fn insecure_key() -> PathBuf {
    let files = Command::new("dpkg").args(["-L", "vagrant"]).output().unwrap();
    let files = String::from_utf8(files.stdout).unwrap();
    files.lines().find(|line| line.ends_with("/keys/vagrant.pub")).map(PathBuf::from).expect("Debian's vagrant has the key")
}

/// What kubectl of this machine says, by the kubeconfig that kokctl prints.
fn kubectl(machines: &Machines<'_>, arguments: &[&str]) -> Value {
    let config = machines.folder().join("admin.conf");
    fs::write(&config, machines.does(&["kubeconfig", "-f", "vagrant"])).unwrap();
    let mut command = machines.lab.command(program_of(&bundle(), "kubectl")).unwrap();
    let said = output_of(command.arg("--kubeconfig").arg(config).args(arguments).args(["-o", "json"]));
    assert_eq!(said.code, 0, "{}", said.stderr);
    serde_json::from_str(&said.stdout).unwrap()
}

fn is_a_cluster(machines: &Machines<'_>) {
    let nodes = kubectl(machines, &["get", "nodes"]);
    let of_node = |node: &Value| {
        let find = |list: &Value, kind: &str, value: &str| {
            list.as_array().unwrap().iter().find(|item| item["type"] == kind).map(|item| item[value].as_str().unwrap().to_owned()).unwrap()
        };
        let name = node["metadata"]["name"].as_str().unwrap().to_owned();
        let label = node["metadata"]["labels"]["from"].as_str().map(str::to_owned);
        (name, find(&node["status"]["addresses"], "InternalIP", "address"), find(&node["status"]["conditions"], "Ready", "status"), label)
    };
    let found: Vec<_> = nodes["items"].as_array().unwrap().iter().map(of_node).collect();
    // The network of the machines, and not the one by which SSH reaches them.
    let node =
        |name: &str, address: &str, label: Option<&str>| (name.to_owned(), address.to_owned(), "True".to_owned(), label.map(str::to_owned));
    assert_eq!(found, [node(MACHINES[0], "192.168.56.11", None), node(MACHINES[1], "192.168.56.101", Some("cluster.yaml"))]);
}

/// Without a Cluster beside the Vagrantfile, the folder names the cluster, and `-e` and `group_vars` say the rest.
fn variables_do_for_a_cluster_file(machines: &Machines<'_>) {
    let vagrant = machines.folder().join("vagrant");
    fs::rename(vagrant.join("cluster.yaml"), machines.folder().join("aside.yaml")).unwrap();
    fs::create_dir(vagrant.join("group_vars")).unwrap();
    fs::write(vagrant.join("group_vars/all.yml"), "kube_proxy_mode: iptables\n").unwrap();
    let text = machines.does(&["validate", "-f", "vagrant", "-e", "kube_network_plugin=flannel", "--json"]);
    let shown: Value = serde_json::from_str(&text).unwrap();
    let cluster = shown["cluster"].to_string();
    for part in ["\"vagrant\"", "192.168.56.11", "192.168.56.101", "worker-1"] {
        assert!(cluster.contains(part), "{part}: {cluster}");
    }
    let said = machines.does(&["convert", "-f", "vagrant", "-e", "kube_network_plugin=flannel"]);
    for part in ["hostKey: \"SHA256:", "bastion: none", "kube_proxy_mode: iptables", "plugin: flannel"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    fs::remove_dir_all(vagrant.join("group_vars")).unwrap();
    fs::rename(machines.folder().join("aside.yaml"), vagrant.join("cluster.yaml")).unwrap();
}

/// One that the variables leave out, and one that was switched off.
fn a_machine_is_missed(machines: &Machines<'_>) {
    let said = machines.kokctl_with(("WORKERS", "0"), &["plan", "-f", "vagrant"]);
    assert!(said.code == 2 && said.stderr.contains("`worker-1` is there") && said.stderr.contains("WORKERS"), "{}", said.stderr);
    assert_eq!(machines.vagrant(&["halt", "worker-1"]).code, 0);
    let said = machines.kokctl(&["status", "-f", "vagrant"]);
    assert!(said.code == 2 && said.stderr.contains("not every machine is up: worker-1 (poweroff)"), "{}", said.stderr);
    assert_eq!(machines.vagrant(&["up"]).code, 0);
}

/// Neither kokctl nor the Vagrantfile takes a key that was not noted, until somebody says so.
fn another_key_is_refused(machines: &Machines<'_>) {
    assert_eq!(machines.vagrant(&["ssh", "worker-1", "-c", ANOTHER_KEY]).code, 0);
    let refused = machines.kokctl(&["plan", "-f", "vagrant"]);
    assert!(refused.code != 0 && refused.stderr.contains("worker-1") && refused.stderr.contains("host key"), "{}", refused.stderr);
    let up = machines.vagrant(&["up"]);
    assert!(up.code != 0 && up.stderr.contains("another host key than before"), "{}\n{}", up.stdout, up.stderr);
    fs::remove_file(machines.noted("worker-1")).unwrap();
    let unknown = machines.kokctl(&["plan", "-f", "vagrant"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("address of the machine `worker-1`"), "{}", unknown.stderr);
    assert_eq!(machines.vagrant(&["up"]).code, 0);
    assert_eq!(machines.does(&["apply", "-f", "vagrant"]), "nothing to do\n");
}

/// For each box, and each of the two providers, whose plugins judge what is theirs. VirtualBox itself is not here: its program only says its version.
#[test]
fn the_vagrantfile_is_valid() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("home")).unwrap();
    let program = folder.path().join("VBoxManage");
    fs::write(&program, "#!/bin/sh\necho 7.0.20r163906\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let validated = |variables: &[(&str, &str)]| {
        let mut command = Command::new("unshare");
        command.args(["--net", "vagrant", "validate"]).env("PATH", &path);
        let command = of_test(&mut command, folder.path()).current_dir(project().join("vagrant"));
        output_of(command.envs(variables.iter().copied()))
    };
    for name in BOXES {
        for provider in ["virtualbox", "libvirt"] {
            let said = validated(&[("BOX", name), ("VAGRANT_DEFAULT_PROVIDER", provider), ("WORKERS", "1")]);
            assert!(said.code == 0 && said.stdout.contains("validated successfully"), "{name}, {provider}: {}", said.stderr);
        }
    }
    assert_eq!(validated(&[("BOX", "me/my-box"), ("CONTROL_PLANES", "3"), ("WORKERS", "0"), ("NETWORK", "10.9.8")]).code, 0);
    let wrong =
        [("BOX", "debian-11"), ("WORKERS", "-1"), ("CONTROL_PLANES", "0"), ("MEMORY", "2G"), ("CPUS", "0"), ("NETWORK", "10.9.8.7")];
    for (variable, value) in wrong {
        let said = validated(&[(variable, value)]);
        assert!(said.code != 0 && said.stderr.starts_with(&format!("error: {variable} cannot be")), "{variable}: {}", said.stderr);
    }
}

//! The objects of kube-on-kube for a lab, as its users keep them: an inventory and variables of Kubespray in ConfigMaps, a Secret with the login,
//! a Cluster that names the three, and an operation.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use kok_tests::lab::{DEFAULT_KUBERNETES_VERSION, Host, Lab};

use super::nodes::{LABELLED, TAINTED};
use crate::cluster_support::hosts;
use crate::cluster_support::kokctl::Kokctl;

/// What goes with every object.
const OBJECTS: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: hosts-conf, namespace: kubeonkube}
data:
  hosts.yml: |
    @HOSTS
---
apiVersion: v1
kind: ConfigMap
metadata: {name: vars-conf, namespace: kubeonkube}
data:
  group_vars.yml: |
    @VARIABLES
---
apiVersion: v1
kind: Secret
metadata: {name: ssh-auth, namespace: kubeonkube}
type: kubernetes.io/ssh-auth
stringData:
  ssh-privatekey: |
    @KEY
---
apiVersion: kubeonkube.clay.io/v1alpha1
kind: Cluster
metadata: {name: @NAME}
spec:
  hostsConfRef: {name: hosts-conf, namespace: kubeonkube}
  varsConfRef: {name: vars-conf, namespace: kubeonkube}
  sshAuthRef: {name: ssh-auth, namespace: kubeonkube}
---
apiVersion: kubeonkube.clay.io/v1alpha1
kind: ClusterOperation
metadata: {name: operation}
spec:
  cluster: @NAME
  image: registry.example/kubeonkube:v0.1
  actionType: playbook
  action: @PLAYBOOK
";

/// Every host is all that a host can be, as in Kubespray's own sample.
const GROUPS: &str = "  children:
    kube_control_plane: {hosts: *all}
    etcd: {hosts: *all}
    kube_node: {hosts: *all}
    k8s_cluster: {children: {kube_control_plane: , kube_node: }}
";

/// Writes the objects, with an operation for this playbook, as the manifest. It holds a key, so it is for nobody else to read.
pub fn write(lab: &Lab, kokctl: &Kokctl<'_>, playbook: &str) {
    write_with(lab, kokctl, playbook, GROUPS);
}

/// The same where control planes and workers are as the lab has them.
pub fn write_apart(lab: &Lab, kokctl: &Kokctl<'_>, playbook: &str) {
    let all = hosts(lab);
    let group = |of: fn(&&Host) -> bool| all.iter().filter(of).map(|host| format!("{}: ", host.name())).collect::<Vec<_>>().join(", ");
    let (planes, workers) = (group(|host| host.name().starts_with("cp")), group(|host| host.name().starts_with("worker")));
    let groups = format!(
        "  children:\n    kube_control_plane: {{hosts: {{{planes}}}}}\n    etcd: {{hosts: {{{planes}}}}}\n    kube_node: {{hosts: {{{workers}}}}}\n    \
         k8s_cluster: {{children: {{kube_control_plane: , kube_node: }}}}\n"
    );
    write_with(lab, kokctl, playbook, &groups);
}

fn write_with(lab: &Lab, kokctl: &Kokctl<'_>, playbook: &str, groups: &str) {
    let key = fs::read_to_string(lab.private_key_path()).unwrap();
    let inventory = format!("all:\n  hosts: &all\n{}{groups}", hosts(lab).iter().map(host).collect::<String>());
    let texts = [("@HOSTS", inventory), ("@VARIABLES", variables(lab)), ("@KEY", key)];
    let objects = texts.iter().fold(OBJECTS.to_owned(), |objects, (place, text)| objects.replace(place, &indented(text)));
    kokctl.write_manifest(&objects.replace("@NAME", lab.name()).replace("@PLAYBOOK", playbook));
    fs::set_permissions(kokctl.manifest(), fs::Permissions::from_mode(0o600)).unwrap();
}

/// The lines of the key that stands in the Secret.
pub fn lines_of_the_login(lab: &Lab) -> Vec<String> {
    let key = fs::read_to_string(lab.private_key_path()).unwrap();
    key.lines().filter(|line| line.len() >= 32 && !line.starts_with('-')).map(str::to_owned).collect()
}

fn host(host: &Host) -> String {
    let (name, address) = (host.name(), host.address());
    let own = match name {
        LABELLED => "      node_labels: {example.com/zone: north}\n",
        TAINTED => "      node_taints: [\"example.com/dedicated=store:NoSchedule\"]\n",
        _ => "",
    };
    format!("    {name}:\n      ansible_host: {address}\n      ip: {address}\n      access_ip: {address}\n      ansible_user: root\n{own}")
}

/// What a user of Kubespray writes, and what this machine needs, which the lab's own file says.
fn variables(lab: &Lab) -> String {
    let own = lab.inventory(DEFAULT_KUBERNETES_VERSION).unwrap();
    let (_, of_machine) = own.split_once("\n  vars:\n").unwrap();
    let of_machine: String = of_machine.lines().map(|line| format!("{}\n", line.trim_start())).collect();
    format!(
        "container_manager: containerd\nkube_network_plugin: flannel\nkube_version: v{DEFAULT_KUBERNETES_VERSION}\netcd_deployment_type: host\n\
         kube_proxy_mode: nftables\n{of_machine}"
    )
}

/// As it stands in a block of YAML.
fn indented(text: &str) -> String {
    text.trim_end().replace('\n', "\n    ")
}

//! What is read, and what is said where nothing can be read.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod authorities;
mod doors;
mod escrow;
mod folders;
mod issued;
mod resources;

use super::{ClusterFiles, ExtraVars};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::cli::exposed;

const HOSTS: &str = "all: {children: {kube_control_plane: {hosts: {cp1: {ip: 10.0.0.11}}}, kube_node: {hosts: {w1: {ip: 10.0.0.12}}}}}\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let cluster = folder.path().join("berlin");
    fs::create_dir_all(cluster.join("group_vars/all")).unwrap();
    fs::create_dir(cluster.join("host_vars")).unwrap();
    fs::write(cluster.join("hosts.yaml"), HOSTS).unwrap();
    fs::write(cluster.join("group_vars/all/net.yml"), "kube_network_plugin: flannel\nkube_proxy_mode: iptables\n").unwrap();
    fs::write(cluster.join("host_vars/w1.yml"), "ansible_host: 192.0.2.12\n").unwrap();
    folder
}

fn read(path: std::path::PathBuf, extra: &[&str]) -> kok_crds::model::Cluster {
    let extra = ExtraVars { extra: extra.iter().map(|text| (*text).to_owned()).collect(), ..ExtraVars::default() };
    ClusterFiles { files: vec![path], ..Default::default() }.read(&extra).unwrap()
}

#[test]
fn a_folder_and_its_inventory_are_the_same() {
    let folder = folder();
    let path = folder.path().join("berlin");
    let cluster = read(path.clone(), &[]);
    assert_eq!((cluster.name.as_str(), cluster.settings.kube_proxy_mode.as_str()), ("berlin", "iptables"));
    assert_eq!(cluster.host("w1").unwrap().ssh.address.as_deref(), Some("192.0.2.12"));
    assert_eq!(read(path.join("hosts.yaml"), &[]), cluster);
}

/// Passwords are warned of, and a key is refused, where the file's mode lets others read it.
#[test]
fn secrets_that_others_may_read_are_not_passed_over() {
    let folder = folder();
    let path = folder.path().join("berlin/host_vars/w1.yml");
    fs::write(&path, "ansible_host: 192.0.2.12\nansible_become_password: sesame\nansible_password: sesame\n").unwrap();
    let warned = |mode: u32| {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        exposed::passwords(&read(folder.path().join("berlin"), &[]))
    };
    assert_eq!(warned(0o600), []);
    let [warning] = <[_; 1]>::try_from(warned(0o640)).unwrap();
    assert!(warning.at.as_deref().unwrap().ends_with("host_vars/w1.yml:2:26"), "{warning:?}");
    let said = warning.as_warning();
    assert!(said.contains("0640") && said.contains("chmod 600") && !said.contains("sesame"), "{said}");
}

/// The Secret lies in a file of its own beside the Cluster, as it may: only that one has to be private.
#[test]
fn a_file_with_a_private_key_is_judged_as_ssh_judges_a_key() {
    let whole = include_str!("../../../tests/corpus/good/kube-on-kube-readme/cluster.yaml");
    let is_secret = |document: &&str| document.contains("kind: Secret");
    let (secret, others): (Vec<&str>, Vec<&str>) = whole.split("---\n").partition(is_secret);
    let folder = tempfile::tempdir().unwrap();
    let (key, cluster) = (folder.path().join("key.yaml"), folder.path().join("cluster.yaml"));
    fs::write(&key, secret.join("---\n")).unwrap();
    // A word in a comment makes no key of it.
    fs::write(&cluster, format!("# ssh-privatekey is elsewhere\n{}", others.join("---\n"))).unwrap();
    fs::set_permissions(&cluster, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = |mode: u32| {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        let files = ClusterFiles { files: vec![cluster.clone(), key.clone()], ..Default::default() };
        files.read(&ExtraVars::default()).err().unwrap_or_default()
    };
    assert_eq!(refused(0o600), []);
    for mode in [0o644, 0o610, 0o602] {
        let [failure] = <[_; 1]>::try_from(refused(mode)).unwrap();
        assert!(failure.at.as_deref().unwrap().contains("key.yaml:8:"), "{failure}");
        assert!(failure.because.as_deref().unwrap().contains(&format!("{mode:04o}")), "{failure}");
        assert_eq!(failure.hint, Some(format!("chmod 600 {}", key.display())));
    }
    // What another user has mounted there, as a Secret is into a pod, is that user's affair.
    if rustix::process::getuid().is_root() {
        std::os::unix::fs::chown(&key, Some(65534), None).unwrap();
        assert_eq!(refused(0o644), []);
    }
}

/// As Kubespray's documentation has it.
#[test]
fn a_bastion_may_be_called_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inventory.ini");
    let hosts = "cp1 ansible_host=10.0.0.11\nbastion ansible_host=192.0.2.1 ansible_user=jump\n";
    fs::write(&path, format!("{hosts}[kube_control_plane]\ncp1\n[bastion]\nbastion\n")).unwrap();
    let cluster = read(path, &["kube_network_plugin=flannel"]);
    assert_eq!(cluster.hosts.len(), 1);
    let Some(kok_crds::model::Via::Bastion(bastion)) = &cluster.hosts[0].ssh.via else { panic!("{:?}", cluster.hosts[0].ssh.via) };
    assert_eq!((bastion.address.as_str(), bastion.ssh.user.as_deref()), ("192.0.2.1", Some("jump")));
}

#[test]
fn extra_variables_win_and_come_from_files_too() {
    let folder = folder();
    let file = folder.path().join("extra.yml");
    fs::write(&file, "kube_proxy_mode: nftables\n").unwrap();
    let from_file = format!("@{}", file.display());
    let mode = |extra: &[&str]| read(folder.path().join("berlin"), extra).settings.kube_proxy_mode.as_str();
    assert_eq!(mode(&[&from_file]), "nftables");
    assert_eq!(mode(&[&from_file, "kube_proxy_mode=iptables"]), "iptables");
}

/// A place in one of them is none in another: what is said of the one would be taken for said of both.
#[test]
fn several_extra_variables_have_names_of_their_own() {
    let folder = folder();
    let extra = ["kube_proxy_mode=userspace", "cert_management=none"].map(str::to_owned).to_vec();
    let input = ClusterFiles { files: vec![folder.path().join("berlin")], ..Default::default() }
        .input(&ExtraVars { extra, ..ExtraVars::default() })
        .unwrap();
    let said: Vec<String> = input.problems.iter().filter_map(|problem| problem.position.as_ref()).map(ToString::to_string).collect();
    assert_eq!(said, ["-e no. 1:1:17", "-e no. 2:1:17"]);
    let files = ClusterFiles { files: vec!["a.yaml".into()], ..Default::default() };
    assert_eq!(files.options(&ExtraVars { extra: vec!["ansible_password=sesame".to_owned()], ..ExtraVars::default() }), "-f a.yaml -e …");
    assert_eq!(files.options(&ExtraVars::default()), "-f a.yaml");
}

const CLUSTER: &str = "apiVersion: kubean.io/v1alpha1\nkind: Cluster\nmetadata: {name: bern}\nspec:\n  kubernetesVersion: 1.37.1\n  hosts: [{name: cp1, address: 192.0.2.11, roles: [control-plane]}]\n";

fn refused(path: &std::path::Path, extra: &[&str]) -> crate::failure::Failure {
    let extra = ExtraVars { extra: extra.iter().map(|text| (*text).to_owned()).collect(), ..ExtraVars::default() };
    ClusterFiles { files: vec![path.to_owned()], ..Default::default() }.input(&extra).err().unwrap().remove(0)
}

#[test]
fn what_is_no_utf_8_is_told_how_to_become_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cluster.yaml");
    let wide: Vec<u8> = CLUSTER.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for bytes in [[b"\xff\xfe".to_vec(), wide.clone()].concat(), wide] {
        fs::write(&path, bytes).unwrap();
        let failure = refused(&path, &[]);
        assert!(failure.because.unwrap().contains("UTF-16") && failure.hint.unwrap().contains("iconv -f UTF-16"));
        assert_eq!(failure.at.unwrap(), path.display().to_string());
    }
    fs::write(&path, b"# caf\xe9\n").unwrap();
    assert!(refused(&path, &[]).because.unwrap().contains("line 1"));
}

/// A folder of variables that is passed over leaves a cluster that is valid and another one.
#[test]
fn variables_that_cannot_be_read_are_not_passed_over() {
    use std::os::unix::fs::symlink;
    let refused_with = |make: &dyn Fn(&std::path::Path)| {
        let folder = folder();
        let cluster = folder.path().join("berlin");
        make(&cluster);
        let failure = refused(&cluster, &[]);
        let at = failure.at.unwrap();
        (failure.what, at.strip_prefix(&format!("{}/", cluster.display())).unwrap().to_owned(), failure.because.unwrap())
    };
    let vars = |cluster: &std::path::Path| fs::remove_dir_all(cluster.join("group_vars")).unwrap();
    let of_file = |said: &(String, String, String)| (said.0 == "a file beside the inventory can't be read").then(|| said.1.clone());
    let said = refused_with(&|cluster| {
        vars(cluster);
        fs::write(cluster.join("group_vars"), "a: b\n").unwrap();
    });
    assert!(said.0 == "the folder can't be read" && said.1 == "group_vars" && said.2.contains("Not a directory"), "{said:?}");
    let said = refused_with(&|cluster| {
        vars(cluster);
        symlink("elsewhere", cluster.join("group_vars")).unwrap();
    });
    assert!(said.1 == "group_vars" && said.2.contains("No such file"), "{said:?}");
    let said = refused_with(&|cluster| symlink("elsewhere", cluster.join("group_vars/all.yml")).unwrap());
    assert_eq!(of_file(&said).as_deref(), Some("group_vars/all.yml"), "{said:?}");
    let said = refused_with(&|cluster| symlink("all.yml", cluster.join("group_vars/all.yml")).unwrap());
    assert!(of_file(&said).is_some() && said.2.contains("symbolic links"), "{said:?}");
    let said = refused_with(&|cluster| symlink(".", cluster.join("group_vars/all/again")).unwrap());
    assert!(of_file(&said).is_some() && said.2.contains("folders deep"), "{said:?}");
    let said = refused_with(&|cluster| {
        rustix::fs::mknodat(rustix::fs::CWD, cluster.join("host_vars/cp1.yml"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    });
    assert!(of_file(&said).is_some() && said.2.contains("a pipe"), "{said:?}");
}

/// An editor's lock on a file is a link to nowhere.
#[test]
fn what_ansible_passes_over_may_be_anything() {
    let folder = folder();
    let cluster = folder.path().join("berlin");
    std::os::unix::fs::symlink("me@here.1", cluster.join("group_vars/all/.#net.yml")).unwrap();
    fs::write(cluster.join("group_vars/all/net.yml~"), b"\xff").unwrap();
    assert_eq!(read(cluster, &[]).settings.kube_proxy_mode.as_str(), "iptables");
}

#[test]
fn a_file_of_variables_that_is_not_there_is_told_as_one() {
    let folder = folder();
    let failure = refused(&folder.path().join("berlin"), &["@nowhere.yml"]);
    assert_eq!((failure.what.as_str(), failure.at.as_deref()), ("the file of -e can't be read", Some("nowhere.yml")));
    assert!(failure.hint.unwrap().contains("-e @FILE"));
}

#[test]
fn standard_input_is_read_once() {
    let files = ClusterFiles { files: vec!["-".into(), "-".into()], ..Default::default() };
    let failure = files.input(&ExtraVars::default()).err().unwrap().remove(0);
    assert!(failure.because.unwrap().contains("once"));
}

#[test]
fn what_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let files = ClusterFiles { files: vec![folder.path().to_owned()], ..Default::default() };
    let failures = files.read(&ExtraVars::default()).unwrap_err();
    assert!(failures.first().unwrap().because.as_deref().unwrap().contains("hosts.yaml"), "{failures:?}");
}

/// Reads a cluster in a folder of its own, with these addons and these files.
fn with_addons(addons: &str, files: &[(&str, &str)]) -> Result<kok_crds::model::Cluster, Vec<crate::failure::Failure>> {
    let folder = tempfile::tempdir().unwrap();
    let head = "apiVersion: kubeonkube.clay.io/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec:\n  kubernetesVersion: 1.37.1\n";
    let text = format!("{head}  hosts: [{{name: cp1, address: 10.0.0.11, roles: [control-plane]}}]\n{addons}\n");
    std::fs::create_dir(folder.path().join("below")).unwrap();
    for (name, text) in [("c.yaml", text.as_str())].iter().chain(files) {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    super::ClusterFiles { files: vec![folder.path().join("c.yaml")], ..Default::default() }
        .whole(&super::ExtraVars::default())
        .map(|(_, cluster)| cluster)
}

/// Who takes a cluster down or asks it how it is needs nothing of what was once brought to it.
#[test]
fn manifests_are_read_for_what_is_brought_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cluster.yaml");
    fs::write(&path, format!("{CLUSTER}  addons: [{{name: a, manifest: gone.yaml}}]\n")).unwrap();
    let files = ClusterFiles { files: vec![path], ..Default::default() };
    assert_eq!(files.read(&ExtraVars::default()).unwrap().name, "bern");
    assert!(files.without_manifests(&ExtraVars::default()).is_ok());
    assert!(files.whole(&ExtraVars::default()).err().unwrap().remove(0).to_string().contains("can't be read"));
}

#[test]
fn manifests_are_read_beside_the_file_that_names_them() {
    const OBJECT: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n";
    let sum = kok_tasks::digest::sha256(OBJECT.as_bytes());
    let addon = |rest: &str| format!("  addons: [{{name: a, {rest}}}]");
    let cluster = with_addons(&addon(&format!("manifest: below/x.yaml, sha256: {sum}")), &[("below/x.yaml", OBJECT)]).unwrap();
    assert_eq!(cluster.addons[0].objects[0].name.to_string(), "ConfigMap x");
    let network = with_addons("  network: {plugin: manifest, manifest: x.yaml}", &[("x.yaml", OBJECT)]).unwrap();
    assert_eq!((network.addons[0].name.as_str(), network.addons[0].objects.len()), ("network", 1));

    let wrong = |addons: &str, files: &[(&str, &str)]| with_addons(addons, files).err().unwrap().remove(0);
    let another = wrong(&addon(&format!("manifest: x.yaml, sha256: {sum}")), &[("x.yaml", "a: b\n")]);
    assert!(another.what.contains("not the one that was meant") && another.at.unwrap().contains("c.yaml:7:"), "{:?}", another.because);
    let missing = wrong(&addon("manifest: x.yaml"), &[]);
    assert!(missing.because.unwrap().contains("x.yaml: No such file"));
    let no_text = wrong(&addon("manifest: x.yaml"), &[("x.yaml", "a\0b")]);
    assert!(no_text.what.contains("can't be read"));
    let no_object = wrong(&addon("manifest: x.yaml"), &[("x.yaml", "\na: b\n")]);
    assert!(no_object.at.unwrap().ends_with("x.yaml:2:1"));
    let nowhere = wrong(&addon(&format!("url: 'http://127.0.0.1:1/x.yaml', sha256: {sum}")), &[]);
    assert!(nowhere.what.contains("can't be fetched") && nowhere.hint.unwrap().contains("name the file as `manifest`"));
}
